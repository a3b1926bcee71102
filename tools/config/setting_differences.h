// SPDX-License-Identifier: Apache-2.0
// The settings of a running server that differ from those of a configuration.
//
// Owner:  values.
#pragma once

#include <span>
#include <vector>

#include "net/admin/settings_page.h"
#include "tools/config/serve_keys.h"

namespace pawl {

struct SettingDifference {
  const ServeKey* key = nullptr;
  ToldSetting running;  // without a source: the server, of another version, does not know it
  ToldSetting wanted;
};

// In the order of `wanted`, which are settings of this version.
std::vector<SettingDifference> setting_differences(std::span<const ToldSetting> running,
                                                   std::span<const ToldSetting> wanted);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// GET /config: the settings with which the server runs, as a JSON array of objects.
//
//   [{"section":"server","key":"shards","value":"2","source":"--shards"}, ...]
//
// Values are texts as the operator gave them; secrets are in files that settings name.
//
// Errors: none.
// Owner:  the server publishes the text in its ReloadableSettings.
#pragma once

#include <span>
#include <string>

#include "net/admin/admin_page.h"

namespace pawl {

struct ToldSetting {
  std::string section, key, value;
  std::string source;  // --flag, PAWL_SECTION_KEY, FILE:LINE:COLUMN or default
};

// The body of the page.
std::string settings_text(std::span<const ToldSetting> settings);

AdminAnswer settings_page(const AdminRequest& request, const AdminFacts& facts);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tools/config/setting_differences.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl {

std::vector<SettingDifference> setting_differences(std::span<const ToldSetting> running,
                                                   std::span<const ToldSetting> wanted) {
  std::vector<SettingDifference> found;
  for (const ToldSetting& one : wanted) {
    const ServeKey* const key = find_serve_key(one.section, one.key);
    CHECK(key != nullptr, "{}.{} is no setting", one.section, one.key);
    const auto known = std::ranges::find_if(running, [&](const ToldSetting& each) {
      return each.section == one.section && each.key == one.key;
    });
    if (known == running.end())
      found.push_back({
          key, {one.section, one.key, "", ""},
           one
      });
    else if (!is_same_value(*key, known->value, one.value))
      found.push_back({key, *known, one});
  }
  return found;
}

}  // namespace pawl

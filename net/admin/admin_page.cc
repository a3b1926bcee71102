// SPDX-License-Identifier: Apache-2.0
#include "net/admin/admin_page.h"

#include <algorithm>

namespace pawl {

bool AdminPage::allows(std::string_view method) const {
  for (std::string_view rest = methods; !rest.empty();) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    if (rest.substr(0, end) == method) return true;
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return false;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/http/accept.h"

#include <algorithm>

#include "proto/text/text.h"

namespace pawl {

bool accepts_json(std::string_view accept) {
  while (!accept.empty()) {
    const std::size_t comma = std::min(accept.find(','), accept.size());
    std::string_view type = accept.substr(0, comma);
    type = type.substr(0, type.find(';'));
    while (type.starts_with(' ')) type.remove_prefix(1);
    while (type.ends_with(' ')) type.remove_suffix(1);
    if (equals_ignoring_case(type, "application/json")) return true;
    if (equals_ignoring_case(type, "text/xml") || equals_ignoring_case(type, "application/xml"))
      return false;
    accept.remove_prefix(std::min(comma + 1, accept.size()));
  }
  return false;
}

}  // namespace pawl

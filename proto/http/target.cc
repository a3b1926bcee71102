// SPDX-License-Identifier: Apache-2.0
#include "proto/http/target.h"

#include <algorithm>

namespace pawl {

HttpTarget parts_of_target(std::string_view target) {
  HttpTarget parts;
  const std::size_t scheme_end = target.starts_with('/') ? target.npos : target.find("://");
  if (scheme_end != target.npos) {
    target.remove_prefix(scheme_end + 3);
    parts.authority = target.substr(0, target.find_first_of("/?"));
    target.remove_prefix(parts.authority.size());
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  parts.path = question == 0 ? std::string_view("/") : target.substr(0, question);
  parts.query = target.substr(std::min(question + 1, target.size()));
  return parts;
}

}  // namespace pawl

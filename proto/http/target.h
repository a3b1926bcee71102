// SPDX-License-Identifier: Apache-2.0
// The parts of a request's target: "/path?query", "*", or "http://authority/path?query".
//
// Errors: none: any text has parts.
// Owner:  the parts point into the target.
// Source: RFC 9112, section 3.2.
#pragma once

#include <string_view>

namespace pawl {

struct HttpTarget {
  std::string_view authority;  // of a target in absolute form, else empty
  std::string_view path;       // still escaped; "*" for OPTIONS *; "/" if there is none
  std::string_view query;      // without the `?`, still escaped
};
HttpTarget parts_of_target(std::string_view target);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Values of flags of the form NAME=VALUE; a repeated flag has one a line (Option::join_repeats).
//
// Errors: the checks return a text that names the value and the form.
// Owner:  the views are of the text passed in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct NameValue {
  std::string_view name, value;
};

// The lines of a text that the check has accepted; none of an empty text.
std::vector<NameValue> names_and_values(std::string_view lines);
std::string check_names_and_values(const std::string& lines);

}  // namespace pawl

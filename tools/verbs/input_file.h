// SPDX-License-Identifier: Apache-2.0
// A file that a flag of a verb names.
//
// Errors: to stderr.
// Owner:  values.
#pragma once

#include <optional>
#include <string>

namespace pawl {

// The content of the file; `-` is the standard input. Without a value the error was printed.
std::optional<std::string> content_of(const std::string& path);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Reads the small text files of /proc and /sys.
//
// Errors: none: a missing or malformed file yields an empty text or the given default.
// Owner:  any thread; no state.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

// The file's text without final line ends; empty if there is no file.
std::string text_of_file(const std::string& path);
// The rest of the line that begins with `key`; empty: there is no such line.
std::string line_after(const std::string& text, std::string_view key);
// The number at the beginning of `text`.
int number_in(std::string_view text, int otherwise);

}  // namespace pawl

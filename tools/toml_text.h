// SPDX-License-Identifier: Apache-2.0
// parse_toml: a TOML text as a table of toml++, whose parser is in Debian's libtomlplusplus.
//
// Errors: "PATH:LINE:COLUMN: what is wrong." in plain English.
// Owner:  values.
#pragma once

#include <expected>
#include <string>
#include <string_view>

// toml++ is a heavy header: only the sources that read a table include it.
namespace toml {
inline namespace v3 {
class table;
struct source_region;
}  // namespace v3
}  // namespace toml

namespace pawl {

// `path` names the text in errors and locations.
std::expected<toml::table, std::string> parse_toml(std::string_view text, const std::string& path);

// "PATH:LINE:COLUMN".
std::string location_of(const std::string& path, const toml::source_region& where);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The table of the settings of `pawl serve`: a row for each, with its names, help and values.
//
// A setting is a flag, a variable PAWL_SECTION_KEY and a key in a [section] of the TOML file.
//
// Errors: assign() refuses a value; the caller names its place, from the texts of the row.
// Owner:  constant.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/server/server.h"

namespace pawl {

struct ServeKey {
  const char* section;
  const char* key;
  const char* flag;
  const char* value;  // name of the value in the help
  const char* help;
  const char* preset;                                  // the default, for the help
  bool (*assign)(ServerOptions&, const std::string&);  // false: the value is not allowed
  // The key takes several values: repeated flags, a variable with commas, an array in the file.
  bool repeats = false;
  // Applies a changed value to the running server. Null: the setting needs a restart.
  void (*apply)(const ServerOptions&) = nullptr;
};

std::span<const ServeKey> serve_keys();
// Null: the section has no such key.
const ServeKey* find_serve_key(std::string_view section, std::string_view key);
std::vector<std::string> serve_sections();
std::vector<std::string> serve_keys_of(std::string_view section);

// A flag with such a value may be given without it, which means yes.
bool is_yes_no(const ServeKey& key);
std::string variable_of(const ServeKey& key);  // PAWL_SECTION_KEY
// Whether two values are one: sizes in other units are.
bool is_same_value(const ServeKey& key, std::string_view one, std::string_view other);

// With `auto` it depends on stderr.
LogFormat log_format_of(const ServerOptions& options);

// A size in bytes: "4GiB", "512M", "1048576". Nothing: it is none.
std::optional<std::uint64_t> parse_size(std::string_view text);

struct ListenAddress {
  std::string host;
  unsigned port = 0;
};
// ADDR:PORT. Nothing: it is none.
std::optional<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The settings of `pawl serve`, from four sources; the first one that sets a key wins:
//
//   --flag  >  PAWL_SECTION_KEY  >  [section] key in the TOML file  >  default
//
// Errors: one sentence that names the source (flag, variable, file:line:column), the value, the
//         allowed values, and for an unknown key the nearest known one.
// Owner:  values; the environment is read once.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
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
};
std::span<const ServeKey> serve_keys();
std::string variable_of(const ServeKey& key);  // PAWL_SECTION_KEY

// A size in bytes: "4GiB", "512M", "1048576". Nothing: it is none.
std::optional<std::uint64_t> parse_size(std::string_view text);

// A given value and its source, for error texts.
struct GivenValue {
  std::string text;
  std::string location;
};
using GivenValues = std::map<std::string, GivenValue, std::less<>>;  // by flag

std::expected<std::string, std::string> read_config_file(const std::string& path);
// Adds the settings of the file's text to `given`; a value that is already in `given` stays.
std::expected<void, std::string> read_config(std::string_view text, const std::string& path,
                                             GivenValues& given);
void read_environment(GivenValues& given);
// A warning for each variable that looks like a setting and is none. Such a variable is no error:
// other software sets PAWL_ variables too, for example Kubernetes for a service.
std::vector<std::string> unknown_variables();

// With --dev and without --data the name of the directory is empty.
std::expected<ServerOptions, std::string> make_server_options(const GivenValues& given);

bool reaches_others(const std::string& address);  // not of loopback
// Refuses an http or binary listener that other machines can reach and that requires no
// credentials. --dev and --insecure-no-auth serve it all the same.
std::expected<void, std::string> check_exposure(const ServerOptions& options);
// A warning about an http or binary port that other machines can reach without TLS; empty: none. A
// development server has no need of TLS.
std::string exposure_warning(const ServerOptions& options);

}  // namespace pawl

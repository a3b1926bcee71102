// What `pawl serve` is told, from four places; the first that says something about a key wins:
//
//   --flag  >  PAWL_SECTION_KEY  >  [section] key in the TOML file  >  default
//
// Errors: one sentence that names the place (flag, variable, file:line:column), the value, what is
//         allowed, and the nearest known key for an unknown one.
// Owner:  values; the environment is read once.
#pragma once

#include <expected>
#include <map>
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
  const char* value;  // what the value is called in the help
  const char* help;
  const char* preset;                                  // what the help says is the default
  bool (*assign)(ServerOptions&, const std::string&);  // false: not a value this key takes
  // May be given several times: as a flag again, in one variable with commas, in the file as an array.
  bool repeats = false;
};
std::span<const ServeKey> serve_keys();
std::string variable_of(const ServeKey& key);  // PAWL_SECTION_KEY

// The values given, by flag, each with the place it came from.
struct GivenValue {
  std::string text;
  std::string place;
};
using GivenValues = std::map<std::string, GivenValue, std::less<>>;

// Adds what the file says to `given`, where nothing stronger has spoken.
std::expected<void, std::string> read_config_file(const std::string& path, GivenValues& given);
void read_environment(GivenValues& given);
// A sentence for each variable that looks like a setting and is none. Others' variables may begin with PAWL_ too, as
// those of a Kubernetes service do, so they are no error.
std::vector<std::string> unknown_variables();

std::expected<ServerOptions, std::string> make_server_options(const GivenValues& given);

// Why these addresses may not be served: one of them is open to others and nothing asks for credentials.
std::expected<void, std::string> check_exposure(const ServerOptions& options);
// What else is served to others in the clear, for the operator to know; empty: nothing.
std::string exposure_warning(const ServerOptions& options);

}  // namespace pawl

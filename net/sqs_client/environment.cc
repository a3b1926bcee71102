// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/environment.h"

#include <cstdlib>

#include "core/base/check.h"

namespace pawl::sqs_client {
namespace {

std::string variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

// The file that the variable names, else one in ~/.aws. A leading ~ is the home directory.
std::string file_of(const char* name, const char* default_path) {
  std::string path = variable(name);
  if (path.empty()) path = default_path;
  return path.starts_with("~/") ? variable("HOME") + path.substr(1) : path;
}

}  // namespace

SigningKey key_of_environment(std::string_view prefix) {
  CHECK(prefix.empty() || prefix.ends_with('_'), "the prefix {}", prefix);
  const std::string own(prefix);
  SigningKey key{variable(own + "AWS_ACCESS_KEY_ID"), variable(own + "AWS_SECRET_ACCESS_KEY"),
                 variable(own + "AWS_SESSION_TOKEN")};
  return key.id.empty() && !prefix.empty() ? key_of_environment() : key;
}

std::string region_of_environment(std::string_view prefix) {
  std::string region = prefix.empty() ? "" : variable(std::string(prefix) + "AWS_REGION");
  if (region.empty()) region = variable("AWS_REGION");
  return region.empty() ? variable("AWS_DEFAULT_REGION") : region;
}

std::string endpoint_of_environment(std::string_view service) {
  std::string name = "AWS_ENDPOINT_URL_";
  for (const char c : service) {
    CHECK(c >= 'a' && c <= 'z', "the service {}", service);
    name += static_cast<char>(c - 'a' + 'A');
  }
  std::string url = variable(name);
  return url.empty() ? variable("AWS_ENDPOINT_URL") : url;
}

std::string ca_file_of_environment() { return variable("AWS_CA_BUNDLE"); }

std::string profile_of_environment() { return variable("AWS_PROFILE"); }

std::string config_file_of_environment() { return file_of("AWS_CONFIG_FILE", "~/.aws/config"); }

std::string credentials_file_of_environment() {
  return file_of("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
}

}  // namespace pawl::sqs_client

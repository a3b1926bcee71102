// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/environment.h"

#include <cstdlib>

namespace pawl::sqs_client {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The file that the variable names, else one in ~/.aws. A leading ~ is the home directory.
std::string file_of(const char* name, const char* default_path) {
  std::string path = variable(name);
  if (path.empty()) path = default_path;
  return path.starts_with("~/") ? variable("HOME") + path.substr(1) : path;
}

}  // namespace

SigningKey key_of_environment() {
  return {variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
          variable("AWS_SESSION_TOKEN")};
}

std::string region_of_environment() {
  std::string region = variable("AWS_REGION");
  return region.empty() ? variable("AWS_DEFAULT_REGION") : region;
}

std::string endpoint_of_environment() {
  std::string url = variable("AWS_ENDPOINT_URL_SQS");
  return url.empty() ? variable("AWS_ENDPOINT_URL") : url;
}

std::string profile_of_environment() { return variable("AWS_PROFILE"); }

std::string config_file_of_environment() { return file_of("AWS_CONFIG_FILE", "~/.aws/config"); }

std::string credentials_file_of_environment() {
  return file_of("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
}

}  // namespace pawl::sqs_client

// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/environment.h"

#include <cstdlib>

namespace pawl::sqs_client {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

SigningKey key_of_environment() {
  return {variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
          variable("AWS_SESSION_TOKEN")};
}

std::string region_of_environment() {
  std::string region = variable("AWS_REGION");
  if (region.empty()) region = variable("AWS_DEFAULT_REGION");
  return region.empty() ? default_region : region;
}

std::string endpoint_of_environment() {
  std::string url = variable("AWS_ENDPOINT_URL_SQS");
  return url.empty() ? variable("AWS_ENDPOINT_URL") : url;
}

}  // namespace pawl::sqs_client

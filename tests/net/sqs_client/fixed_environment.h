// SPDX-License-Identifier: Apache-2.0
// The AWS_ variables of one test; the earlier ones return at its end.
//
// Owner: the test; no other thread may read the environment meanwhile.
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace pawl {

class FixedEnvironment {
 public:
  // The AWS_ variables that are not given are absent.
  explicit FixedEnvironment(const std::map<std::string, std::string>& values) {
    for (const char* name :
         {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION",
          "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_SNS",
          "AWS_CA_BUNDLE", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
          "TO_AWS_ACCESS_KEY_ID", "TO_AWS_SECRET_ACCESS_KEY", "TO_AWS_SESSION_TOKEN",
          "TO_AWS_REGION"}) {
      const char* const before = ::getenv(name);
      before_[name] = before == nullptr ? std::nullopt : std::optional<std::string>(before);
      const auto found = values.find(name);
      set(name, found == values.end() ? std::nullopt : std::optional(found->second));
    }
  }
  ~FixedEnvironment() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  FixedEnvironment(const FixedEnvironment&) = delete;
  FixedEnvironment& operator=(const FixedEnvironment&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value) ::setenv(name.c_str(), value->c_str(), 1);
    if (!value) ::unsetenv(name.c_str());
  }

  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/profile_option.h"

#include <utility>

#include "core/base/check.h"

namespace pawl {

void add_profile(Verb verb, std::string& profile) {
  CHECK(profile.empty(), "the profile {} before the parse", profile);
  verb.option("--profile", profile,
              "Keys, region and endpoint of this profile in ~/.aws/config and ~/.aws/credentials "
              "(default: AWS_PROFILE, else default)")
      .value_name("NAME")
      .check([](const std::string& name) -> std::string {
        return name.empty() ? "the name is empty. Name a profile of ~/.aws/config." : "";
      });
}

std::optional<sqs_client::Access> access_of(const std::string& profile, std::string_view service,
                                            std::string_view prefix) {
  auto access = sqs_client::find_access(profile, service, prefix);
  if (access) return std::move(*access);
  fail_with(exit_usage, access.error());
  return std::nullopt;
}

}  // namespace pawl

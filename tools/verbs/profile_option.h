// SPDX-License-Identifier: Apache-2.0
// The profile of a verb: its key, region and endpoint (net/sqs_client/profile.h).
//
// Errors: to stderr, as `error: what failed, the value, what to do`.
// Owner:  one verb.
#pragma once

#include <optional>
#include <string>

#include "net/sqs_client/profile.h"
#include "tools/command_line.h"

namespace pawl {

// --profile
void add_profile(Verb verb, std::string& profile);

// Empty: AWS_PROFILE, else "default". Without a value the error was already printed.
std::optional<sqs_client::Access> access_of(const std::string& profile,
                                            std::string_view service = "sqs",
                                            std::string_view prefix = {});

}  // namespace pawl

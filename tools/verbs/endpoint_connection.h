// SPDX-License-Identifier: Apache-2.0
// The endpoint of a verb: --url, its calls, and their errors.
//
// Key and region come from the environment or a profile (net/sqs_client/profile.h).
//
// Errors: to stderr, as `error: what failed, the value, what to do`.
// Owner:  one verb.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "net/sqs_client/sqs_client.h"
#include "tools/command_line.h"

namespace pawl {

struct EndpointOptions {
  std::string url;      // empty: that of the environment or the profile, else the local server
  std::string profile;  // empty: that of AWS_PROFILE, else "default"
};

// --url, --profile
void add_endpoint(Verb verb, EndpointOptions& options);

// A client of an API; `prefix` is that of net/sqs_client/environment.h. Without a value the error
// was already printed.
std::optional<sqs_client::SqsClient> open_endpoint(const EndpointOptions& options,
                                                   const sqs_client::Api& api,
                                                   std::string_view prefix = {});

// The verb gets the options of `asked->endpoint`, and calls an API there. `api` is a constant.
template <typename Options>
void run_at_endpoint(Verb verb, const std::shared_ptr<Options>& asked, const sqs_client::Api& api,
                     int (*run)(const Options&, sqs_client::SqsClient&)) {
  CHECK(run != nullptr, "the verb does nothing");
  add_endpoint(verb, asked->endpoint);
  verb.on_given([asked, run, api = &api] {
    auto client = open_endpoint(asked->endpoint, *api);
    return client ? run(*asked, *client) : static_cast<int>(exit_usage);
  });
}

// Prints the error of a call about this queue, and returns the exit code of the verb.
int explain_call(const sqs_client::CallError& error, std::string_view queue);

// Endpoints that are no pawl refuse an action of pawl's API, each with a code of its own or with a
// page of HTML.
bool is_unknown_action(const sqs_client::CallError& error);
// explain_call() for an action of pawl's API.
int explain_pawl_call(const sqs_client::CallError& error, std::string_view queue);

}  // namespace pawl

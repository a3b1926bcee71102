// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/endpoint_connection.h"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

namespace pawl {

void add_endpoint(Verb verb, EndpointOptions& options) {
  verb.option(
          "--url", options.url,
          "The server's HTTP port (default: http://127.0.0.1:9324). Keys: AWS_ACCESS_KEY_ID and "
          "AWS_SECRET_ACCESS_KEY")
      .value_name("URL");
}

std::optional<sqs_client::SqsClient> open_endpoint(const EndpointOptions& options) {
  sqs_client::ClientOptions client = sqs_client::options_of_environment(options.url);
  client.api = "Pawl";
  auto made = sqs_client::SqsClient::make(std::move(client));
  if (made) return std::move(*made);
  fail_with(exit_usage, made.error().text);
  return std::nullopt;
}

int explain_call(const sqs_client::CallError& error, std::string_view queue) {
  if (error.code == "QueueDoesNotExist")
    return fail_with(
        exit_not_found,
        fmt::format("there is no queue \"{}\". Name a queue, or give its URL.", queue));
  if (error.code == "UnknownOperationException")
    return fail_with(exit_failure,
                     fmt::format("{} This verb needs a pawl server of this version, without "
                                 "--strict-sqs.",
                                 error.text));
  return fail_with(exit_failure, error.text);
}

int fail_with(ExitCode code, std::string_view text) {
  fmt::print(stderr, "error: {}\n", text);
  return code;
}

}  // namespace pawl

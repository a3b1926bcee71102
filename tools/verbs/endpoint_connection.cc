// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/endpoint_connection.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "tools/verbs/profile_option.h"

namespace pawl {

void add_endpoint(Verb verb, EndpointOptions& options) {
  verb.option(
          "--url", options.url,
          "The server's HTTP port (default: AWS_ENDPOINT_URL, else http://127.0.0.1:9324). Keys: "
          "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or those of a profile")
      .value_name("URL");
  add_profile(verb, options.profile);
}

std::optional<sqs_client::SqsClient> open_endpoint(const EndpointOptions& options,
                                                   const sqs_client::Api& api,
                                                   std::string_view prefix) {
  CHECK(!api.name.empty(), "a client of no API");
  auto access = access_of(options.profile, api.service, prefix);
  if (!access) return std::nullopt;
  sqs_client::ClientOptions client;
  client.url = options.url.empty() ? access->endpoint : options.url;
  client.api = api;
  client.key = std::move(access->key);
  client.region = std::move(access->region);
  client.stream.ca_file = std::move(access->ca_file);
  CHECK(!client.region.empty(), "no region for {}", client.url);
  auto made = sqs_client::SqsClient::make(std::move(client));
  if (made) return std::move(*made);
  fail_with(exit_usage, made.error().text);
  return std::nullopt;
}

int explain_call(const sqs_client::CallError& error, std::string_view queue) {
  CHECK(!error.text.empty(), "an error without a text, kind {}", static_cast<int>(error.kind));
  if (error.code == "QueueDoesNotExist")
    return fail_with(
        exit_not_found,
        fmt::format(
            "there is no queue \"{}\". `pawl queue ls` lists the queues, `pawl queue create` "
            "creates one.",
            queue));
  return fail_with(exit_failure, error.text);
}

bool is_unknown_action(const sqs_client::CallError& error) {
  constexpr int not_found = 404, not_implemented = 501;
  constexpr std::string_view codes[] = {"InvalidAction", "UnknownOperation",
                                        "UnknownOperationException", "NotImplemented"};
  if (error.kind != sqs_client::ErrorKind::refused || error.code == "QueueDoesNotExist")
    return false;
  // Another port of pawl names the right one.
  if (error.code.empty() && error.message.contains("SQS is served at ")) return false;
  return error.code.empty() || std::ranges::find(codes, error.code) != std::end(codes) ||
         error.status == not_found || error.status == not_implemented;
}

int explain_pawl_call(const sqs_client::CallError& error, std::string_view queue) {
  if (!is_unknown_action(error)) return explain_call(error, queue);
  return fail_with(
      exit_failure,
      fmt::format("{} This verb needs a pawl server of this version, without --strict-sqs.",
                  error.text));
}

}  // namespace pawl

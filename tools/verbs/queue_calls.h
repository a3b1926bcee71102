// SPDX-License-Identifier: Apache-2.0
// Calls of SQS that several verbs make.
//
// Errors: to stderr; `code` is then the exit code of the verb.
// Owner:  one verb.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "net/sqs_client/sqs_client.h"
#include "proto/text/json_dom.h"
#include "tools/verbs/endpoint_connection.h"

namespace pawl {

inline constexpr std::uint32_t receive_messages_max = 10, long_poll_seconds = 20;  // of SQS

// An object with one text.
std::string body_with(std::string_view name, std::string_view value);
// GetQueueAttributes with all attributes.
std::string attributes_body(std::string_view url);
// ReceiveMessage with all attributes; without `visibility` that of the queue. Both are seconds.
std::string receive_body(std::string_view url, std::uint64_t count, std::uint32_t wait,
                         std::optional<std::uint32_t> visibility);
// The dead-letter queue in a response to GetQueueAttributes; empty: there is none.
std::string dead_letter_arn_in(const JsonValue& attributes);

// The URL of a queue that is given by its name or its URL. Without a value the error was printed.
std::optional<std::string> url_of_queue(sqs_client::SqsClient& client, const std::string& queue,
                                        int& code);
// Connects to the endpoint and returns act(client, URL of the queue), or the exit code of an error.
template <typename Act>
int with_queue(const EndpointOptions& endpoint, const std::string& queue, Act&& act) {
  auto client = open_endpoint(endpoint, sqs_client::sqs_api);
  if (!client) return exit_usage;
  int code = exit_ok;
  const auto url = url_of_queue(*client, queue, code);
  return url ? act(*client, *url) : code;
}

// The response to GetQueueAttributes, with all attributes; without a value the error was printed.
std::optional<std::string> attributes_of(sqs_client::SqsClient& client, const std::string& url,
                                         std::string_view queue, int& code);
// The QueueArn of a queue; without a value the error was printed.
std::optional<std::string> arn_of_queue(sqs_client::SqsClient& client, const std::string& queue,
                                        int& code);
// The messages in all states, of a response to GetQueueAttributes.
std::int64_t all_messages_of(const JsonValue& attributes);

// Calls act(URL) for each queue whose name begins with `prefix`. Returns the exit code.
int for_each_url(sqs_client::SqsClient& client, std::string_view prefix,
                 const std::function<void(const std::string& url)>& act);
// Calls act(name, response to GetQueueAttributes) for each of them that is not deleted meanwhile.
int for_each_queue(sqs_client::SqsClient& client, std::string_view prefix,
                   const std::function<void(const std::string&, const JsonValue&)>& act);

std::string name_of_url(std::string_view url);
std::string name_of_arn(std::string_view arn);

}  // namespace pawl

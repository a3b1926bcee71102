// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/peek_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/base/check.h"
#include "core/queue/replay_task.h"
#include "proto/pawl/replay_check.h"
#include "proto/text/json.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/name_value.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

constexpr std::uint64_t call_messages_max = 1000;

std::string peek_body(const PeekRequest& asked, std::uint64_t count, std::int64_t from) {
  CHECK(count > 0 && count <= call_messages_max && from >= 0, "{} messages from {}", count, from);
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", std::string_view(asked.queue));
  json.member("MaxMessages", count);
  json.member("From", from);
  if (!asked.state.empty()) {
    json.key("States");
    json.begin_array();
    json.value(std::string_view(asked.state));
    json.end_array();
  }
  if (!asked.group.empty()) json.member("MessageGroupId", std::string_view(asked.group));
  if (!asked.attribute.empty()) {
    const NameValue pair = names_and_values(asked.attribute).front();
    json.member("AttributeName", pair.name);
    json.member("AttributeValue", pair.value);
  }
  if (!asked.filter.empty()) json.member("FilterPolicy", std::string_view(asked.filter));
  json.end_object();
  return body;
}

int explain_peek(const sqs_client::CallError& error, const std::string& queue) {
  if (!is_unknown_action(error)) return explain_call(error, queue);
  return fail_with(
      exit_failure,
      fmt::format("{} Only a pawl server of this version, without --strict-sqs, shows messages "
                  "without receiving them. Elsewhere receive them, and let them return at once: "
                  "`pawl receive {} --visibility 0`. That adds 1 to their receive counts.",
                  error.text, queue));
}

}  // namespace

std::string check_filter(const std::string& text) {
  std::string why;
  switch (replay_filter_fault(text, why)) {
    case ReplayFault::none:
      return {};
    case ReplayFault::filter_size:
      return fmt::format("The filter has {} bytes; at most {} are allowed. Shorten it.",
                         text.size(), replay_filter_bytes_max);
    default:
      return fmt::format(
          "'{}' is not a filter policy: {}. An example is '{{\"colour\": [\"red\"]}}'.", text, why);
  }
}

int for_each_peeked(sqs_client::SqsClient& client, const PeekRequest& asked,
                    const std::function<void(const JsonValue&)>& act) {
  CHECK(act != nullptr, "nothing to do with messages of {}", asked.queue);
  std::uint64_t left = asked.count;
  for (std::int64_t from = 0; left > 0;) {
    const auto response =
        client.call("PeekMessages", peek_body(asked, std::min(left, call_messages_max), from));
    if (!response) return explain_peek(response.error(), asked.queue);
    JsonDom dom;
    const auto document = dom.parse(response->body);
    const auto messages = document ? document->member("Messages") : std::nullopt;
    if (!messages || !messages->is_list())
      return fail_with(exit_failure,
                       "the response has no list \"Messages\". Is --url the HTTP port "
                       "of a pawl server?");
    for (const JsonValue message : messages->items()) {
      act(message);
      left -= std::min<std::uint64_t>(left, 1);
    }
    const std::int64_t next = number_of(*document, "Next").value_or(0);
    if (next <= from) break;
    from = next;
  }
  return exit_ok;
}

}  // namespace pawl

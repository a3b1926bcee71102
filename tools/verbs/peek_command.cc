// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "proto/pawl/explanation.h"
#include "proto/pawl/peek_series.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/text.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/name_value.h"
#include "tools/verbs/point_in_time.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

constexpr std::uint64_t call_messages_max = 1000;

struct PeekOptions {
  EndpointOptions endpoint;
  std::string queue;
  std::string state;
  std::uint64_t count = 20;
  std::string group;
  std::string attribute;  // NAME=VALUE
  OutputOptions output;
};

// The name of a state in the API; empty: any.
std::string state_in_api(std::string_view typed) {
  std::string name(typed);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string check_state(const std::string& text) {
  if (state_bit(state_in_api(text)) != 0) return {};
  std::string states(state_names_text);
  std::ranges::replace(states, '_', '-');
  return fmt::format("\"{}\" is no state of a message. The states are {}.", text, states);
}

std::string peek_body(const PeekOptions& asked, std::uint64_t count, std::int64_t from) {
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
    json.value(std::string_view(state_in_api(asked.state)));
    json.end_array();
  }
  if (!asked.group.empty()) json.member("MessageGroupId", std::string_view(asked.group));
  if (!asked.attribute.empty()) {
    const NameValue pair = names_and_values(asked.attribute).front();
    json.member("AttributeName", pair.name);
    json.member("AttributeValue", pair.value);
  }
  json.end_object();
  return body;
}

Printer::Row row_of(const JsonValue& message, std::int64_t now) {
  const std::int64_t until = number_of(message, "VisibleAt").value_or(0);
  const std::string body = text_of(message, "Body");
  const std::int64_t sent = attribute_number_of(message, "SentTimestamp");
  return {
      .cells = {{"number", number_of(message, "Number").value_or(0)},
                {"id", text_of(message, "MessageId")},
                {"state", text_of(message, "State")},
                {"visible_at", until, until == 0 ? "" : "in " + rough_text(Duration{until - now})},
                {"receives", attribute_number_of(message, "ApproximateReceiveCount")},
                {"behind", number_of(message, "Behind").value_or(0),
                 number_of(message, "Behind") ? std::optional<std::string>() : ""},
                {"consumer", text_of(message, "Consumer")},
                {"sent", sent, sent == 0 ? "" : time_text(sent)},
                {"group", attribute_of(message, "MessageGroupId")},
                {"body", body, short_body(body)}}
  };
}

// Prints the messages of a response. Returns the number where the next call goes on; 0: the end.
std::optional<std::int64_t> print_messages(std::string_view response, Printer& printer,
                                           std::uint64_t& left) {
  JsonDom dom;
  const auto document = dom.parse(response);
  const auto messages = document ? document->member("Messages") : std::nullopt;
  if (!messages || !messages->is_list()) return std::nullopt;
  const std::int64_t now = wall_clock_ms();
  for (const JsonValue message : messages->items()) {
    printer.add(row_of(message, now));
    left -= std::min<std::uint64_t>(left, 1);
  }
  return number_of(*document, "Next").value_or(0);
}

int run_peek(const PeekOptions& asked) {
  auto client = open_endpoint(asked.endpoint, sqs_client::pawl_api);
  if (!client) return exit_usage;
  Printer printer(stdout, asked.output.format(),
                  {"number", "id", "state", "visible_at", "receives", "behind", "consumer", "sent",
                   "group", "body"});
  printer.fit_terminal();
  std::uint64_t left = asked.count;
  for (std::int64_t from = 0; left > 0;) {
    const auto response =
        client->call("PeekMessages", peek_body(asked, std::min(left, call_messages_max), from));
    if (!response) return explain_call(response.error(), asked.queue);
    const auto next = print_messages(response->body, printer, left);
    if (!next)
      return fail_with(exit_failure,
                       "the response has no list \"Messages\". Is --url the HTTP port "
                       "of a pawl server?");
    if (*next <= from) break;
    from = *next;
  }
  return printer.end();
}

}  // namespace

void add_peek_command(CommandLine& line) {
  Verb verb =
      line.add_verb("peek", "Shows messages of a queue in any state, without receiving them");
  const auto asked = std::make_shared<PeekOptions>();
  verb.option("QUEUE,--queue", asked->queue, "Name or URL of the queue").required();
  add_endpoint(verb, asked->endpoint);
  verb.option("--state", asked->state, "Only messages in this state")
      .value_name("visible|in-flight|delayed|moving|unreadable|not-durable")
      .check(check_state);
  verb.option("-n,--count", asked->count, "How many messages at most")
      .check(whole_number(1, 1'000'000))
      .show_default();
  verb.option("--group", asked->group, "Only messages of this MessageGroupId").value_name("GROUP");
  verb.option("--attribute", asked->attribute,
              "Only messages whose attribute has this value, of type String or Number")
      .value_name("NAME=VALUE")
      .check(check_names_and_values);
  add_output(verb, asked->output,
             "{number, id, state, visible_at, receives, behind, consumer, sent, group, body}");
  verb.on_given([asked] { return run_peek(*asked); });
}

}  // namespace pawl

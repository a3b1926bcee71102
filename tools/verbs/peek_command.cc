// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proto/pawl/explanation.h"
#include "proto/pawl/peek_series.h"
#include "proto/text/json_dom.h"
#include "proto/text/text.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/name_value.h"
#include "tools/verbs/peek_calls.h"
#include "tools/verbs/point_in_time.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

struct PeekOptions {
  EndpointOptions endpoint;
  PeekRequest request;  // its state as typed
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

int run_peek(const PeekOptions& asked) {
  auto client = open_endpoint(asked.endpoint, sqs_client::pawl_api);
  if (!client) return exit_usage;
  Printer printer(stdout, asked.output.format(),
                  {"number", "id", "state", "visible_at", "receives", "behind", "consumer", "sent",
                   "group", "body"});
  printer.fit_terminal();
  PeekRequest request = asked.request;
  request.state = state_in_api(request.state);
  const std::int64_t now = wall_clock_ms();
  const int code = for_each_peeked(
      *client, request, [&](const JsonValue& message) { printer.add(row_of(message, now)); });
  return code == exit_ok ? printer.end() : code;
}

}  // namespace

void add_peek_command(CommandLine& line) {
  Verb verb =
      line.add_verb("peek", "Shows messages of a queue in any state, without receiving them");
  const auto asked = std::make_shared<PeekOptions>();
  verb.option("QUEUE,--queue", asked->request.queue, "Name or URL of the queue").required();
  add_endpoint(verb, asked->endpoint);
  verb.option("--state", asked->request.state, "Only messages in this state")
      .value_name("visible|in-flight|delayed|moving|unreadable|not-durable")
      .check(check_state);
  verb.option("-n,--count", asked->request.count, "How many messages at most")
      .check(whole_number(1, 1'000'000))
      .show_default();
  verb.option("--group", asked->request.group, "Only messages of this MessageGroupId")
      .value_name("GROUP");
  verb.option("--attribute", asked->request.attribute,
              "Only messages whose attribute has this value, of type String or Number")
      .value_name("NAME=VALUE")
      .check(check_names_and_values);
  verb.option("--filter", asked->request.filter,
              "Only messages whose attributes match this SNS filter policy, as {\"colour\": "
              "[\"red\"]}")
      .value_name("JSON")
      .check(check_filter);
  add_output(verb, asked->output,
             "{number, id, state, visible_at, receives, behind, consumer, sent, group, body}");
  verb.on_given([asked] { return run_peek(*asked); });
}

}  // namespace pawl

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

struct ExplainOptions {
  EndpointOptions endpoint;
  std::string queue;
  std::string message;  // an id or a number
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

// --- peek ---

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
  auto client = open_endpoint(asked.endpoint, "Pawl");
  if (!client) return exit_usage;
  Printer printer(
      stdout, asked.output.format(),
      {"number", "id", "state", "visible_at", "receives", "behind", "sent", "group", "body"});
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

// --- explain ---

std::string explain_body(const ExplainOptions& asked, std::int64_t from) {
  CHECK(from >= 0, "from {}", from);
  const auto number = decimal_number(asked.message);
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", std::string_view(asked.queue));
  if (number) {
    json.member("Number", *number);
  } else {
    json.member("MessageId", std::string_view(asked.message));
    json.member("From", from);
  }
  json.end_object();
  return body;
}

int print_explanation(const ExplainOptions& asked, const JsonValue& found) {
  const std::string state = text_of(found, "State");
  const std::int64_t until = number_of(found, "VisibleAt").value_or(0);
  const std::int64_t expires = number_of(found, "ExpiresAt").value_or(0);
  if (asked.output.format() == OutputFormat::table) {
    std::string text = text_of(found, "Explanation");
    if (expires != 0)
      text += fmt::format(" It expires in {}.", rough_text(Duration{expires - wall_clock_ms()}));
    make_printable(text);
    fmt::print("{}\n", text);
  } else {
    Printer printer(stdout, asked.output.format(), {});
    printer.add({
        .cells = {{"id", text_of(found, "MessageId")},
                  {"number", number_of(found, "Number").value_or(0)},
                  {"state", state},
                  {"explanation", text_of(found, "Explanation")},
                  {"visible_at", until},
                  {"expires_at", expires},
                  {"receives", number_of(found, "ReceiveCount").value_or(0)},
                  {"behind", number_of(found, "Behind").value_or(0)}}
    });
    if (const int code = printer.end(); code != exit_ok) return code;
  }
  return state == "absent" ? exit_not_found : exit_ok;
}

int run_explain(const ExplainOptions& asked) {
  auto client = open_endpoint(asked.endpoint, "Pawl");
  if (!client) return exit_usage;
  for (std::int64_t from = 0;;) {
    const auto response = client->call("ExplainMessage", explain_body(asked, from));
    if (!response) return explain_call(response.error(), asked.queue);
    JsonDom dom;
    const auto document = dom.parse(response->body);
    const auto next = document ? number_of(*document, "Next") : std::nullopt;
    if (!document || (!next && !document->member("State")))
      return fail_with(exit_failure,
                       "the response has no \"State\". Is --url the HTTP port of a "
                       "pawl server?");
    if (!next || *next <= from) return print_explanation(asked, *document);
    from = *next;
  }
}

}  // namespace

void add_peek_command(CommandLine& line) {
  Verb verb =
      line.add_verb("peek", "Shows messages of a queue in any state, without receiving them");
  const auto asked = std::make_shared<PeekOptions>();
  verb.option("QUEUE,--queue", asked->queue, "Name or URL of the queue").required();
  add_endpoint(verb, asked->endpoint);
  verb.option("--state", asked->state,
              "Only messages in this state: visible, in-flight, delayed, moving, unreadable or "
              "not-durable")
      .value_name("STATE")
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
             "{number, id, state, visible_at, receives, behind, sent, group, body}");
  verb.on_given([asked] { return run_peek(*asked); });
}

void add_explain_command(CommandLine& line) {
  Verb verb = line.add_verb("explain", "Says why a message is delivered or not, and until when");
  const auto asked = std::make_shared<ExplainOptions>();
  verb.option("QUEUE,--queue", asked->queue, "Name or URL of the queue").required();
  verb.option("MESSAGE,--message", asked->message,
              "Its message id, or its number in the queue as `pawl peek` shows it")
      .required();
  add_endpoint(verb, asked->endpoint);
  add_output(verb, asked->output,
             "{id, number, state, explanation, visible_at, expires_at, receives, behind}");
  verb.footer("Exit code 3: the queue has no such message.");
  verb.on_given([asked] { return run_explain(*asked); });
}

}  // namespace pawl

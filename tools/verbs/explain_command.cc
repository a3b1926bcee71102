// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "proto/pawl/explanation.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/text.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/point_in_time.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::SqsClient;

constexpr std::string_view absent = "absent";

struct ExplainOptions {
  EndpointOptions endpoint;
  std::string queue;
  std::string message;  // an id or a number
  OutputOptions output;
};

std::string explain_body(std::string_view queue, const std::string& message, std::int64_t from) {
  CHECK(from >= 0, "from {}", from);
  const auto number = decimal_number(message);
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", queue);
  if (number) {
    json.member("Number", *number);
  } else {
    json.member("MessageId", std::string_view(message));
    json.member("From", from);
  }
  json.end_object();
  return body;
}

// The response about the message, searched to the end of the queue.
std::expected<sqs_client::Response, sqs_client::CallError> explained(SqsClient& pawl,
                                                                     const std::string& queue,
                                                                     const std::string& message) {
  for (std::int64_t from = 0;;) {
    auto response = pawl.call("ExplainMessage", explain_body(queue, message, from));
    if (!response) return response;
    JsonDom dom;
    const auto document = dom.parse(response->body);
    const auto next = document ? number_of(*document, "Next") : std::nullopt;
    if (!next || *next <= from) return response;
    from = *next;
  }
}

// Empty: the response is not one to ExplainMessage.
std::string state_in(std::string_view response) {
  JsonDom dom;
  const auto document = dom.parse(response);
  return document ? text_of(*document, "State") : std::string();
}

// Empty: it has none, or it may not be read.
std::string dead_letter_queue_of(SqsClient& sqs, const std::string& queue) {
  const auto response = sqs.call("GetQueueAttributes", attributes_body(queue));
  JsonDom dom;
  const auto document = response ? dom.parse(response->body) : std::nullopt;
  return document ? name_of_arn(dead_letter_arn_in(*document)) : std::string();
}

int print_explanation(const ExplainOptions& asked, const std::string& queue,
                      std::string_view response) {
  JsonDom dom;
  const auto found = dom.parse(response);
  CHECK(found, "state_in() has read {}", response);
  const std::string state = text_of(*found, "State");
  const std::int64_t expires = number_of(*found, "ExpiresAt").value_or(0);
  const std::int64_t number = number_of(*found, "Number").value_or(0);
  if (asked.output.format() == OutputFormat::table) {
    std::string text = text_of(*found, "Explanation");
    if (queue != asked.queue)
      text = fmt::format("It has moved to the dead-letter queue {}, where its number is {}. {}",
                         queue, number, text);
    if (expires != 0)
      text += fmt::format(" It expires in {}.", rough_text(Duration{expires - wall_clock_ms()}));
    make_printable(text);
    fmt::print("{}\n", text);
  } else {
    Printer printer(stdout, asked.output.format(), {});
    printer.add({
        .cells = {{"id", text_of(*found, "MessageId")},
                  {"queue", queue},
                  {"number", number},
                  {"state", state},
                  {"explanation", text_of(*found, "Explanation")},
                  {"visible_at", number_of(*found, "VisibleAt").value_or(0)},
                  {"expires_at", expires},
                  {"receives", number_of(*found, "ReceiveCount").value_or(0)},
                  {"behind", number_of(*found, "Behind").value_or(0)},
                  {"consumer", text_of(*found, "Consumer")},
                  {"deduplicates_until", number_of(*found, "DeduplicatesUntil").value_or(0)}}
    });
    if (const int code = printer.end(); code != exit_ok) return code;
  }
  return state == absent ? exit_not_found : exit_ok;
}

int run_explain(const ExplainOptions& asked) {
  auto pawl = open_endpoint(asked.endpoint, sqs_client::pawl_api);
  if (!pawl) return exit_usage;
  const auto here = explained(*pawl, asked.queue, asked.message);
  if (!here) return explain_pawl_call(here.error(), asked.queue);
  const std::string state = state_in(here->body);
  if (state.empty())
    return fail_with(exit_failure,
                     "the response has no \"State\". Is --url the HTTP port of a pawl server?");
  // A number is the message's in this queue alone; its id goes with it.
  if (state != absent || decimal_number(asked.message))
    return print_explanation(asked, asked.queue, here->body);
  auto sqs = open_endpoint(asked.endpoint, sqs_client::sqs_api);
  if (!sqs) return exit_usage;
  const std::string target = dead_letter_queue_of(*sqs, asked.queue);
  if (!target.empty()) {
    const auto there = explained(*pawl, target, asked.message);
    const std::string found = there ? state_in(there->body) : std::string();
    if (!found.empty() && found != absent) return print_explanation(asked, target, there->body);
  }
  return print_explanation(asked, asked.queue, here->body);
}

}  // namespace

void add_explain_command(CommandLine& line) {
  Verb verb = line.add_verb("explain", "Says why a message is delivered or not, and until when");
  const auto asked = std::make_shared<ExplainOptions>();
  verb.option("QUEUE,--queue", asked->queue, "Name or URL of the queue").required();
  verb.option("MESSAGE,--message", asked->message,
              "Its message id, or its number in the queue as `pawl peek` shows it")
      .required();
  add_endpoint(verb, asked->endpoint);
  add_output(verb, asked->output,
             "{id, queue, number, state, explanation, visible_at, expires_at, receives, behind, "
             "consumer, deduplicates_until}");
  verb.footer(
      "A message that has left the queue is searched by its id in the dead-letter queue. A redrive "
      "sends it under a new id. Exit code 3: no such message.");
  verb.on_given([asked] { return run_explain(*asked); });
}

}  // namespace pawl

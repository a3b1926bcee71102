// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/dlq_show.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "proto/text/json_dom.h"
#include "tools/printer.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/peek_calls.h"
#include "tools/verbs/point_in_time.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

struct ShowOptions {
  EndpointOptions endpoint;
  PeekRequest request;
  OutputOptions output;
};

// Why the message is in this queue, as far as the server tells.
std::string reason_of(std::int64_t moved, const std::string& source, std::int64_t receives,
                      bool expired) {
  if (moved == 0) return "sent to this queue";
  if (expired) return "expired";
  if (source.empty()) return "moved by a move task";
  return fmt::format("{} {} without a delete", receives, receives == 1 ? "receive" : "receives");
}

Printer::Row dead_letter_row(const JsonValue& message) {
  const auto time_or_nothing = [](std::int64_t ms) { return ms == 0 ? "" : time_text(ms); };
  const std::int64_t sent = attribute_number_of(message, "SentTimestamp");
  const std::int64_t moved = number_of(message, "MovedAt").value_or(0);
  const std::string source = name_of_arn(attribute_of(message, "DeadLetterQueueSourceArn"));
  const std::int64_t before = number_of(message, "ReceivesBeforeMove").value_or(0);
  const bool expired = attribute_of(message, "x-dead-letter-reason") == "expired";
  const std::string body = text_of(message, "Body");
  return {
      .cells = {{"number", number_of(message, "Number").value_or(0)},
                {"id", text_of(message, "MessageId")},
                {"state", text_of(message, "State")},
                {"sent", sent, time_or_nothing(sent)},
                {"moved", moved, time_or_nothing(moved)},
                {"source", source},
                {"reason", reason_of(moved, source, before, expired)},
                {"receives", attribute_number_of(message, "ApproximateReceiveCount")},
                {"group", attribute_of(message, "MessageGroupId")},
                {"body", body, with_visible_controls(short_body(body))}}
  };
}

int show_dead_letters(const ShowOptions& asked) {
  CHECK(asked.request.count > 0, "no message of {} is wanted", asked.request.queue);
  auto client = open_endpoint(asked.endpoint, sqs_client::pawl_api);
  if (!client) return exit_usage;
  Printer printer(
      stdout, asked.output.format(),
      {"number", "id", "sent", "moved", "source", "reason", "receives", "group", "body"});
  const int code = for_each_peeked(
      *client, asked.request, [&](const JsonValue& one) { printer.add(dead_letter_row(one)); });
  return code == exit_ok ? printer.end() : code;
}

}  // namespace

void add_dlq_show(Verb dlq) {
  const auto asked = std::make_shared<ShowOptions>();
  Verb verb = dlq.add_verb(
      "show", "Shows when and why the messages came to the queue, without receiving them");
  verb.option("QUEUE,--queue", asked->request.queue, "Name or URL of the dead-letter queue")
      .required();
  add_endpoint(verb, asked->endpoint);
  verb.option("-n,--count", asked->request.count, "How many messages at most, oldest first")
      .check(whole_number(1, 1'000'000))
      .show_default();
  add_output(verb, asked->output,
             "{number, id, state, sent, moved, source, reason, receives, group, body}");
  verb.on_given([asked] { return show_dead_letters(*asked); });
}

}  // namespace pawl

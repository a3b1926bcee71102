// SPDX-License-Identifier: Apache-2.0
// `pawl cancel` and `pawl reschedule`: messages by their ids, or all that match a filter.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "proto/text/duration.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/uuid.h"
#include "tools/commands.h"
#include "tools/verbs/confirmation.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/peek_calls.h"
#include "tools/verbs/point_in_time.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::SqsClient;
using MessageIds = std::vector<std::string>;

constexpr std::size_t batch_max = 10, shown_errors_max = 10;

struct MessageIdOptions {
  EndpointOptions endpoint;
  std::string queue;
  std::string ids;  // one a line; empty: those of the filter
  std::string filter;
  bool even_in_flight = false, yes = false;
  std::string in, at;  // of reschedule, as typed
};

struct MessageIdOutcomes {
  std::uint64_t done = 0, gone = 0, failed = 0, unknown = 0;

  int code(bool named) const {
    if (failed > 0) return exit_failure;
    return unknown > 0 || (named && gone > 0) ? exit_not_found : exit_ok;
  }
};

// --- checks of flags ---

std::string check_message_id(const std::string& text) {
  if (parse_uuid(text)) return {};
  return fmt::format(
      "\"{}\" is not a MessageId, as 01234567-89ab-cdef-fedc-ba9876543210. `pawl peek` shows them.",
      text);
}

std::string check_in(const std::string& text) {
  const auto time = parse_duration(text);
  if (time && time->ms % 1000 == 0) return {};
  return fmt::format("\"{}\" is not a duration of whole seconds. Write 90s, 15m, 2h or 3d; 0: now.",
                     text);
}

std::string check_at(const std::string& text) {
  if (text.ends_with('Z') && point_in_time(text, 0)) return {};
  return fmt::format("\"{}\" is not a time. Write it in UTC, as 2026-11-22T10:00:00Z.", text);
}

// --- the calls ---

// From now to the delivery, for VisibilityTimeout.
std::int64_t delay_seconds(const MessageIdOptions& asked) {
  if (asked.at.empty()) return parse_duration(asked.in).value_or(Duration{0}).ms / 1000;
  const auto at = point_in_time(asked.at, 0);
  CHECK(at, "check_at() accepts \"{}\"", asked.at);
  return std::max<std::int64_t>((*at - wall_clock_ms() + 999) / 1000, 0);
}

struct MessageIdVerb {
  std::string_view action;  // of SQS, for a batch
  std::string_view done;    // for its output
  bool cancels = false;
};
constexpr MessageIdVerb cancel_verb{"DeleteMessageBatch", "Cancelled", true};
constexpr MessageIdVerb reschedule_verb{"ChangeMessageVisibilityBatch", "Rescheduled", false};

std::string batch_body(const MessageIdVerb& verb, const MessageIdOptions& asked,
                       const std::string& url, std::span<const std::string> ids) {
  CHECK(!ids.empty() && ids.size() <= batch_max, "{} ids in a batch", ids.size());
  const std::int64_t delay = verb.cancels ? 0 : delay_seconds(asked);
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", std::string_view(url));
  json.key("Entries");
  json.begin_array();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    json.begin_object();
    json.member("Id", std::to_string(i));
    json.member("ReceiptHandle",
                fmt::format("x-id:{}{}", ids[i], asked.even_in_flight ? ";x-even-in-flight" : ""));
    if (!verb.cancels) json.member("VisibilityTimeout", delay);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return body;
}

// Prints why an entry failed.
void explain_entry(const MessageIdVerb& verb, const JsonValue& entry,
                   std::span<const std::string> ids, MessageIdOutcomes& outcomes) {
  const std::string code = text_of(entry, "Code"), message = text_of(entry, "Message");
  const bool unknown =
      code == "ReceiptHandleIsInvalid" || message.contains("Message does not exist");
  ++(unknown ? outcomes.unknown : outcomes.failed);
  const std::uint64_t failures = outcomes.unknown + outcomes.failed;
  if (failures > shown_errors_max) return;
  const auto index = static_cast<std::size_t>(std::atoi(text_of(entry, "Id").c_str()));
  const std::string id = index < ids.size() ? ids[index] : "";
  if (code == "PawlMessageInFlight")
    fmt::print(
        stderr,
        "error: message {} is in flight, or on its way to another queue. Try again later{}.\n", id,
        verb.cancels ? ", or add --even-in-flight" : "");
  else
    fmt::print(stderr, "error: message {}: {}\n", id, message);
}

int act_on_batch(const MessageIdVerb& verb, const MessageIdOptions& asked, SqsClient& client,
                 const std::string& url, std::span<const std::string> ids,
                 MessageIdOutcomes& outcomes) {
  const auto response = client.call(verb.action, batch_body(verb, asked, url, ids));
  if (!response) return explain_call(response.error(), asked.queue);
  JsonDom dom;
  const auto document = dom.parse(response->body);
  const auto failed = document ? document->member("Failed") : std::nullopt;
  if (failed)
    for (const JsonValue entry : failed->items()) explain_entry(verb, entry, ids, outcomes);
  const std::size_t accepted = ids.size() - std::min(ids.size(), failed ? failed->size() : 0);
  if (!verb.cancels) {
    outcomes.done += accepted;
    return exit_ok;
  }
  if (response->cancelled.empty() && accepted > 0)
    return fail_with(exit_failure,
                     fmt::format("the response does not tell whether messages were cancelled. Is "
                                 "{} the HTTP port of a pawl server of this version?",
                                 url));
  for (const auto word : std::views::split(std::string_view(response->cancelled), ',')) {
    const std::string_view outcome(word.begin(), word.end());
    if (outcome == "cancelled") ++outcomes.done;
    if (outcome == "gone") ++outcomes.gone;
  }
  return exit_ok;
}

// The ids of the command line, or of the messages that match the filter.
int collect_ids(const MessageIdOptions& asked, MessageIds& ids) {
  for (const auto line : std::views::split(asked.ids, '\n'))
    if (!line.empty()) ids.emplace_back(line.begin(), line.end());
  if (asked.filter.empty()) return exit_ok;
  auto client = open_endpoint(asked.endpoint, sqs_client::pawl_api);
  if (!client) return exit_usage;
  PeekRequest peek;
  peek.queue = asked.queue;
  peek.filter = asked.filter;
  peek.count = UINT64_MAX;
  return for_each_peeked(*client, peek, [&](const JsonValue& message) {
    const std::string place = text_of(message, "PlaceId");  // of a message from another queue
    ids.push_back(place.empty() ? text_of(message, "MessageId") : place);
  });
}

int act_on_all(const MessageIdVerb& verb, const MessageIdOptions& asked, SqsClient& client,
               const std::string& url, const MessageIds& ids) {
  MessageIdOutcomes outcomes;
  int code = exit_ok;
  for (std::size_t at = 0; at < ids.size() && code == exit_ok; at += batch_max) {
    const auto batch = std::span(ids).subspan(at, std::min(batch_max, ids.size() - at));
    code = act_on_batch(verb, asked, client, url, batch, outcomes);
  }
  if (const std::uint64_t failures = outcomes.unknown + outcomes.failed;
      failures > shown_errors_max)
    fmt::print(stderr, "error: {} more messages failed.\n", failures - shown_errors_max);
  fmt::print("{} {} of {} messages{}.\n", verb.done, outcomes.done, ids.size(),
             outcomes.gone == 0 ? "" : fmt::format("; {} gone before", outcomes.gone));
  return code != exit_ok ? code : outcomes.code(asked.filter.empty());
}

int run_by_ids(const MessageIdVerb& verb, const MessageIdOptions& asked) {
  MessageIds ids;
  if (asked.ids.empty() == asked.filter.empty())
    return fail_with(exit_usage, "name the messages by their ids, or all that match by --filter.");
  if (const int code = collect_ids(asked, ids); code != exit_ok) return code;
  const std::string owner = fmt::format("queue \"{}\"", asked.queue);
  const Destroyed destroyed{owner, static_cast<std::int64_t>(ids.size()), "matching messages"};
  const bool asks = verb.cancels && !asked.filter.empty() && !ids.empty();
  if (asks && !is_confirmed(asked.yes, destroyed)) return exit_usage;
  return with_queue(asked.endpoint, asked.queue, [&](SqsClient& client, const std::string& url) {
    return act_on_all(verb, asked, client, url, ids);
  });
}

int run_reschedule(const MessageIdOptions& asked) {
  if (asked.in.empty() == asked.at.empty())
    return fail_with(exit_usage,
                     "say when the messages are delivered: --in DURATION from now, or --at TIME.");
  if (!asked.at.empty() && delay_seconds(asked) == 0)
    return fail_with(exit_usage,
                     fmt::format("--at {} has passed. `--in 0` delivers at once.", asked.at));
  return run_by_ids(reschedule_verb, asked);
}

void add_message_ids(Verb verb, MessageIdOptions& asked) {
  verb.option("QUEUE,--queue", asked.queue, "Name or URL of the queue").required();
  verb.option("ID,--id", asked.ids, "MessageIds, as their sends returned them")
      .several()
      .check(check_message_id);
  add_endpoint(verb, asked.endpoint);
  verb.option("--filter", asked.filter,
              "All messages whose attributes match this SNS filter policy, as {\"colour\": "
              "[\"red\"]}")
      .value_name("JSON")
      .check(check_filter);
}

}  // namespace

void add_cancel_command(CommandLine& line) {
  Verb verb = line.add_verb("cancel", "Deletes waiting messages by their ids");
  const auto asked = std::make_shared<MessageIdOptions>();
  add_message_ids(verb, *asked);
  verb.flag("--even-in-flight", asked->even_in_flight,
            "Also messages in flight: they are deleted when their consumers give them back");
  add_confirmation(verb, asked->yes);
  verb.on_given([asked] { return run_by_ids(cancel_verb, *asked); });
}

void add_reschedule_command(CommandLine& line) {
  Verb verb = line.add_verb("reschedule", "Sets when waiting messages are delivered");
  const auto asked = std::make_shared<MessageIdOptions>();
  add_message_ids(verb, *asked);
  verb.option("--in", asked->in, "From now: 90s, 15m, 2h or 3d; 0: at once")
      .value_name("DURATION")
      .check(check_in);
  verb.option("--at", asked->at, "In UTC: 2026-11-22T10:00:00Z").value_name("TIME").check(check_at);
  verb.on_given([asked] { return run_reschedule(*asked); });
}

}  // namespace pawl

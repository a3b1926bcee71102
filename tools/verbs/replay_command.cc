// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/queue/replay_task.h"
#include "proto/errors/errors.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/peek_calls.h"
#include "tools/verbs/point_in_time.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::CallError;
using sqs_client::SqsClient;

struct ReplayRequest {
  EndpointOptions endpoint;
  std::string queue;
  std::string from, to;  // points in time, as typed; empty: not given
  std::string into;
  std::uint32_t rate = 0;
  std::string filter;
  bool copies = false;
  std::uint32_t task = 0;
  OutputOptions output;
};

// --- checks of flags: each returns an error text, or an empty one ---

std::string check_destination(const std::string& text) {
  if (!text.contains("://")) return {};
  return fmt::format(
      "\"{}\" is a URL. Name a queue of the same account by its name, for example \"{}\".", text,
      name_of_url(text));
}

// --- error texts ---

// The server refuses with the text of this error of a shard.
bool is_error(const CallError& error, Errc code) {
  CHECK(!row_of(code).text.contains('{'), "the text of {} has values", name_of(code));
  return error.message == row_of(code).text;
}

bool may_be_carried_out(const CallError& error) {
  return error.kind == sqs_client::ErrorKind::timed_out ||
         error.kind == sqs_client::ErrorKind::closed;
}

// Explains the errors of a call that changes something.
int explain_change(const ReplayRequest& asked, const CallError& error) {
  if (!may_be_carried_out(error)) return explain_pawl_call(error, asked.queue);
  return fail_with(exit_failure,
                   fmt::format("{} `pawl replay list {}` shows it.", error.text, asked.queue));
}

int explain_start(const ReplayRequest& asked, const CallError& error) {
  const std::string& queue = asked.queue;
  if (is_error(error, Errc::not_kept))
    return fail_with(
        exit_failure,
        fmt::format("queue \"{0}\" retains no messages for replay: its attribute "
                    "x-replay-retention is 0. Set it to the number of seconds for which new "
                    "messages are retained: `pawl queue set {0} --set x-replay-retention=86400`.",
                    queue));
  if (is_error(error, Errc::task_running))
    return fail_with(
        exit_failure,
        fmt::format("a replay of queue \"{0}\" is already running. Wait until it ends, or cancel "
                    "it: `pawl replay list {0}` shows its number, `pawl replay cancel {0} --task "
                    "NUMBER` cancels it.",
                    queue));
  if (error.code == "QueueDoesNotExist" && error.message.contains("DestinationQueue"))
    return explain_call(error, asked.into);
  const bool fifo = queue.ends_with(".fifo");
  if (error.code.starts_with("InvalidParameterValue") && !asked.into.empty() &&
      asked.into.ends_with(".fifo") != fifo)
    return fail_with(
        exit_failure,
        fmt::format("cannot replay queue \"{}\" into \"{}\": one is a FIFO queue, the other is "
                    "not. Name a queue of the same kind with --into.",
                    queue, asked.into));
  return explain_change(asked, error);
}

int explain_cancel(const ReplayRequest& asked, const CallError& error) {
  if (is_error(error, Errc::no_such_task))
    return fail_with(
        exit_not_found,
        fmt::format("queue \"{0}\" has no replay {1}. `pawl replay list {0}` shows the latest {2}.",
                    asked.queue, asked.task, replays_kept));
  if (is_error(error, Errc::task_ended))
    return fail_with(exit_failure, fmt::format("replay {1} of queue \"{0}\" has already ended. "
                                               "`pawl replay list {0}` shows its result.",
                                               asked.queue, asked.task));
  return explain_change(asked, error);
}

int explain_no_member(std::string_view name) {
  return fail_with(
      exit_failure,
      fmt::format("the response has no \"{}\". Is --url the HTTP port of a pawl server?", name));
}

// --- the verbs ---

// Calls the action with QueueUrl and the members that `write` adds.
template <typename Write>
std::optional<std::expected<sqs_client::Response, CallError>> call_action(
    const ReplayRequest& asked, std::string_view action, Write&& write) {
  auto client = open_endpoint(asked.endpoint, sqs_client::pawl_api);
  if (!client) return std::nullopt;
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", std::string_view(asked.queue));
  write(json);
  json.end_object();
  return client->call(action, body);
}

// Prints the number of this name in a response.
int print_number(std::string_view response, std::string_view name) {
  JsonDom dom;
  const auto document = dom.parse(response);
  const auto number = document ? number_of(*document, name) : std::nullopt;
  if (!number) return explain_no_member(name);
  fmt::print("{}\n", *number);
  return exit_ok;
}

// The time of a flag that check_point_in_time() has accepted.
std::int64_t time_of(const std::string& text, std::int64_t now) {
  const std::optional<std::int64_t> time = point_in_time(text, now);
  CHECK(time.has_value(), "check_point_in_time() accepts \"{}\"", text);
  return *time;
}

int start(const ReplayRequest& asked) {
  const std::int64_t now = wall_clock_ms();
  const std::int64_t from = asked.from.empty() ? 0 : time_of(asked.from, now);
  const std::int64_t to = asked.to.empty() ? 0 : time_of(asked.to, now);
  if (from >= (asked.to.empty() ? now : to))
    return fail_with(exit_usage,
                     fmt::format("--from {} is not before {}. The time range is empty.\n"
                                 "See `pawl replay start --help`.",
                                 asked.from, asked.to.empty() ? "now" : "--to " + asked.to));
  const auto started = call_action(asked, "StartReplay", [&](JsonWriter& json) {
    json.member("From", from);
    json.member("To", to);
    json.member("MaxNumberOfMessagesPerSecond", asked.rate);
    json.member("IncludeCopies", asked.copies ? 1 : 0);
    if (!asked.into.empty()) json.member("DestinationQueue", std::string_view(asked.into));
    if (!asked.filter.empty()) json.member("FilterPolicy", std::string_view(asked.filter));
  });
  if (!started) return exit_usage;
  return *started ? print_number((*started)->body, "Number")
                  : explain_start(asked, started->error());
}

int cancel(const ReplayRequest& asked) {
  const auto cancelled = call_action(asked, "CancelReplay",
                                     [&](JsonWriter& json) { json.member("Number", asked.task); });
  if (!cancelled) return exit_usage;
  return *cancelled ? print_number((*cancelled)->body, "NumberOfMessagesSent")
                    : explain_cancel(asked, cancelled->error());
}

Printer::Row row_of_replay(const JsonValue& replay) {
  const auto number = [&](std::string_view name) { return number_of(replay, name).value_or(0); };
  const auto time = [&](std::string_view name) { return time_text(number(name)); };
  std::string status = text_of(replay, "Status");
  std::ranges::transform(status, status.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::int64_t unreadable = number("UnreadableBytes");
  const std::int64_t rate = number("MaxNumberOfMessagesPerSecond");
  return {
      .cells = {
                {"number", number("Number")},
                {"status", status},
                {"sent", number("NumberOfMessagesSent")},
                {"unreadable", unreadable, unreadable == 0 ? "" : fmt::format("{} bytes", unreadable)},
                {"from", time("From")},
                {"to", time("To")},
                {"started", time("StartedAt")},
                {"into", text_of(replay, "DestinationQueue")},
                {"rate", rate, rate == 0 ? "no limit" : fmt::format("{}/s", rate)},
                {"filter", text_of(replay, "FilterPolicy")},
                {"failure", text_of(replay, "FailureReason")}}
  };
}

int list(const ReplayRequest& asked) {
  const auto listed = call_action(asked, "ListReplays", [](JsonWriter&) {});
  if (!listed) return exit_usage;
  if (!*listed) return explain_pawl_call(listed->error(), asked.queue);
  JsonDom dom;
  const auto document = dom.parse((*listed)->body);
  const auto replays = document ? document->member("Replays") : std::nullopt;
  if (!replays || !replays->is_list()) return explain_no_member("Replays");
  Printer printer(stdout, asked.output.format(),
                  {"number", "status", "sent", "unreadable", "from", "to", "into", "rate", "filter",
                   "failure"});
  for (const JsonValue replay : replays->items()) printer.add(row_of_replay(replay));
  return printer.end();
}

void add_range(Verb action, ReplayRequest& asked) {
  action
      .option("--from", asked.from,
              "Start of the time range: 2026-11-22T10:00:00Z, or 90s, 15m, 2h or 3d ago (default: "
              "the oldest retained message)")
      .value_name("TIME")
      .check(check_point_in_time);
  action.option("--to", asked.to, "End of the time range (default: now)")
      .value_name("TIME")
      .check(check_point_in_time);
}

}  // namespace

void add_replay_command(CommandLine& line) {
  Verb verb = line.add_verb("replay",
                            "Sends messages of a queue again, including deleted and expired ones");
  verb.require_verb();
  const auto asked = std::make_shared<ReplayRequest>();
  const auto add = [&](const char* name, const char* help, int (*run)(const ReplayRequest&)) {
    Verb action = verb.add_verb(name, help);
    action.option("QUEUE,--queue", asked->queue, "Name or URL of the queue").required();
    add_endpoint(action, asked->endpoint);
    action.on_given([asked, run] { return run(*asked); });
    return action;
  };

  Verb started = add("start", "Starts a replay and prints its number", start);
  add_range(started, *asked);
  started
      .option("--into", asked->into,
              "Destination queue, of the same kind: standard or FIFO (default: the queue itself)")
      .value_name("NAME")
      .check(check_destination);
  started
      .option("--rate", asked->rate,
              "Messages per second, up to 1000000; 0: as fast as the destination accepts them")
      .check(whole_number(0, replay_rate_max))
      .show_default();
  started
      .option(
          "--filter", asked->filter,
          "Only messages whose attributes match this SNS filter policy, as {\"colour\": [\"red\"]}")
      .value_name("JSON")
      .check(check_filter);
  started.flag("--copies", asked->copies, "Include messages that earlier replays sent");
  started.footer(
      "The queue attribute x-replay-retention sets for how many seconds messages are retained for "
      "replay.");

  Verb listed = add("list", "Prints the latest ten replays, newest first", list);
  add_output(listed, asked->output,
             "{number, status, sent, unreadable, from, to, started, into, rate, filter, failure}");

  Verb cancelled =
      add("cancel", "Cancels a replay and prints the number of messages that it sent", cancel);
  cancelled.option("--task", asked->task, "Number of the replay, as start printed it")
      .value_name("NUMBER")
      .check(whole_number(1, UINT32_MAX))
      .required();
}

}  // namespace pawl

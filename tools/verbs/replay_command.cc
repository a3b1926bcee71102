// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <pawl/client.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/queue/replay_task.h"
#include "proto/sns/filter_policy.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/connection.h"
#include "tools/verbs/point_in_time.h"

namespace pawl {
namespace {

struct ReplayRequest {
  ConnectionOptions server;
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

std::string check_time(const std::string& text) {
  if (point_in_time(text, wall_clock_ms())) return {};
  return fmt::format(
      "\"{}\" is not a time after 1970. Write it in UTC as 2026-11-22T10:00:00Z, or as an age: "
      "90s, 15m, 2h or 3d.",
      text);
}

std::string check_filter(const std::string& text) {
  if (text.size() > replay_filter_bytes_max)
    return fmt::format("The filter has {} bytes; at most {} are allowed. Shorten it.", text.size(),
                       replay_filter_bytes_max);
  std::string why;
  if (text.empty() || FilterPolicy::parse(text, FilterPolicy::Scope::attributes, why)) return {};
  return fmt::format("'{}' is not a filter policy: {}. An example is '{{\"colour\": [\"red\"]}}'.",
                     text, why);
}

// --- error texts ---

int explain_no_queue(const ReplayRequest& asked, std::string_view queue) {
  return fail_with(
      exit_not_found,
      fmt::format(
          "there is no queue \"{}\" at {}. Name an existing queue by its name, not by its URL.",
          queue, asked.server.binary));
}

// Explains the errors that any request can return.
int explain(const ReplayRequest& asked, std::string_view what, const Client::Error& error) {
  using Code = Client::Code;
  switch (error.code) {
    case Code::no_such_queue:
      return explain_no_queue(asked, asked.queue);
    case Code::unknown_op:
      return fail_with(exit_failure,
                       fmt::format("the server at {} does not support replays, because it "
                                   "is older than this program. Upgrade the server.",
                                   asked.server.binary));
    case Code::timed_out:
    case Code::broken:
      return fail_with(
          exit_failure,
          fmt::format("cannot {} queue \"{}\": the connection to {} is lost ({}). Check "
                      "with `pawl replay list --queue {}` if the server executed it.",
                      what, asked.queue, asked.server.binary, Client::name_of(error.code),
                      asked.queue));
    default:
      break;
  }
  const bool later = error.retry_after.count() > 0;
  return fail_with(exit_failure, fmt::format("cannot {} queue \"{}\": {}.{}", what, asked.queue,
                                             Client::name_of(error.code),
                                             later ? " Try again in a moment." : ""));
}

int explain_start(const ReplayRequest& asked, const Client::Error& error) {
  using Code = Client::Code;
  const std::string& queue = asked.queue;
  const bool elsewhere = !asked.into.empty() && asked.into != queue;
  switch (error.code) {
    case Code::not_kept:
      return fail_with(
          exit_failure,
          fmt::format("queue \"{}\" retains no messages for replay: its attribute "
                      "x-replay-retention is 0. Set it to the number of seconds for which new "
                      "messages are retained: aws sqs set-queue-attributes --queue-url URL "
                      "--attributes x-replay-retention=86400",
                      queue));
    case Code::task_running:
      return fail_with(
          exit_failure,
          fmt::format("a replay of queue \"{0}\" is already running. Wait until it ends, "
                      "or cancel it: `pawl replay list --queue {0}` shows its number, "
                      "`pawl replay cancel --queue {0} --task NUMBER` cancels it.",
                      queue));
    case Code::no_such_queue:
      return explain_no_queue(asked, elsewhere ? asked.into : queue);
    case Code::invalid:  // all other arguments were checked before
      if (!elsewhere) break;
      return fail_with(
          exit_failure,
          fmt::format("cannot replay queue \"{}\" into \"{}\": one is a FIFO queue, the "
                      "other is not. Name a queue of the same kind with --into.",
                      queue, asked.into));
    default:
      break;
  }
  return explain(asked, "start a replay of", error);
}

int explain_cancel(const ReplayRequest& asked, const Client::Error& error) {
  using Code = Client::Code;
  if (error.code == Code::no_such_task)
    return fail_with(
        exit_not_found,
        fmt::format(
            "queue \"{0}\" has no replay {1}. `pawl replay list --queue {0}` shows the latest {2}.",
            asked.queue, asked.task, replays_kept));
  if (error.code == Code::task_ended)
    return fail_with(exit_failure,
                     fmt::format("replay {1} of queue \"{0}\" has already ended. `pawl "
                                 "replay list --queue {0}` shows its result.",
                                 asked.queue, asked.task));
  return explain(asked, "cancel a replay of", error);
}

// --- the verbs ---

template <typename Act>
int with_queue(const ReplayRequest& asked, Act&& act) {
  auto client = connect(asked.server, "pawl replay");
  if (!client) return client.error();
  const auto queue = client->open_queue(asked.queue);
  if (!queue) return explain(asked, "open", queue.error());
  return act(*client, *queue);
}

// The time of a flag that check_time() has accepted.
std::int64_t time_of(const std::string& text, std::int64_t now) {
  const std::optional<std::int64_t> time = point_in_time(text, now);
  CHECK(time.has_value(), "check_time() accepts \"{}\"", text);
  return *time;
}

int start(const ReplayRequest& asked) {
  const std::int64_t now = wall_clock_ms();
  Client::ReplayOptions options;
  if (!asked.from.empty()) options.from = time_of(asked.from, now);
  if (!asked.to.empty()) options.to = time_of(asked.to, now);
  options.destination = asked.into;
  options.rate = asked.rate;
  options.filter = asked.filter;
  options.copies = asked.copies;
  if (options.from >= (asked.to.empty() ? now : options.to))
    return fail_with(exit_usage,
                     fmt::format("--from {} is not before {}. The time range is empty.\n"
                                 "See `pawl replay start --help`.",
                                 asked.from, asked.to.empty() ? "now" : "--to " + asked.to));
  return with_queue(asked, [&](Client& client, const Client::Queue& queue) {
    const auto number = client.start_replay(queue, options);
    if (!number) return explain_start(asked, number.error());
    fmt::print("{}\n", *number);
    return static_cast<int>(exit_ok);
  });
}

int cancel(const ReplayRequest& asked) {
  return with_queue(asked, [&](Client& client, const Client::Queue& queue) {
    const auto sent = client.cancel_replay(queue, asked.task);
    if (!sent) return explain_cancel(asked, sent.error());
    fmt::print("{}\n", *sent);
    return static_cast<int>(exit_ok);
  });
}

std::string_view name_of(Client::Replay::State state) {
  constexpr std::string_view names[] = {"running", "completed", "cancelled", "failed"};
  const auto i = static_cast<std::size_t>(state);
  return i < std::size(names) ? names[i] : "unknown";
}

Printer::Row row_of(const Client::Replay& replay) {
  const bool failed = replay.failure != Client::Code::ok;
  return {
      .cells = {{"number", std::uint64_t{replay.number}},
                {"status", std::string(name_of(replay.state))},
                {"sent", replay.sent},
                {"unreadable", replay.unreadable,
                 replay.unreadable == 0 ? "" : fmt::format("{} bytes", replay.unreadable)},
                {"from", time_text(replay.from)},
                {"to", time_text(replay.to)},
                {"started", time_text(replay.started)},
                {"into", replay.destination},
                {"rate", std::uint64_t{replay.rate},
                 replay.rate == 0 ? "no limit" : fmt::format("{}/s", replay.rate)},
                {"filter", replay.filter},
                {"failure", std::string(failed ? Client::name_of(replay.failure) : "")}}
  };
}

int list(const ReplayRequest& asked) {
  return with_queue(asked, [&](Client& client, const Client::Queue& queue) {
    const auto replays = client.replays(queue);
    if (!replays) return explain(asked, "list the replays of", replays.error());
    Printer printer(stdout, asked.output.format(),
                    {"number", "status", "sent", "unreadable", "from", "to", "into", "rate",
                     "filter", "failure"});
    for (const Client::Replay& replay : *replays) printer.add(row_of(replay));
    return printer.end();
  });
}

void add_range(Verb action, ReplayRequest& asked) {
  action
      .option("--from", asked.from,
              "Start of the time range: 2026-11-22T10:00:00Z, or 90s, 15m, 2h or 3d ago (default: "
              "the oldest retained message)")
      .value_name("TIME")
      .check(check_time);
  action.option("--to", asked.to, "End of the time range (default: now)")
      .value_name("TIME")
      .check(check_time);
}

}  // namespace

void add_replay_command(CommandLine& line) {
  Verb verb = line.add_verb("replay",
                            "Sends messages of a queue again, including deleted and expired ones");
  verb.require_verb();
  const auto asked = std::make_shared<ReplayRequest>();
  const auto add = [&](const char* name, const char* help, int (*run)(const ReplayRequest&)) {
    Verb action = verb.add_verb(name, help);
    action.option("--queue", asked->queue, "Name of the queue").value_name("NAME").required();
    add_connection(action, asked->server);
    action.on_given([asked, run] { return run(*asked); });
    return action;
  };

  Verb started = add("start", "Starts a replay and prints its number", start);
  add_range(started, *asked);
  started
      .option("--into", asked->into,
              "Destination queue, of the same kind: standard or FIFO (default: the queue itself)")
      .value_name("NAME");
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

// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/queue/move_task.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/text.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/dlq_show.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/point_in_time.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::SqsClient;

constexpr std::string_view unlimited = "unlimited";

struct DlqOptions {
  EndpointOptions endpoint;
  std::string queue;
  std::string to;
  std::string rate = "10";  // messages a second, or `unlimited`
  OutputOptions output;
};

std::string check_rate(const std::string& text) {
  const auto rate = decimal_number(text);
  if (text == unlimited || (rate && *rate >= 1 && *rate <= move_rate_max)) return {};
  return fmt::format("\"{}\" is not a whole number from 1 to {}, nor \"{}\".", text, move_rate_max,
                     unlimited);
}

// --- the verbs ---

int list_dead_letter_queues(const DlqOptions& asked, SqsClient& client) {
  std::map<std::string, std::int64_t> messages;
  std::map<std::string, std::string> sources;  // by dead-letter queue
  const int code = for_each_queue(client, "", [&](const std::string& name, const JsonValue& queue) {
    messages[name] = all_messages_of(queue);
    const std::string target = dead_letter_arn_in(queue);
    if (target.empty()) return;
    std::string& names = sources[name_of_arn(target)];
    names.append(names.empty() ? "" : " ").append(name);
  });
  if (code != exit_ok) return code;
  Printer printer(stdout, asked.output.format(), {"queue", "messages", "sources"});
  printer.fit_terminal();
  for (const auto& [name, names] : sources)
    printer.add({
        .cells = {{"queue", name}, {"messages", messages[name]}, {"sources", names}}
    });
  return printer.end();
}

int redrive(const DlqOptions& asked, SqsClient& client) {
  int code = exit_ok;
  const auto source = arn_of_queue(client, asked.queue, code);
  if (!source) return code;
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("SourceArn", std::string_view(*source));
  if (!asked.to.empty()) {
    const auto target = arn_of_queue(client, asked.to, code);
    if (!target) return code;
    json.member("DestinationArn", std::string_view(*target));
  }
  if (asked.rate != unlimited) {
    const auto rate = decimal_number(asked.rate);
    CHECK(rate, "check_rate() accepts \"{}\"", asked.rate);
    json.member("MaxNumberOfMessagesPerSecond", *rate);
  }
  json.end_object();
  const auto response = client.call("StartMessageMoveTask", body);
  if (!response && response.error().text.contains("Dead Letter Queue"))
    return fail_with(exit_failure, response.error().text + " `pawl dlq ls` lists them.");
  if (!response) return explain_call(response.error(), asked.queue);
  fmt::print(
      "The messages of {} return {}. `pawl dlq tasks {}` shows the progress, `pawl dlq cancel "
      "{}` stops it.\n",
      asked.queue, asked.rate == unlimited ? "without a limit" : fmt::format("at {}/s", asked.rate),
      asked.queue, asked.queue);
  return exit_ok;
}

// Calls act(task) for each move task of the queue, newest first.
template <typename Act>
int with_tasks(const DlqOptions& asked, SqsClient& client, Act&& act) {
  int code = exit_ok;
  const auto source = arn_of_queue(client, asked.queue, code);
  if (!source) return code;
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("SourceArn", std::string_view(*source));
  json.member("MaxResults", 10);
  json.end_object();
  const auto response = client.call("ListMessageMoveTasks", body);
  if (!response) return explain_call(response.error(), asked.queue);
  JsonDom dom;
  const auto document = dom.parse(response->body);
  const auto tasks = document ? document->member("Results") : std::nullopt;
  if (tasks)
    for (const JsonValue task : tasks->items()) act(task);
  return exit_ok;
}

int list_tasks(const DlqOptions& asked, SqsClient& client) {
  Printer printer(stdout, asked.output.format(),
                  {"status", "moved", "to_move", "rate", "into", "started", "failure"});
  printer.fit_terminal();
  const int code = with_tasks(asked, client, [&](const JsonValue& task) {
    const std::int64_t started = number_of(task, "StartedTimestamp").value_or(0);
    const std::int64_t rate = number_of(task, "MaxNumberOfMessagesPerSecond").value_or(0);
    printer.add({
        .cells = {{"status", text_of(task, "Status")},
                  {"moved", number_of(task, "ApproximateNumberOfMessagesMoved").value_or(0)},
                  {"to_move", number_of(task, "ApproximateNumberOfMessagesToMove").value_or(0)},
                  {"rate", rate, rate == 0 ? "no limit" : fmt::format("{}/s", rate)},
                  {"into", name_of_arn(text_of(task, "DestinationArn"))},
                  {"started", started, started == 0 ? "" : time_text(started)},
                  {"failure", text_of(task, "FailureReason")}}
    });
  });
  return code == exit_ok ? printer.end() : code;
}

int cancel(const DlqOptions& asked, SqsClient& client) {
  std::string handle;
  const int code = with_tasks(asked, client, [&](const JsonValue& task) {
    if (text_of(task, "Status") == "RUNNING") handle = text_of(task, "TaskHandle");
  });
  if (code != exit_ok) return code;
  if (handle.empty())
    return fail_with(
        exit_not_found,
        fmt::format("no task moves messages out of queue \"{0}\". `pawl dlq tasks {0}` "
                    "shows the latest.",
                    asked.queue));
  const auto response = client.call("CancelMessageMoveTask", body_with("TaskHandle", handle));
  if (!response) return explain_call(response.error(), asked.queue);
  JsonDom dom;
  const auto document = dom.parse(response->body);
  const auto moved =
      document ? number_of(*document, "ApproximateNumberOfMessagesMoved") : std::nullopt;
  fmt::print("{} messages were moved before the stop.\n", moved.value_or(0));
  return exit_ok;
}

}  // namespace

void add_dlq_command(CommandLine& line) {
  Verb verb = line.add_verb("dlq", "Lists dead-letter queues, shows and returns their messages");
  verb.require_verb();
  const auto asked = std::make_shared<DlqOptions>();
  const auto add = [&](const char* name, const char* help,
                       int (*run)(const DlqOptions&, SqsClient&), bool named = true) {
    Verb action = verb.add_verb(name, help);
    if (named)
      action.option("QUEUE,--queue", asked->queue, "Name or URL of the dead-letter queue")
          .required();
    run_at_endpoint(action, asked, sqs_client::sqs_api, run);
    return action;
  };
  Verb listed =
      add("ls", "Lists the dead-letter queues and their sources", list_dead_letter_queues, false);
  add_output(listed, asked->output, "{queue, messages, sources}");
  add_dlq_show(verb);
  Verb started =
      add("redrive", "Moves the messages back to the queues where they come from", redrive);
  started.option("--to", asked->to, "Another queue for all of them, by name or URL")
      .value_name("QUEUE");
  started.option("--rate", asked->rate, "Messages per second, or `unlimited`")
      .value_name("N")
      .check(check_rate)
      .show_default();
  Verb tasks = add("tasks", "Shows the latest moves out of a queue, newest first", list_tasks);
  add_output(tasks, asked->output, "{status, moved, to_move, rate, into, started, failure}");
  add("cancel", "Stops the move and prints the number of messages that it moved", cancel);
}

}  // namespace pawl

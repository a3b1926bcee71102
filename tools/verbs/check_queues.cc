// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/check_queues.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "tools/printer.h"
#include "tools/queue_findings.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/nagios.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/queue_statistics.h"

namespace pawl {
namespace {

using sqs_client::CallError;
using sqs_client::ErrorKind;

constexpr std::size_t nagios_findings_max = 3;  // those that the line names

struct CheckQueuesOptions {
  EndpointOptions endpoint;
  std::string filter;
  bool nagios = false;
  OutputOptions output;
};

struct CheckedQueues {
  std::vector<QueueReading> readings;
  bool foreign = false;  // the endpoint has no figures
};

int explain_unread(const CheckQueuesOptions& asked, const CallError& error) {
  if (!asked.nagios) return explain_call(error, "");
  const bool refused = error.kind == ErrorKind::refused;
  return print_nagios(refused ? NagiosLevel::unknown : NagiosLevel::critical, error.text);
}

// With SQS's actions alone: the queues of any endpoint.
int read_foreign(const CheckQueuesOptions& asked, CheckedQueues& checked) {
  auto client = open_endpoint(asked.endpoint, sqs_client::sqs_api);
  if (!client) return exit_usage;
  const auto probe = client->call("ListQueues", "{}");
  if (!probe) return explain_unread(asked, probe.error());
  checked.foreign = true;
  return for_each_queue(*client, "", [&](const std::string& name, const JsonValue& attributes) {
    checked.readings.push_back(reading_of(name, attributes));
  });
}

int read_queues(const CheckQueuesOptions& asked, CheckedQueues& checked) {
  auto client = open_endpoint(asked.endpoint, sqs_client::pawl_api);
  if (!client) return exit_usage;
  auto readings = read_statistics(*client);
  if (readings) {
    checked.readings = std::move(*readings);
    return exit_ok;
  }
  // Another server refuses an action that it does not know, each in its own way.
  const ErrorKind kind = readings.error().kind;
  if (kind == ErrorKind::refused || kind == ErrorKind::broken) return read_foreign(asked, checked);
  return explain_unread(asked, readings.error());
}

std::string counted_text(std::size_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

int print_for_nagios(const std::vector<QueueFinding>& found, std::size_t queues) {
  const std::string figures = fmt::format("findings={} queues={}", found.size(), queues);
  if (found.empty())
    return print_nagios(NagiosLevel::ok,
                        "no findings in " + counted_text(queues, "queue", "queues"), figures);
  std::string text = fmt::format("{} in {}: ", counted_text(found.size(), "finding", "findings"),
                                 counted_text(queues, "queue", "queues"));
  for (std::size_t i = 0; i < std::min(found.size(), nagios_findings_max); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", found[i].queue, found[i].check);
  if (found.size() > nagios_findings_max) text += ", ...";
  return print_nagios(NagiosLevel::warning, text, figures);
}

// The checks that were not done, as a line on stderr.
void name_omitted(const CheckedQueues& checked) {
  const auto without = static_cast<std::size_t>(
      std::ranges::count_if(checked.readings, [](const auto& queue) { return !queue.counted; }));
  if (without == 0) return;
  std::string names;
  for (const std::string_view check : checks_of_figures())
    names.append(names.empty() ? "" : ", ").append(check);
  if (checked.foreign) {
    fmt::print(stderr, "note: not checked, because only a pawl server counts it: {}.\n", names);
  } else {
    fmt::print(stderr,
               "note: not checked for {} without figures of their own (pawl serve "
               "--metrics-queues): {}.\n",
               counted_text(without, "queue", "queues"), names);
  }
}

int check_queues(const CheckQueuesOptions& asked) {
  CheckedQueues checked;
  if (const int code = read_queues(asked, checked); code != exit_ok) return code;
  const std::string options =
      asked.endpoint.url.empty() ? "" : " --url " + shell_word(asked.endpoint.url);
  std::vector<QueueFinding> found = findings_of(checked.readings, options);
  const auto left_out = [&asked](const std::string& name) { return !name.contains(asked.filter); };
  std::erase_if(found, [&](const QueueFinding& finding) { return left_out(finding.queue); });
  std::erase_if(checked.readings, [&](const QueueReading& queue) { return left_out(queue.name); });
  CHECK(found.size() <= checked.readings.size() * queue_checks().size(), "{} findings",
        found.size());
  if (asked.nagios) return print_for_nagios(found, checked.readings.size());
  Printer printer(stdout, asked.output.format(), {"queue", "check", "finding"});
  for (const QueueFinding& finding : found) {
    printer.add({
        .cells = {{"queue", finding.queue},
                  {"check", std::string(finding.check)},
                  {"finding", finding.finding},
                  {"command", finding.command}},
        .note = finding.command
    });
  }
  if (const int code = printer.end(); code != exit_ok) return code;
  if (found.empty() && asked.output.format() == OutputFormat::table)
    fmt::print("no findings in {}\n", counted_text(checked.readings.size(), "queue", "queues"));
  name_omitted(checked);
  return found.empty() ? exit_ok : exit_check_failed;
}

}  // namespace

void add_check_queues(Verb check) {
  Verb verb = check.add_verb("queues", "Finds mistakes in the settings of queues, at any endpoint");
  const auto asked = std::make_shared<CheckQueuesOptions>();
  add_endpoint(verb, asked->endpoint);
  verb.option("--filter", asked->filter, "Only queues whose names contain this text")
      .value_name("TEXT");
  verb.flag("--nagios", asked->nagios, "One line and the exit codes of a plugin for Nagios");
  add_output(verb, asked->output, "{queue, check, finding, command}");
  verb.footer("Exit code 4: there are findings. The line below each is the command that mends it.");
  verb.on_given([asked] { return check_queues(*asked); });
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/confirmation.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/name_value.h"
#include "tools/verbs/queue_apply.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::SqsClient;
using Pairs = std::vector<std::pair<std::string, std::string>>;

struct QueueOptions {
  EndpointOptions endpoint;
  std::string queue;
  std::string settings;  // lines of NAME=VALUE
  std::string tags;      // the same
  std::string dead_letters;
  std::uint32_t max_receives = 5;
  std::string prefix;
  bool names = false;
  bool yes = false;
  OutputOptions output;
};

Pairs pairs_of(std::string_view lines) {
  Pairs pairs;
  for (const NameValue& pair : names_and_values(lines)) pairs.emplace_back(pair.name, pair.value);
  return pairs;
}

void write_map(JsonWriter& json, std::string_view name, const Pairs& pairs) {
  if (pairs.empty()) return;
  json.key(name);
  json.begin_object();
  for (const auto& [key, value] : pairs) json.member(key, std::string_view(value));
  json.end_object();
}

// The settings, and the RedrivePolicy of --dead-letters. Without a value the error was printed.
std::optional<Pairs> settings_of(const QueueOptions& asked, SqsClient& client, int& code) {
  Pairs pairs = pairs_of(asked.settings);
  if (asked.dead_letters.empty()) return pairs;
  const auto arn = arn_of_queue(client, asked.dead_letters, code);
  if (!arn) return std::nullopt;
  std::string policy;
  JsonWriter json(policy);
  json.begin_object();
  json.member("deadLetterTargetArn", std::string_view(*arn));
  json.member("maxReceiveCount", asked.max_receives);
  json.end_object();
  pairs.emplace_back("RedrivePolicy", policy);
  return pairs;
}

// --- the verbs ---

int create(const QueueOptions& asked, SqsClient& client) {
  int code = exit_ok;
  auto settings = settings_of(asked, client, code);
  if (!settings) return code;
  const bool says_fifo =
      std::ranges::any_of(*settings, [](const auto& pair) { return pair.first == "FifoQueue"; });
  if (asked.queue.ends_with(".fifo") && !says_fifo) settings->emplace_back("FifoQueue", "true");
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueName", std::string_view(asked.queue));
  write_map(json, "Attributes", *settings);
  write_map(json, "tags", pairs_of(asked.tags));
  json.end_object();
  const auto response = client.call("CreateQueue", body);
  if (!response) return explain_call(response.error(), asked.queue);
  JsonDom dom;
  const auto document = dom.parse(response->body);
  fmt::print("{}\n", document ? text_of(*document, "QueueUrl") : std::string());
  return exit_ok;
}

Printer::Row counted_row(std::string_view name, const JsonValue& attributes) {
  const auto count = [&](const char* state) {
    return attribute_number_of(attributes, fmt::format("ApproximateNumberOfMessages{}", state));
  };
  return {
      .cells = {{"queue", std::string(name)},
                {"visible", count("")},
                {"in_flight", count("NotVisible")},
                {"delayed", count("Delayed")}}
  };
}

int list(const QueueOptions& asked, SqsClient& client) {
  Printer printer(stdout, asked.output.format(), {"queue", "visible", "in_flight", "delayed"});
  printer.fit_terminal();
  const int code = asked.names
                       ? for_each_url(client, asked.prefix,
                                      [&](const std::string& url) {
                                        printer.add({.cells = {{"queue", name_of_url(url)}}});
                                      })
                       : for_each_queue(client, asked.prefix,
                                        [&](const std::string& name, const JsonValue& attributes) {
                                          printer.add(counted_row(name, attributes));
                                        });
  return code == exit_ok ? printer.end() : code;
}

// Calls act(url) for the URL of the queue.
template <typename Act>
int with_url(const QueueOptions& asked, SqsClient& client, Act&& act) {
  int code = exit_ok;
  const auto url = url_of_queue(client, asked.queue, code);
  return url ? act(*url) : code;
}

int show(const QueueOptions& asked, SqsClient& client) {
  return with_url(asked, client, [&](const std::string& url) -> int {
    int code = exit_ok;
    const auto response = attributes_of(client, url, asked.queue, code);
    if (!response) return code;
    JsonDom dom;
    const auto document = dom.parse(*response);
    const auto attributes = document ? document->member("Attributes") : std::nullopt;
    Printer printer(stdout, asked.output.format(), {"attribute", "value"});
    printer.add({
        .cells = {{"attribute", "QueueUrl"}, {"value", url}}
    });
    if (attributes) {
      for (const auto [name, value] : attributes->members())
        printer.add({
            .cells = {{"attribute", std::string(name)},
                      {"value", std::string(value.text().value_or(""))}}
        });
    }
    return printer.end();
  });
}

int set(const QueueOptions& asked, SqsClient& client) {
  return with_url(asked, client, [&](const std::string& url) -> int {
    int code = exit_ok;
    const auto settings = settings_of(asked, client, code);
    if (!settings) return code;
    if (settings->empty())
      return fail_with(exit_usage, "nothing to set. Add --set NAME=VALUE or --dead-letters QUEUE.");
    std::string body;
    JsonWriter json(body);
    json.begin_object();
    json.member("QueueUrl", std::string_view(url));
    write_map(json, "Attributes", *settings);
    json.end_object();
    const auto response = client.call("SetQueueAttributes", body);
    return response ? static_cast<int>(exit_ok) : explain_call(response.error(), asked.queue);
  });
}

// PurgeQueue or DeleteQueue, confirmed.
int destroy(const QueueOptions& asked, SqsClient& client, std::string_view action) {
  return with_url(asked, client, [&](const std::string& url) -> int {
    int code = exit_ok;
    const auto response = attributes_of(client, url, asked.queue, code);
    if (!response) return code;
    JsonDom dom;
    const auto document = dom.parse(*response);
    const std::int64_t messages = document ? all_messages_of(*document) : 0;
    const std::string owner = fmt::format("queue \"{}\"", asked.queue);
    if (!is_confirmed(asked.yes, {.owner = owner, .count = messages, .things = "messages"}))
      return exit_usage;
    const auto done = client.call(action, body_with("QueueUrl", url));
    return done ? static_cast<int>(exit_ok) : explain_call(done.error(), asked.queue);
  });
}

int purge(const QueueOptions& asked, SqsClient& client) {
  return destroy(asked, client, "PurgeQueue");
}
int remove_queue(const QueueOptions& asked, SqsClient& client) {
  return destroy(asked, client, "DeleteQueue");
}

void add_settings(Verb verb, QueueOptions& asked) {
  verb.option("--set", asked.settings,
              "An attribute by its name in SQS or with x-; repeat it for more")
      .value_name("NAME=VALUE")
      .join_repeats()
      .check(check_names_and_values);
  verb.option("--dead-letters", asked.dead_letters,
              "The dead-letter queue, by name or URL: sets RedrivePolicy")
      .value_name("QUEUE");
  verb.option("--max-receives", asked.max_receives,
              "With --dead-letters: receives before a message moves there")
      .check(whole_number(1, 1000))
      .show_default();
}

}  // namespace

void add_queue_command(CommandLine& line) {
  Verb verb = line.add_verb("queue", "Creates, lists, shows, changes, empties and deletes queues");
  verb.require_verb();
  const auto asked = std::make_shared<QueueOptions>();
  const auto add = [&](const char* name, const char* help,
                       int (*run)(const QueueOptions&, SqsClient&), bool named = true) {
    Verb action = verb.add_verb(name, help);
    if (named) action.option("QUEUE,--queue", asked->queue, "Name or URL of the queue").required();
    run_at_endpoint(action, asked, sqs_client::sqs_api, run);
    return action;
  };
  Verb created =
      add("create", "Creates a queue and prints its URL; NAME.fifo is a FIFO queue", create);
  add_settings(created, *asked);
  created.option("--tag", asked->tags, "A tag; repeat it for more")
      .value_name("NAME=VALUE")
      .join_repeats()
      .check(check_names_and_values);
  Verb listed = add("ls", "Lists the queues with the numbers of their messages", list, false);
  listed.option("--prefix", asked->prefix, "Only queues whose names begin so").value_name("TEXT");
  listed.flag("--names", asked->names, "Names alone: one call for 1000 queues");
  add_output(listed, asked->output, "{queue, visible, in_flight, delayed}");
  Verb shown = add("info", "Shows the attributes of a queue", show);
  add_output(shown, asked->output, "{attribute, value}");
  add_settings(add("set", "Changes attributes of a queue", set), *asked);
  add_confirmation(add("purge", "Deletes all messages of a queue", purge), asked->yes);
  add_confirmation(add("rm", "Deletes a queue and its messages", remove_queue), asked->yes);
  add_queue_apply(verb);
}

}  // namespace pawl

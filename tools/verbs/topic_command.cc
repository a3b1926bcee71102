// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "proto/text/json_dom.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/confirmation.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/input_file.h"
#include "tools/verbs/name_value.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/topic_calls.h"

namespace pawl {
namespace {

using sqs_client::QueryBody;
using sqs_client::SqsClient;

struct TopicOptions {
  EndpointOptions endpoint;
  std::string topic;  // a name or an ARN; for unsubscribe the ARN of a subscription too
  std::string queue;  // a name, a URL or an ARN
  std::string settings, tags, attributes;  // lines of NAME=VALUE
  std::string filter, filter_scope;
  std::string body, file, subject, group, deduplication;
  bool has_body = false;
  bool raw = false, names = false, yes = false;
  OutputOptions output;
};

QueryBody::Pairs topic_pairs(std::string_view lines) {
  QueryBody::Pairs pairs;
  for (const NameValue& pair : names_and_values(lines)) pairs.emplace_back(pair.name, pair.value);
  return pairs;
}

QueryBody with_topic(const std::string& arn) {
  QueryBody body;
  body.add("TopicArn", arn);
  return body;
}

// Calls act(ARN) for the ARN of the topic.
template <typename Act>
int with_arn(const TopicOptions& asked, SqsClient& client, Act&& act) {
  int code = exit_ok;
  const auto arn = arn_of_topic(client, asked.topic, code);
  return arn ? act(*arn) : code;
}

// Makes a call, and prints an element of its response if one is named.
int call_and_print(const TopicOptions& asked, SqsClient& client, std::string_view action,
                   const QueryBody& body, std::string_view element = {}) {
  int code = exit_ok;
  const auto response = call_sns(client, action, body, asked.topic, code);
  if (!response) return code;
  if (!element.empty())
    fmt::print("{}\n", response->text_at(fmt::format("{}Result/{}", action, element)));
  return exit_ok;
}

// --- topics ---

int create_topic(const TopicOptions& asked, SqsClient& client) {
  QueryBody::Pairs settings = topic_pairs(asked.settings);
  const bool says_fifo =
      std::ranges::any_of(settings, [](const auto& pair) { return pair.first == "FifoTopic"; });
  if (asked.topic.ends_with(".fifo") && !says_fifo) settings.emplace_back("FifoTopic", "true");
  QueryBody body;
  body.add("Name", asked.topic);
  body.add_pairs("Attributes.entry", "key", "value", settings);
  body.add_pairs("Tags.member", "Key", "Value", topic_pairs(asked.tags));
  return call_and_print(asked, client, "CreateTopic", body, "TopicArn");
}

int list_topics(const TopicOptions& asked, SqsClient& client) {
  Printer printer(stdout, asked.output.format(), {"topic", "subscriptions", "arn"});
  int failed = exit_ok;
  const int code = for_each_topic(client, [&](const std::string& arn) {
    Printer::Row row{.cells = {{"topic", name_of_arn(arn)}}};
    if (!asked.names) {
      const auto response =
          call_sns(client, "GetTopicAttributes", with_topic(arn), name_of_arn(arn), failed);
      if (!response) return false;
      const std::string count = value_in(attributes_in(*response), "SubscriptionsConfirmed");
      row.cells.push_back({"subscriptions", std::strtoll(count.c_str(), nullptr, 10)});
      row.cells.push_back({"arn", arn});
    }
    printer.add(row);
    return true;
  });
  if (failed != exit_ok) return failed;
  return code == exit_ok ? printer.end() : code;
}

int show_topic(const TopicOptions& asked, SqsClient& client) {
  return with_arn(asked, client, [&](const std::string& arn) -> int {
    int code = exit_ok;
    const auto response =
        call_sns(client, "GetTopicAttributes", with_topic(arn), asked.topic, code);
    if (!response) return code;
    Printer printer(stdout, asked.output.format(), {"attribute", "value"});
    for (const auto& [name, value] : attributes_in(*response))
      printer.add({
          .cells = {{"attribute", name}, {"value", value}}
      });
    return printer.end();
  });
}

int remove_topic(const TopicOptions& asked, SqsClient& client) {
  return with_arn(asked, client, [&](const std::string& arn) -> int {
    std::int64_t subscriptions = 0;
    int code = exit_ok;
    // DeleteTopic succeeds for a topic that does not exist; this call does not.
    if (!call_sns(client, "GetTopicAttributes", with_topic(arn), asked.topic, code)) return code;
    code = for_each_subscription(client, arn, [&](const TopicSubscription&) { ++subscriptions; });
    if (code != exit_ok) return code;
    const std::string owner = fmt::format("topic \"{}\"", asked.topic);
    if (!is_confirmed(asked.yes,
                      {.owner = owner, .count = subscriptions, .things = "subscriptions"}))
      return exit_usage;
    return call_and_print(asked, client, "DeleteTopic", with_topic(arn));
  });
}

// --- subscriptions ---

int subscribe_queue(const TopicOptions& asked, SqsClient& client) {
  if (!asked.filter_scope.empty() && asked.filter.empty())
    return fail_with(exit_usage, "--filter-scope says what --filter matches. Add --filter JSON.");
  return with_arn(asked, client, [&](const std::string& arn) -> int {
    QueryBody::Pairs attributes;
    if (asked.raw) attributes.emplace_back("RawMessageDelivery", "true");
    if (!asked.filter.empty()) attributes.emplace_back("FilterPolicy", asked.filter);
    if (!asked.filter_scope.empty())
      attributes.emplace_back("FilterPolicyScope", asked.filter_scope);
    QueryBody body = with_topic(arn);
    body.add("Protocol", "sqs");
    body.add("Endpoint", arn_of_endpoint(arn, asked.queue));
    body.add("ReturnSubscriptionArn", "true");
    body.add_pairs("Attributes.entry", "key", "value", attributes);
    return call_and_print(asked, client, "Subscribe", body, "SubscriptionArn");
  });
}

int unsubscribe_arn(const TopicOptions& asked, SqsClient& client, const std::string& arn) {
  CHECK(!arn.empty(), "no subscription of {}", asked.topic);
  QueryBody body;
  body.add("SubscriptionArn", arn);
  return call_and_print(asked, client, "Unsubscribe", body);
}

int unsubscribe_queue(const TopicOptions& asked, SqsClient& client) {
  if (is_subscription_arn(asked.topic) && asked.queue.empty())
    return unsubscribe_arn(asked, client, asked.topic);
  if (asked.queue.empty())
    return fail_with(exit_usage,
                     "name a topic and a queue, or give the ARN of a subscription alone; `pawl "
                     "topic subscriptions` shows them.");
  return with_arn(asked, client, [&](const std::string& arn) -> int {
    const std::string endpoint = arn_of_endpoint(arn, asked.queue);
    std::string found;
    const int code = for_each_subscription(client, arn, [&](const TopicSubscription& one) {
      if (one.endpoint == endpoint) found = one.arn;
    });
    if (code != exit_ok) return code;
    if (!found.empty()) return unsubscribe_arn(asked, client, found);
    return fail_with(exit_not_found,
                     fmt::format("queue \"{0}\" is not subscribed to topic \"{1}\". `pawl topic "
                                 "subscriptions {1}` lists its queues.",
                                 asked.queue, asked.topic));
  });
}

// Adds the row of a subscription, unless it was deleted meanwhile. Returns the exit code.
int add_subscription_row(SqsClient& client, const TopicSubscription& one, Printer& printer) {
  TopicAttributes attributes;
  if (is_subscription_arn(one.arn)) {
    QueryBody body;
    body.add("SubscriptionArn", one.arn);
    const auto response = client.call("GetSubscriptionAttributes", body.text());
    if (!response && response.error().code == "NotFound") return exit_ok;
    if (!response) return fail_with(exit_failure, response.error().text);
    if (const auto document = sqs_client::parse_xml(response->body))
      attributes = attributes_in(*document);
  }
  const bool queue = one.protocol == "sqs";
  printer.add({
      .cells = {{"topic", name_of_arn(one.topic_arn)},
                {"queue", queue ? name_of_arn(one.endpoint) : one.protocol + ":" + one.endpoint},
                {"raw", value_in(attributes, "RawMessageDelivery") == "true"},
                {"filter", value_in(attributes, "FilterPolicy")},
                {"scope", value_in(attributes, "FilterPolicyScope")},
                {"endpoint", one.endpoint},
                {"arn", one.arn}}
  });
  return exit_ok;
}

int list_subscriptions(const TopicOptions& asked, SqsClient& client) {
  std::string arn;
  int code = exit_ok;
  if (!asked.topic.empty()) {
    const auto found = arn_of_topic(client, asked.topic, code);
    if (!found) return code;
    arn = *found;
  }
  Printer printer(stdout, asked.output.format(), {"topic", "queue", "raw", "filter", "scope"});
  int failed = exit_ok;
  code = for_each_subscription(client, arn, [&](const TopicSubscription& one) {
    if (failed == exit_ok) failed = add_subscription_row(client, one, printer);
  });
  if (code == exit_ok) code = failed;
  return code == exit_ok ? printer.end() : code;
}

// --- messages ---

int publish(const TopicOptions& asked, SqsClient& client) {
  if (asked.has_body != asked.file.empty())
    return fail_with(exit_usage, "give one of BODY and --file FILE.");
  std::string message = asked.body;
  if (!asked.file.empty()) {
    auto content = content_of(asked.file);
    if (!content) return exit_failure;
    message = std::move(*content);
  }
  CHECK(asked.has_body || !asked.file.empty(), "no message for {}", asked.topic);
  return with_arn(asked, client, [&](const std::string& arn) -> int {
    QueryBody body = with_topic(arn);
    body.add("Message", message);
    if (!asked.subject.empty()) body.add("Subject", asked.subject);
    if (!asked.group.empty()) body.add("MessageGroupId", asked.group);
    if (!asked.deduplication.empty()) body.add("MessageDeduplicationId", asked.deduplication);
    std::size_t number = 0;
    for (const NameValue& pair : names_and_values(asked.attributes)) {
      const std::string entry = fmt::format("MessageAttributes.entry.{}.", ++number);
      body.add(entry + "Name", pair.name);
      body.add(entry + "Value.DataType", "String");
      body.add(entry + "Value.StringValue", pair.value);
    }
    return call_and_print(asked, client, "Publish", body, "MessageId");
  });
}

// --- the command line ---

std::string check_policy(const std::string& text) {
  JsonDom dom;
  const auto document = dom.parse(text);
  if (document && document->is_object()) return {};
  return fmt::format(
      "\"{}\" is no JSON object, such as {{\"colour\":[\"red\"]}}. Put it in single quotes.", text);
}

std::string check_filter_scope(const std::string& text) {
  if (text == "MessageAttributes" || text == "MessageBody") return {};
  return fmt::format("\"{}\" is no scope of a filter: write MessageAttributes or MessageBody.",
                     text);
}

using TopicFunction = int (*)(const TopicOptions&, SqsClient&);
using TopicAsked = std::shared_ptr<TopicOptions>;

Verb add_topic_verb(Verb topic, const TopicAsked& asked, const char* name, const char* help,
                    TopicFunction run) {
  Verb verb = topic.add_verb(name, help);
  run_at_endpoint(verb, asked, sqs_client::sns_api, run);
  return verb;
}

Option add_topic_name(Verb verb, const TopicAsked& asked,
                      const char* help = "Name or ARN of the topic") {
  return verb.option("TOPIC,--topic", asked->topic, help);
}

Option add_pairs(Verb verb, const char* flag, std::string& lines, const char* help) {
  return verb.option(flag, lines, help)
      .value_name("NAME=VALUE")
      .join_repeats()
      .check(check_names_and_values);
}

void add_topic_verbs(Verb topic, const TopicAsked& asked) {
  Verb created =
      add_topic_verb(topic, asked, "create",
                     "Creates a topic and prints its ARN; NAME.fifo is a FIFO topic", create_topic);
  add_topic_name(created, asked, "Name of the topic").required();
  add_pairs(created, "--set", asked->settings,
            "An attribute by its name in SNS; repeat it for more");
  add_pairs(created, "--tag", asked->tags, "A tag; repeat it for more");
  Verb listed = add_topic_verb(topic, asked, "ls", "Lists the topics", list_topics);
  listed.flag("--names", asked->names, "Names alone: one call for 100 topics");
  add_output(listed, asked->output, "{topic, subscriptions, arn}");
  Verb shown = add_topic_verb(topic, asked, "info", "Shows the attributes of a topic", show_topic);
  add_topic_name(shown, asked).required();
  add_output(shown, asked->output, "{attribute, value}");
  Verb removed =
      add_topic_verb(topic, asked, "rm", "Deletes a topic and its subscriptions", remove_topic);
  add_topic_name(removed, asked).required();
  add_confirmation(removed, asked->yes);
}

void add_subscription_verbs(Verb topic, const TopicAsked& asked) {
  const char* const queue = "Name, URL or ARN of the queue; a name is one of the topic's account";
  Verb subscribed = add_topic_verb(topic, asked, "subscribe",
                                   "Sends the messages of a topic to a queue too; prints the "
                                   "subscription's ARN",
                                   subscribe_queue);
  add_topic_name(subscribed, asked).required();
  subscribed.option("QUEUE,--queue", asked->queue, queue).required();
  subscribed.flag("--raw", asked->raw, "Send the message alone, without SNS's envelope");
  subscribed.option("--filter", asked->filter, "Filter policy: send only messages that match")
      .value_name("JSON")
      .check(check_policy);
  subscribed
      .option("--filter-scope", asked->filter_scope,
              "The part of a message that --filter matches: MessageAttributes (the default) or "
              "MessageBody")
      .value_name("SCOPE")
      .check(check_filter_scope);
  Verb ended = add_topic_verb(topic, asked, "unsubscribe", "Ends the subscription of a queue",
                              unsubscribe_queue);
  add_topic_name(ended, asked, "Name or ARN of the topic, or the ARN of a subscription alone")
      .required();
  ended.option("QUEUE,--queue", asked->queue, queue);
  Verb listed = add_topic_verb(topic, asked, "subscriptions",
                               "Lists the queues that are subscribed to a topic, or to any",
                               list_subscriptions);
  add_topic_name(listed, asked);
  add_output(listed, asked->output, "{topic, queue, raw, filter, scope, endpoint, arn}");
}

void add_publish(Verb topic, const TopicAsked& asked) {
  Verb verb = topic.add_verb("publish", "Sends a message to the subscribed queues");
  add_endpoint(verb, asked->endpoint);
  add_topic_name(verb, asked).required();
  const Option body = verb.option("BODY,--body", asked->body, "The message");
  verb.option("--file", asked->file, "A file with the message; - is the standard input")
      .value_name("FILE");
  verb.option("--subject", asked->subject, "Subject, a member of SNS's envelope")
      .value_name("TEXT");
  verb.option("--group", asked->group, "MessageGroupId").value_name("GROUP");
  verb.option("--deduplication", asked->deduplication, "MessageDeduplicationId").value_name("ID");
  add_pairs(verb, "--attribute", asked->attributes,
            "A message attribute of type String; repeat it for more");
  verb.on_given([asked, body] {
    asked->has_body = body.given();
    auto client = open_endpoint(asked->endpoint, sqs_client::sns_api);
    return client ? publish(*asked, *client) : static_cast<int>(exit_usage);
  });
}

}  // namespace

void add_topic_command(CommandLine& line) {
  Verb verb = line.add_verb("topic",
                            "Creates, lists, shows and deletes topics of SNS; subscribes "
                            "queues, publishes messages");
  verb.require_verb();
  const auto asked = std::make_shared<TopicOptions>();
  add_topic_verbs(verb, asked);
  add_subscription_verbs(verb, asked);
  add_publish(verb, asked);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/topic_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "proto/text/text.h"
#include "tools/command_line.h"
#include "tools/verbs/queue_calls.h"

namespace pawl {
namespace {

using sqs_client::CallError;
using sqs_client::QueryBody;
using sqs_client::SqsClient;
using sqs_client::XmlElement;

constexpr std::size_t subscription_colons = 6;

int explain_sns(const CallError& error, std::string_view topic) {
  CHECK(!error.text.empty(), "an error without a text, kind {}", static_cast<int>(error.kind));
  const bool missing = error.code == "NotFound" || error.code == "NotFoundException";
  if (missing && !topic.empty())
    return fail_with(exit_not_found,
                     fmt::format("there is no topic \"{}\". Name a topic, or give its ARN; `pawl "
                                 "topic ls` lists them.",
                                 topic));
  return fail_with(missing ? exit_not_found : exit_failure, error.text);
}

std::size_t colons_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, ':'));
}

// Calls act(element) for each of a list that comes in pages.
int for_each_member(SqsClient& client, std::string_view action, std::string_view list,
                    std::string_view topic_arn, const std::function<bool(const XmlElement&)>& act) {
  CHECK(act != nullptr && !list.empty(), "nothing to do with the list of {}", action);
  std::string token;
  do {
    QueryBody body;
    if (!topic_arn.empty()) body.add("TopicArn", topic_arn);
    if (!token.empty()) body.add("NextToken", token);
    int code = exit_ok;
    const auto response = call_sns(client, action, body, name_of_arn(topic_arn), code);
    if (!response) return code;
    const std::string result = std::string(action) + "Result";
    const XmlElement* const members = response->at(result + "/" + std::string(list));
    if (members == nullptr) break;
    for (const XmlElement& member : members->children)
      if (!act(member)) return exit_ok;
    token = response->text_at(result + "/NextToken");
  } while (!token.empty());
  return exit_ok;
}

}  // namespace

std::optional<XmlElement> call_sns(SqsClient& client, std::string_view action,
                                   const QueryBody& body, std::string_view topic, int& code) {
  CHECK(!action.empty(), "a call without an action");
  const auto response = client.call(action, body.text());
  if (!response) {
    code = explain_sns(response.error(), topic);
    return std::nullopt;
  }
  auto document = sqs_client::parse_xml(response->body);
  if (document && document->name == std::string(action) + "Response") return document;
  code = fail_with(
      exit_failure,
      fmt::format("the response to {} is not that of SNS. Does --url name an SNS endpoint?",
                  action));
  return std::nullopt;
}

std::optional<std::string> arn_of_topic(SqsClient& client, const std::string& topic, int& code) {
  if (topic.starts_with("arn:")) return topic;
  std::string found;
  code = for_each_topic(client, [&](const std::string& arn) {
    if (name_of_arn(arn) == topic) found = arn;
    return found.empty();
  });
  if (code != exit_ok) return std::nullopt;
  if (!found.empty()) return found;
  code = explain_sns({.kind = sqs_client::ErrorKind::refused, .code = "NotFound", .text = topic},
                     topic);
  return std::nullopt;
}

std::string arn_of_endpoint(std::string_view topic_arn, std::string_view queue) {
  if (queue.starts_with("arn:")) return std::string(queue);
  std::string_view scope = topic_arn.substr(0, topic_arn.rfind(':'));
  const std::size_t service = scope.find(":sns:");
  std::string arn(scope.substr(0, service));
  if (service != scope.npos) scope.remove_prefix(service + std::string_view(":sns:").size());
  const std::size_t slash = queue.rfind('/');
  if (slash == queue.npos) return fmt::format("{}:sqs:{}:{}", arn, scope, queue);
  // A URL ends in the account and the name.
  std::string_view account = queue.substr(0, slash);
  account.remove_prefix(std::min(account.rfind('/') + 1, account.size()));
  const std::string_view region = scope.substr(0, scope.find(':'));
  const std::string_view own = scope.substr(std::min(region.size() + 1, scope.size()));
  return fmt::format("{}:sqs:{}:{}:{}", arn, region, is_account_id(account) ? account : own,
                     queue.substr(slash + 1));
}

bool is_subscription_arn(std::string_view arn) {
  return arn.starts_with("arn:") && colons_in(arn) == subscription_colons;
}

TopicAttributes attributes_in(const XmlElement& response) {
  TopicAttributes attributes;
  const XmlElement* const map =
      response.children.empty() ? nullptr : response.children.front().child("Attributes");
  if (map == nullptr) return attributes;
  for (const XmlElement& entry : map->children)
    attributes.emplace_back(entry.text_at("key"), entry.text_at("value"));
  std::ranges::sort(attributes);
  return attributes;
}

std::string value_in(const TopicAttributes& attributes, std::string_view name) {
  CHECK(!name.empty(), "the value of no attribute");
  const auto found = std::ranges::find(attributes, name, &TopicAttributes::value_type::first);
  return found == attributes.end() ? std::string() : found->second;
}

int for_each_topic(SqsClient& client, const std::function<bool(const std::string& arn)>& act) {
  CHECK(act != nullptr, "nothing to do with topics");
  return for_each_member(client, "ListTopics", "Topics", "",
                         [&](const XmlElement& member) { return act(member.text_at("TopicArn")); });
}

int for_each_subscription(SqsClient& client, const std::string& topic_arn,
                          const std::function<void(const TopicSubscription&)>& act) {
  CHECK(act != nullptr, "nothing to do with subscriptions of {}", topic_arn);
  const char* const action = topic_arn.empty() ? "ListSubscriptions" : "ListSubscriptionsByTopic";
  return for_each_member(client, action, "Subscriptions", topic_arn, [&](const XmlElement& member) {
    act({.arn = member.text_at("SubscriptionArn"),
         .topic_arn = member.text_at("TopicArn"),
         .protocol = member.text_at("Protocol"),
         .endpoint = member.text_at("Endpoint")});
    return true;
  });
}

}  // namespace pawl

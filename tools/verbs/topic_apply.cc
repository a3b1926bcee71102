// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/topic_apply.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "net/sqs_client/xml_element.h"
#include "tools/command_line.h"
#include "tools/verbs/apply_values.h"
#include "tools/verbs/queue_calls.h"

namespace pawl {
namespace {

using sqs_client::QueryBody;
using sqs_client::XmlElement;

constexpr std::string_view fifo_topic = "FifoTopic";

QueryBody body_of(std::string_view name, std::string_view value) {
  QueryBody body;
  body.add(name, value);
  return body;
}

// In the order in which they can be set: the scope of a filter policy before the policy.
std::vector<DeclaredValue> ordered_attributes(const DeclaredRow& row) {
  std::vector<DeclaredValue> ordered = row.attributes;
  const auto scope = std::ranges::find(ordered, "FilterPolicyScope", &DeclaredValue::key);
  if (scope != ordered.end()) std::rotate(ordered.begin(), scope, scope + 1);
  return ordered;
}

bool declares_topic(const DeclaredRows& rows, const std::string& name) {
  return std::ranges::any_of(rows, [&](const DeclaredRow& row) {
    return row.kind == DeclaredKind::topic && row.name == name;
  });
}

}  // namespace

int TopicPlan::compare(const DeclaredRows& rows) {
  CHECK(planned_.empty(), "{} rows are compared already", planned_.size());
  for (const DeclaredKind kind : {DeclaredKind::topic, DeclaredKind::subscription})
    for (const DeclaredRow& row : rows)
      if (row.kind == kind) planned_.push_back({.row = &row});
  if (planned_.empty()) return exit_ok;
  int code = for_each_topic(client_, [&](const std::string& arn) {
    arns_[name_of_arn(arn)] = arn;
    return true;
  });
  for (PlannedTopic& planned : planned_) {
    if (code != exit_ok) break;
    code = planned.is_subscription() ? compare_subscription(planned, rows) : compare_topic(planned);
  }
  return code;
}

int TopicPlan::compare_topic(PlannedTopic& planned) {
  const DeclaredRow& row = *planned.row;
  const auto found = arns_.find(row.name);
  planned.is_new = found == arns_.end();
  if (!planned.is_new) {
    planned.arn = found->second;
    const int code = compare_attributes(planned, "GetTopicAttributes", "TopicArn");
    return code == exit_ok ? compare_tags(planned) : code;
  }
  for (const DeclaredValue& one : row.attributes)
    planned.attributes.emplace_back(one.key, one.value);
  if (row.is_fifo() && row.find(fifo_topic) == nullptr)
    planned.attributes.emplace_back(fifo_topic, "true");
  for (const DeclaredValue& tag : row.tags) planned.tags.emplace_back(tag.key, tag.value);
  return exit_ok;
}

int TopicPlan::compare_attributes(PlannedTopic& planned, std::string_view action,
                                  std::string_view parameter) {
  CHECK(!planned.arn.empty(), "the attributes of no {}", describe(*planned.row));
  int code = exit_ok;
  const auto response =
      call_sns(client_, action, body_of(parameter, planned.arn), planned.row->name, code);
  if (!response) return code;
  const TopicAttributes attributes = attributes_in(*response);
  for (const DeclaredValue& one : ordered_attributes(*planned.row)) {
    const std::string has = value_in(attributes, one.key);
    if (is_same_attribute(one.key, has, one.value)) continue;
    if (one.key == fifo_topic)
      return refuse_row(one.where, fmt::format("the type of {} cannot change. Choose another name.",
                                               describe(*planned.row)));
    planned.attributes.emplace_back(one.key, one.value);
    planned.changes.push_back(change_text(one.key, has, one.value));
  }
  return exit_ok;
}

int TopicPlan::compare_tags(PlannedTopic& planned) {
  CHECK(!planned.is_subscription(), "the tags of a {}", describe(*planned.row));
  if (planned.row->tags.empty()) return exit_ok;
  int code = exit_ok;
  const auto response = call_sns(client_, "ListTagsForResource",
                                 body_of("ResourceArn", planned.arn), planned.row->name, code);
  if (!response) return code;
  std::map<std::string, std::string> there;
  if (const XmlElement* const tags = response->at("ListTagsForResourceResult/Tags"))
    for (const XmlElement& tag : tags->children) there[tag.text_at("Key")] = tag.text_at("Value");
  for (const DeclaredValue& tag : planned.row->tags) {
    if (there[tag.key] == tag.value) continue;
    planned.tags.emplace_back(tag.key, tag.value);
    planned.changes.push_back(change_text("tag " + tag.key, there[tag.key], tag.value));
  }
  return exit_ok;
}

int TopicPlan::compare_subscription(PlannedTopic& planned, const DeclaredRows& rows) {
  const DeclaredRow& row = *planned.row;
  const auto topic = arns_.find(row.name);
  if (topic == arns_.end() && !declares_topic(rows, row.name))
    return refuse_row(row.where,
                      fmt::format("topic = {}: the endpoint has no such topic, and the file "
                                  "declares none. Declare it, or correct the name.",
                                  row.name));
  if (topic != arns_.end()) {
    const int code =
        for_each_subscription(client_, topic->second, [&](const TopicSubscription& one) {
          if (one.endpoint == row.endpoint) planned.arn = one.arn;
        });
    if (code != exit_ok) return code;
  }
  planned.is_new = planned.arn.empty();
  if (!planned.is_new)
    return compare_attributes(planned, "GetSubscriptionAttributes", "SubscriptionArn");
  for (const DeclaredValue& one : row.attributes)
    planned.attributes.emplace_back(one.key, one.value);
  return exit_ok;
}

int TopicPlan::carry_out() {
  int code = exit_ok;
  for (PlannedTopic& planned : planned_) {
    if (code != exit_ok) break;
    code = planned.is_new ? make(planned) : change(planned);
  }
  return code;
}

int TopicPlan::make(PlannedTopic& planned) {
  const DeclaredRow& row = *planned.row;
  QueryBody body;
  if (!planned.is_subscription()) {
    body.add("Name", row.name);
    body.add_pairs("Attributes.entry", "key", "value", planned.attributes);
    body.add_pairs("Tags.member", "Key", "Value", planned.tags);
    return call(planned, "CreateTopic", body, "CreateTopicResult/TopicArn", &arns_[row.name]);
  }
  body.add("TopicArn", arns_[row.name]);
  body.add("Protocol", "sqs");
  body.add("Endpoint", row.endpoint);
  body.add_pairs("Attributes.entry", "key", "value", planned.attributes);
  return call(planned, "Subscribe", body);
}

int TopicPlan::change(const PlannedTopic& planned) {
  CHECK(!planned.arn.empty(), "no {} to change", describe(*planned.row));
  const bool subscription = planned.is_subscription();
  int code = exit_ok;
  for (const auto& [name, value] : planned.attributes) {
    if (code != exit_ok) return code;
    QueryBody body = body_of(subscription ? "SubscriptionArn" : "TopicArn", planned.arn);
    body.add("AttributeName", name);
    body.add("AttributeValue", value);
    code = call(planned, subscription ? "SetSubscriptionAttributes" : "SetTopicAttributes", body);
  }
  if (code != exit_ok || planned.tags.empty()) return code;
  QueryBody body = body_of("ResourceArn", planned.arn);
  body.add_pairs("Tags.member", "Key", "Value", planned.tags);
  return call(planned, "TagResource", body);
}

// Makes a call, and sets `text` to the element at the path.
int TopicPlan::call(const PlannedTopic& planned, std::string_view action, const QueryBody& body,
                    std::string_view path, std::string* text) {
  const auto response = client_.call(action, body.text());
  if (!response) return refuse_row(planned.row->where, response.error().text);
  if (text == nullptr) return exit_ok;
  const auto document = sqs_client::parse_xml(response->body);
  *text = document ? document->text_at(path) : std::string();
  return text->empty() ? refuse_row(planned.row->where,
                                    fmt::format("the response to {} has no {}.", action, path))
                       : static_cast<int>(exit_ok);
}

}  // namespace pawl

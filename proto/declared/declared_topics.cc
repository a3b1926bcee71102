// SPDX-License-Identifier: Apache-2.0
// The plan of declared topics and subscriptions.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "proto/aws/arn.h"
#include "proto/declared/declared_planner.h"
#include "proto/sns/topic.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

void add_entries(Pairs& form, std::string_view list, std::string_view key, std::string_view value,
                 const DeclaredValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    form.emplace_back(fmt::format("{}.{}.{}", list, i + 1, key), values[i].key);
    form.emplace_back(fmt::format("{}.{}.{}", list, i + 1, value), values[i].value);
  }
}

// Whether SNS would keep the attribute as it is. An unset one has its default.
bool same_sns_value(std::string_view name, std::string_view has, std::string_view wants) {
  if (has == wants || (!has.empty() && same_json(has, wants))) return true;
  if (equals_ignoring_case(has, wants)) return has == "true" || has == "false";
  if (!has.empty()) return false;
  return equals_ignoring_case(wants, "false") ||
         (name == "FilterPolicyScope" && wants == "MessageAttributes") ||
         (name == "SignatureVersion" && wants == "1") ||
         (name == "TracingConfig" && wants == "PassThrough") ||
         (name == "FilterPolicy" && wants == "{}");
}

}  // namespace

std::string declared_form(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string form;
  const auto append = [&form](std::string_view text) {
    for (const char c : text) {
      const bool plain =
          (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == '.' || c == '-';
      if (plain)
        form += c;
      else
        form += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  };
  for (const auto& [key, value] : parameters) {
    if (!form.empty()) form += '&';
    append(key);
    form += '=';
    append(value);
  }
  return form;
}

std::string DeclaredPlanner::topic_arn(const DeclaredRow& row) const {
  return fmt::format("arn:aws:sns:{}:{}:{}", settings_.region, row.account, row.name);
}

void DeclaredPlanner::put_new_topic(const DeclaredRow& row) {
  CHECK(row.kind == DeclaredKind::topic, "{} is no topic", describe(row));
  SnsTopic topic;
  if (row.is_fifo()) set_value(topic.attributes, "FifoTopic", "true");
  QueueConfig planned = planned_row(topic_account(row.account), row.name);
  planned.apply({Attribute::topic, -1, topic.json()});
  put(std::move(planned));
}

bool DeclaredPlanner::plan_topic(const DeclaredRow& row) {
  const DeclaredValue* const type = row.find("FifoTopic");
  if (type != nullptr && equals_ignoring_case(type->value, "true") != row.is_fifo()) {
    if (there_.find(topic_account(row.account), row.name) == nullptr) put_new_topic(row);
    return refuse(type->where,
                  fmt::format("FifoTopic = {} of {}: the name decides the type of a topic: that of "
                              "a FIFO topic ends in .fifo. Change the name, or remove this key.",
                              type->value, describe(row)));
  }
  const ConfigPtr* const there = there_.find(topic_account(row.account), row.name);
  Pairs form;
  if (there == nullptr) {
    DeclaredValues values = row.attributes;
    if (row.is_fifo() && type == nullptr) values.push_back({"FifoTopic", "true", row.where});
    form.emplace_back("Name", row.name);
    add_entries(form, "Attributes.entry", "key", "value", values);
    add_entries(form, "Tags.member", "Key", "Value", row.tags);
    add(make, row, "CreateTopic", declared_form(form));
    put_new_topic(row);
    return true;
  }
  const auto topic = topic_of(*there);
  for (const DeclaredValue& one : row.attributes) {
    if (&one == type || same_sns_value(one.key, value_of(topic->attributes, one.key), one.value))
      continue;
    add(make, row, "SetTopicAttributes",
        declared_form({
            {"TopicArn",       topic_arn(row)},
            {"AttributeName",  one.key       },
            {"AttributeValue", one.value     }
    }),
        one.where);
  }
  const DeclaredValues tags = missing_tags(row, **there);
  if (tags.empty()) return true;
  form.emplace_back("ResourceArn", topic_arn(row));
  add_entries(form, "Tags.member", "Key", "Value", tags);
  add(make, row, "TagResource", declared_form(form));
  return true;
}

bool DeclaredPlanner::plan_subscription(const DeclaredRow& row) {
  const ConfigPtr* const planned = plan_.planned.find(topic_account(row.account), row.name);
  if (planned == nullptr) {
    return refuse(row.where, fmt::format("topic = {}: account {} has no such topic. Declare it as "
                                         "[[topic]] too, or correct its name.",
                                         row.name, row.account));
  }
  const auto arn = parse_arn(row.endpoint);
  if (!arn || arn->service != "sqs" || find_queue(plan_.planned, *arn) == nullptr) {
    return refuse(row.where, fmt::format("endpoint = {}: there is no such queue. Allowed: the name "
                                         "or the ARN of a queue. Declare it as [[queue]] too, or "
                                         "correct its name.",
                                         row.endpoint));
  }
  const auto topic = topic_of(*planned);
  const auto found =
      std::ranges::find(topic->subscriptions, row.endpoint, &SnsSubscription::endpoint);
  if (found == topic->subscriptions.end()) {
    Pairs form{
        {"TopicArn", topic_arn(row)},
        {"Protocol", "sqs"         },
        {"Endpoint", row.endpoint  }
    };
    add_entries(form, "Attributes.entry", "key", "value", row.attributes);
    add(connect, row, "Subscribe", declared_form(form));
    return true;
  }
  for (const DeclaredValue& one : row.attributes) {
    if (same_sns_value(one.key, value_of(found->attributes, one.key), one.value)) continue;
    add(connect, row, "SetSubscriptionAttributes",
        declared_form({
            {"SubscriptionArn", topic_arn(row) + ":" + found->id},
            {"AttributeName",   one.key                         },
            {"AttributeValue",  one.value                       }
    }),
        one.where);
  }
  return true;
}

}  // namespace pawl

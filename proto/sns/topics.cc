// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <algorithm>

#include "proto/aws/message_rules.h"
#include "proto/aws/tags.h"
#include "proto/errors/sqs_errors.h"
#include "proto/sns/call.h"
#include "proto/sns/state.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"

namespace pawl::sns {
namespace {

using F = SnsFault;
using Next = CallStep;
using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view fifo_suffix = ".fifo";
constexpr std::size_t display_name_max = 100;

enum class Kind : std::uint8_t { text, truth, json };

// A topic attribute. pawl stores and returns it; proto/DIFFERENCES.md lists those without effect.
struct Row {
  std::string_view name;
  Kind kind;
  bool fifo_only = false;
  std::string_view without = {};  // the value when not set
};
constexpr Row rows[] = {
    {"ContentBasedDeduplication", Kind::truth, true,  "false"      },
    {"DeliveryPolicy",            Kind::json,  false, ""           },
    {"DisplayName",               Kind::text,  false, ""           },
    {"FifoThroughputScope",       Kind::text,  true,  ""           },
    {"FifoTopic",                 Kind::truth, false, "false"      },
    {"KmsMasterKeyId",            Kind::text,  false, ""           },
    {"Policy",                    Kind::json,  false, ""           },
    {"SignatureVersion",          Kind::text,  false, "1"          },
    {"TracingConfig",             Kind::text,  false, "PassThrough"},
};

bool check_attribute(SnsState& s, std::string_view name, std::string& value, bool fifo) {
  const auto* const row = std::ranges::find(rows, name, &Row::name);
  if (row == std::end(rows)) {
    return s.refusal.parameter("Attributes Reason: Unknown attribute: {}", shown(name));
  }
  if (row->fifo_only && !fifo) {
    return s.refusal.parameter("{} can only be set for FIFO topics", name);
  }
  if (row->kind == Kind::truth) {
    std::ranges::transform(value, value.begin(), lower);
    if (value == "true" || value == "false") return true;
    return s.refusal.parameter("{}: must be true or false", name);
  }
  if (name == "DisplayName" && value.size() > display_name_max) {
    return s.refusal.parameter("DisplayName: must be at most {} characters", display_name_max);
  }
  if (!check_value(s, name, value)) return false;
  std::string compact;
  return row->kind != Kind::json || value.empty() || compact_json_object(value, "", compact) ||
         s.refusal.parameter("{}: failed to parse JSON", name);
}

bool has(const SnsAttributes& attributes, std::string_view name, std::string_view value) {
  const std::string_view is = value_of(attributes, name);
  return (is.empty() ? std::ranges::find(rows, name, &Row::name)->without : is) == value;
}

bool read_topic(SnsState& s, const Form& form, std::string_view name, SnsTopic& topic,
                Pairs& given) {
  if (!read_pairs(s, form, "Attributes.entry", "key", "value", given)) return false;
  const bool fifo = std::ranges::any_of(given, [](const auto& pair) {
    return pair.first == "FifoTopic" && equals_ignoring_case(pair.second, "true");
  });
  if (!good_resource_name(name, topic_name_max) || fifo != name.ends_with(fifo_suffix)) {
    return fifo ? s.refusal.parameter(
                      "Fifo Topic names must end with .fifo and must be made up of only uppercase "
                      "and lowercase ASCII letters, numbers, underscores, and hyphens, and must be "
                      "between 1 and 256 characters long.")
                : s.refusal.parameter("Topic Name");
  }
  for (auto& [attribute, value] : given) {
    if (!check_attribute(s, attribute, value, fifo)) return false;
    set_value(topic.attributes, attribute, value);
  }
  return true;
}

bool read_tags(SnsState& s, const Form& form, Pairs& given) {
  if (!read_pairs(s, form, "Tags.member", "Key", "Value", given)) return false;
  Refusal refusal;
  for (const auto& [key, value] : given) {
    if (!check_tag(key, value, refusal)) return s.refusal.parameter("{}", refusal.text);
  }
  return true;
}

bool add_tags(SnsState& s, const Pairs& given, Tags& tags) {
  for (const auto& [key, value] : given) put_tag(tags, key, value);
  return tags.size() <= tags_max ||
         s.refusal.because(F::tag_limit,
                           "Could not complete request: tag quota of per resource "
                           "exceeded");
}

// Refuses CreateTopic if the existing topic differs in a given attribute or in a given tag.
bool check_same(SnsState& s, const QueueConfig& row, const Pairs& given, const Tags& tags) {
  const SnsTopic topic = SnsTopic::from(row);
  for (const auto& [name, value] : given) {
    if (has(topic.attributes, name, value)) continue;
    return s.refusal.parameter("Attributes Reason: Topic already exists with different attributes");
  }
  const bool has_all = std::ranges::all_of(
      tags, [&](const auto& tag) { return std::ranges::find(row.tags, tag) != row.tags.end(); });
  return has_all || s.refusal.parameter("Tags Reason: Topic already exists with different tags");
}

void write_topic_arn(SnsState& s) { s.answer().element("TopicArn", s.topic_arn); }

// As AWS answers for a topic without one.
constexpr std::string_view default_delivery_policy =
    R"({"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,)"
    R"("numRetries":3,"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,)"
    R"("backoffFunction":"linear"},"disableSubscriptionOverrides":false,"defaultRequestPolicy":)"
    R"({"headerContentType":"text/plain; charset=UTF-8"}}})";

bool find_resource(SnsState& s, const Form& form) {
  std::string_view arn;
  if (!need(s, form, "ResourceArn", arn) || !find_topic(s, arn)) return false;
  s.answer();
  return true;
}

}  // namespace

std::string default_policy(const SnsState& s) {
  return fmt::format(
      R"({{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{{)"
      R"("Sid":"__default_statement_ID","Effect":"Allow","Principal":{{"AWS":"*"}},"Action":[)"
      R"("SNS:GetTopicAttributes","SNS:SetTopicAttributes","SNS:AddPermission",)"
      R"("SNS:RemovePermission","SNS:DeleteTopic","SNS:Subscribe",)"
      R"("SNS:ListSubscriptionsByTopic","SNS:Publish"],"Resource":"{}","Condition":)"
      R"({{"StringEquals":{{"AWS:SourceOwner":"{}"}}}}}}]}})",
      s.topic_arn, s.account);
}

Next create_topic(SnsState& s, const Form& form) {
  const std::string name(text_of(form, "Name"));
  SnsTopic topic;
  Pairs given, tags;
  s.spec = {};
  if (!read_topic(s, form, name, topic, given) || !read_tags(s, form, tags) ||
      !add_tags(s, tags, s.spec.tags)) {
    return Next::respond;
  }
  s.topic_arn = topic_arn_of(s, s.account, name);
  write_topic_arn(s);
  s.spec.account = topic_account(s.account);
  s.spec.name = name;
  if (const ConfigPtr* row = s.directory->find(s.spec.account, name)) {
    (void)check_same(s, **row, given, s.spec.tags);
    return Next::respond;
  }
  AttributeChange change{Attribute::topic, -1, topic.json()};
  if (!check_size(s, change.text.size())) return Next::respond;
  s.spec.changes.push_back(std::move(change));
  s.request = {};
  s.request.op = Op::create_queue;
  s.request.spec = &s.spec;
  s.if_exists = [&s, given](const QueueConfig& row) {
    (void)check_same(s, row, given, s.spec.tags);
  };
  return s.route_to_control();
}

Next delete_topic(SnsState& s, const Form& form) {
  std::string_view arn;
  if (!need(s, form, "TopicArn", arn)) return Next::respond;
  if (!find_topic(s, arn)) {
    if (s.refusal.fault == F::not_found) s.refusal = {};  // deleting a missing topic succeeds
    return Next::respond;
  }
  s.request = {};
  s.request.op = Op::delete_queue;
  s.request.queue = s.row->id;
  s.may_be_gone = true;
  return s.route_to_control();
}

// A NextToken is the name of the last topic on the page.
Next list_topics(SnsState& s, const Form& form) {
  const auto rows_found = s.directory->list(topic_account(s.account), "",
                                            text_of(form, "NextToken"), SnsCall::page_max + 1);
  XmlWriter xml = s.answer();
  xml.open("Topics");
  for (std::size_t i = 0; i < std::min(rows_found.size(), SnsCall::page_max); ++i) {
    xml.open("member");
    xml.element("TopicArn", topic_arn_of(s, s.account, rows_found[i]->name));
    xml.close("member");
  }
  xml.close("Topics");
  if (rows_found.size() > SnsCall::page_max) {
    xml.element("NextToken", rows_found[SnsCall::page_max - 1]->name);
  }
  return Next::respond;
}

Next get_topic_attributes(SnsState& s, const Form& form) {
  std::string_view arn;
  if (!need(s, form, "TopicArn", arn) || !find_topic(s, arn)) return Next::respond;
  const auto topic = topic_of(s.row);
  SnsAttributes out = topic->attributes;
  const auto fill = [&](std::string_view name, std::string_view value) {
    if (value_of(out, name).empty()) set_value(out, name, value);
  };
  fill("TopicArn", s.topic_arn);
  fill("Owner", s.account);
  fill("SubscriptionsConfirmed", std::to_string(topic->subscriptions.size()));
  fill("SubscriptionsPending", "0");
  fill("SubscriptionsDeleted", "0");
  fill("EffectiveDeliveryPolicy", value_of(topic->attributes, "DeliveryPolicy"));
  fill("EffectiveDeliveryPolicy", default_delivery_policy);
  fill("Policy", default_policy(s));
  if (topic->is_fifo()) fill("ContentBasedDeduplication", "false");
  if (!topic->is_fifo()) set_value(out, "FifoTopic", "");
  set_value(out, "DataProtectionPolicy", "");  // has an action of its own
  if (value_of(out, "DisplayName").empty()) out.insert(out.begin(), {"DisplayName", ""});
  write_attributes(s, out);
  return Next::respond;
}

Next set_topic_attributes(SnsState& s, const Form& form) {
  std::string_view arn, name;
  if (!need(s, form, "TopicArn", arn) || !need(s, form, "AttributeName", name) ||
      !find_topic(s, arn)) {
    return Next::respond;
  }
  std::string value(text_of(form, "AttributeValue"));
  if (name == "FifoTopic") {
    s.refusal.parameter("AttributeName");
    return Next::respond;
  }
  if (!check_attribute(s, name, value, topic_of(s.row)->is_fifo())) return Next::respond;
  return change_topic(s, [name = std::string(name), value](SnsTopic& topic) {
    set_value(topic.attributes, name, value);
    return true;
  });
}

Next tag_resource(SnsState& s, const Form& form) {
  Pairs given;
  if (!find_resource(s, form) || !read_tags(s, form, given)) return Next::respond;
  return change_tags(s, [&s, given](Tags& tags) { return add_tags(s, given, tags); });
}

Next untag_resource(SnsState& s, const Form& form) {
  if (!find_resource(s, form)) return Next::respond;
  std::vector<std::uint32_t> numbers;
  if (!form.indexes("TagKeys.member", numbers)) {
    s.refusal.parameter("TagKeys");
    return Next::respond;
  }
  std::vector<std::string> keys;
  for (const std::uint32_t n : numbers) {
    if (const auto* const key = form.find("TagKeys.member", n)) keys.emplace_back(*key);
  }
  return change_tags(s, [keys](Tags& tags) {
    std::erase_if(
        tags, [&](const auto& tag) { return std::ranges::find(keys, tag.first) != keys.end(); });
    return true;
  });
}

Next list_tags_for_resource(SnsState& s, const Form& form) {
  if (!find_resource(s, form)) return Next::respond;
  XmlWriter xml = s.answer();
  xml.open("Tags");
  for (const auto& [key, value] : s.row->tags) {
    xml.open("member");
    xml.element("Key", key);
    xml.element("Value", value);
    xml.close("member");
  }
  xml.close("Tags");
  return Next::respond;
}

}  // namespace pawl::sns

// SPDX-License-Identifier: Apache-2.0
#include "core/base/check.h"

#include <fmt/core.h>
#include <algorithm>
#include "proto/aws/arn.h"
#include "proto/errors/sqs_errors.h"
#include "proto/sns/state.h"
#include "proto/text/text.h"

namespace pawl::sns {
namespace {

using Next = CallStep;
using F = SnsFault;

// Sends the change of `row` to the control shard. Refuses a result beyond topic_bytes_max.
Next send_change(SnsState& s) {
  CHECK(s.row != nullptr);
  const auto before = topic_of(s.row);
  SnsTopic topic = *before;
  if (!s.change(topic)) return Next::respond;
  s.changes = changes_between(*s.row, *before, topic);
  if (!check_size(s, topic_bytes(*s.row, s.changes))) return Next::respond;
  s.request = {};
  s.request.op = Op::set_attributes;
  s.request.queue = s.row->id;
  s.request.changes = s.changes;
  s.request.based_on = s.row;
  return s.route_to_control();
}

// Sends the changed tags of `row` to the control shard.
Next send_tags(SnsState& s) {
  CHECK(s.row != nullptr);
  s.tags = s.row->tags;
  if (!s.change_tags(s.tags)) return Next::respond;
  s.request = {};
  s.request.op = Op::set_attributes;
  s.request.queue = s.row->id;
  s.request.tags = &s.tags;
  s.request.based_on = s.row;
  return s.route_to_control();
}

// True if a change that conflicted with another one is to be repeated on the current `row`.
bool change_again(SnsState& s) {
  if (!s.change && !s.change_tags) return false;
  if (s.request.config == nullptr || s.retries == change_retries_max) return false;
  ++s.retries;
  s.row = s.request.config;
  return true;
}

constexpr std::ptrdiff_t arn_colons = 5;

bool refuse_arn(SnsState& s, std::string_view parameter, std::string_view arn) {
  const auto colons = std::ranges::count(arn, ':');
  if (colons >= arn_colons) return s.refusal.parameter("{}", parameter);
  return s.refusal.parameter("{} Reason: An ARN must have at least 6 elements, not {}", parameter,
                             colons + 1);
}

// The one refusal for ARNs of other accounts: it does not reveal whether the topic exists.
bool refuse_access(SnsState& s, std::string_view arn) {
  return s.refusal.because(F::authorization_error,
                           "User: {} is not authorized to perform: SNS:{} on resource: {}",
                           s.account, s.action->name, shown(arn));
}

}  // namespace

std::string_view text_of(const Form& form, std::string_view key) {
  const std::string_view* text = form.find(key);
  return text == nullptr ? std::string_view() : *text;
}

bool need(SnsState& s, const Form& form, std::string_view key, std::string_view& out) {
  out = text_of(form, key);
  return !out.empty() || s.refusal.parameter("{}", key);
}

bool check_value(SnsState& s, std::string_view name, std::string_view value) {
  return value.empty() || check_text(value) == TextFault::none ||
         s.refusal.parameter("{}: must be of characters that XML can have", shown(name));
}

bool check_size(SnsState& s, std::size_t bytes) {
  return bytes <= SnsTopic::topic_bytes_max ||
         s.refusal.because(F::subscription_limit,
                           "The topic's subscriptions and attributes take {} bytes; the limit is "
                           "{}. Remove subscriptions or shorten their policies.",
                           bytes, SnsTopic::topic_bytes_max);
}

std::string topic_arn_of(const SnsState& s, std::string_view account, std::string_view name) {
  return fmt::format("arn:aws:sns:{}:{}:{}", s.config->region, account, name);
}

bool find_topic(SnsState& s, std::string_view arn) {
  const auto parsed = parse_arn(arn);
  if (!parsed) return refuse_arn(s, "TopicArn", arn);
  if (parsed->service != "sns") return s.refusal.parameter("TopicArn");
  if (parsed->name.contains(':')) return s.refusal.parameter("Topic Name");
  const bool own = parsed->account == s.account;
  if (!own && s.config->keys != nullptr) return refuse_access(s, arn);
  const ConfigPtr* row = s.directory->find(topic_account(parsed->account), parsed->name);
  // Without keys, the account in an ARN is not checked: fall back to the caller's own topic.
  if (row == nullptr) row = s.directory->find(topic_account(s.account), parsed->name);
  if (row == nullptr) return s.refusal.because(F::not_found, "Topic does not exist");
  s.row = *row;
  s.topic_arn = topic_arn_of(s, owning_account(s.row->account), s.row->name);
  return true;
}

bool find_subscription(SnsState& s, std::string_view arn, std::string_view& id) {
  const std::size_t colon = arn.rfind(':');
  const auto parsed = parse_arn(arn);
  if (!parsed || parsed->service != "sns") return refuse_arn(s, "SubscriptionArn", arn);
  if (!parsed->name.contains(':')) return s.refusal.parameter("SubscriptionId");
  id = arn.substr(colon + 1);
  if (find_topic(s, arn.substr(0, colon))) return true;
  if (s.refusal.fault == F::not_found) s.refusal.text = "Subscription does not exist";
  return false;
}

Next change_topic(SnsState& s, std::function<bool(SnsTopic&)> change) {
  s.change = std::move(change);
  return send_change(s);
}

Next change_tags(SnsState& s, std::function<bool(Tags&)> change) {
  s.change_tags = std::move(change);
  return send_tags(s);
}

Next topic_changed(SnsState& s) {
  if (s.request.error == Errc::changed_meanwhile && change_again(s))
    return s.change ? send_change(s) : send_tags(s);
  if (s.request.error == Errc::queue_exists && s.if_exists) {
    CHECK(s.request.config != nullptr, "a topic that exists has no config");
    s.if_exists(*s.request.config);
  } else if (s.request.error == Errc::no_such_queue) {
    if (!s.may_be_gone) s.refusal.because(F::not_found, "Topic does not exist");
  } else if (s.request.error != Errc::ok) {
    s.refusal.broker(s.request.error);
  }
  return Next::respond;
}

bool read_pairs(SnsState& s, const Form& form, std::string_view list, std::string_view key,
                std::string_view value, std::vector<std::pair<std::string, std::string>>& out) {
  std::vector<std::uint32_t> numbers;
  if (!form.indexes(list, numbers)) {
    return s.refusal.parameter("{}: the numbers of the list must be from 1 to {}", list,
                               Form::index_max);
  }
  for (const std::uint32_t n : numbers) {
    const std::string_view* name = form.find(list, n, key);
    const std::string_view* text = form.find(list, n, value);
    if (name == nullptr) return s.refusal.parameter("{}.{}.{} is missing", list, n, key);
    out.emplace_back(*name, text == nullptr ? std::string_view() : *text);
  }
  const auto twice = repeated_name(out);
  if (twice && list == "Tags.member")
    return s.refusal.parameter("Duplicated keys are not allowed.");
  return !twice || s.refusal.parameter("{} names {} twice: name it once", list, shown(*twice));
}

void write_attributes(SnsState& s, const SnsAttributes& attributes) {
  XmlWriter xml = s.answer();
  xml.open("Attributes");
  for (const auto& [name, value] : attributes) {
    xml.open("entry");
    xml.element("key", name);
    xml.element("value", value);
    xml.close("entry");
  }
  xml.close("Attributes");
}

std::array<char, 36> new_uuid(SnsState& s, std::uint64_t salt) {
  const auto low = static_cast<std::uint32_t>(s.request_number >> 32);
  return uuid_text(message_id(s.config->secret, QueueId{low},
                              s.request_number << 32 ^ salt ^ (std::uint64_t{1} << 63)));
}

}  // namespace pawl::sns

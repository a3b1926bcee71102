// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/check.h"
#include "proto/aws/arn.h"
#include "proto/errors/sqs_errors.h"
#include "proto/sns/call.h"
#include "proto/sns/state.h"

namespace pawl::sns {
namespace {

using F = SnsFault;
using Next = CallStep;

constexpr std::string_view settable[] = {
    "DeliveryPolicy", "FilterPolicy", "FilterPolicyScope", "RawMessageDelivery", "RedrivePolicy",
};

bool check_name(SnsState& s, std::string_view name) {
  return std::ranges::find(settable, name) != std::end(settable) ||
         s.refusal.parameter("AttributeName Reason: Unknown subscription attribute: {}",
                             shown(name));
}

bool check_attribute(SnsState& s, std::string_view name, std::string_view value) {
  if (!check_value(s, name, value)) return false;
  return name != "RawMessageDelivery" || !value.empty() ||
         s.refusal.parameter("RawMessageDelivery: Invalid value []. Must be true or false.");
}

// Subscribe names the map that a wrong attribute came in.
bool in_map(SnsState& s, bool good) {
  if (!good && s.refusal.fault == F::invalid_parameter)
    s.refusal.text.insert(invalid_parameter.size(), "Attributes Reason: ");
  return good;
}

std::string subscription_arn(const SnsState& s, const SnsSubscription& subscription) {
  return s.topic_arn + ":" + subscription.id;
}

// Validates a new or changed subscription, and the topic's number of filter policies.
bool prepare(SnsState& s, const SnsTopic& topic, SnsSubscription& subscription) {
  std::string why;
  subscription.usable = subscription.prepare(why);
  if (!subscription.usable) return s.refusal.parameter("{}", why);
  if (topic.is_fifo() && !subscription.dead_letter_queue.empty() &&
      !subscription.dead_letter_queue.ends_with(".fifo")) {
    return s.refusal.parameter(
        "RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.");
  }
  const auto policies = std::ranges::count_if(topic.subscriptions, [&](const SnsSubscription& o) {
    return o.filter != nullptr && o.id != subscription.id;
  });
  return subscription.filter == nullptr ||
         static_cast<std::size_t>(policies) < SnsTopic::filter_policies_max ||
         s.refusal.because(F::filter_policy_limit,
                           "The topic has {} filter policies already, which is the limit.",
                           SnsTopic::filter_policies_max);
}

// Refuses a missing queue, so that a misspelled name is noticed. AWS accepts its ARN: messages go
// to the subscription's dead-letter queue until the queue exists.
bool check_endpoint(SnsState& s, std::string_view endpoint, bool fifo_topic) {
  const auto arn = parse_arn(endpoint);
  if (!arn || arn->service != "sqs") return s.refusal.parameter("SQS endpoint ARN");
  const std::string_view owner = owning_account(s.row->account);
  if (arn->account != owner) {
    return s.refusal.because(F::authorization_error,
                             "The queue {} belongs to another account than the topic.",
                             shown(endpoint));
  }
  if (!s.config->strict_sqs && find_queue(*s.directory, *arn) == nullptr) {
    return s.refusal.parameter("Endpoint Reason: the queue {} does not exist", shown(endpoint));
  }
  return fifo_topic || !arn->name.ends_with(".fifo") ||
         s.refusal.parameter(
             "Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be "
             "subscribed to standard SNS topics");
}

bool same_attributes(const SnsSubscription& there, const SnsSubscription& asked) {
  const auto without_defaults = [](SnsAttributes attributes) {
    if (value_of(attributes, "RawMessageDelivery") == "false") {
      set_value(attributes, "RawMessageDelivery", "");
    }
    if (value_of(attributes, "FilterPolicyScope") == "MessageAttributes") {
      set_value(attributes, "FilterPolicyScope", "");
    }
    return attributes;
  };
  return without_defaults(there.attributes) == without_defaults(asked.attributes);
}

// Adds the subscription, or finds an equal one that exists already.
bool add_subscription(SnsState& s, SnsTopic& topic, SnsSubscription asked) {
  s.result.clear();
  const auto there =
      std::ranges::find(topic.subscriptions, asked.endpoint, &SnsSubscription::endpoint);
  if (there != topic.subscriptions.end()) {
    if (!asked.attributes.empty() && !same_attributes(*there, asked)) {
      return s.refusal.parameter(
          "Attributes Reason: Subscription already exists with different attributes");
    }
    s.answer().element("SubscriptionArn", subscription_arn(s, *there));
    return false;
  }
  if (!in_map(s, prepare(s, topic, asked))) return false;
  s.answer().element("SubscriptionArn", subscription_arn(s, asked));
  topic.subscriptions.push_back(std::move(asked));
  return true;
}

void write_subscription(SnsState& s, XmlWriter& xml, const SnsSubscription& subscription) {
  xml.open("member");
  xml.element("SubscriptionArn", subscription_arn(s, subscription));
  xml.element("Owner", s.account);
  xml.element("Protocol", "sqs");
  xml.element("Endpoint", subscription.endpoint);
  xml.element("TopicArn", s.topic_arn);
  xml.close("member");
}

// A NextToken, "<topic> <number>": the first subscription of the next page.
struct Position {
  std::string topic;
  std::size_t number = 0;
};

bool read_position(SnsState& s, std::string_view token, Position& out) {
  if (token.empty()) return true;
  const std::size_t space = token.find(' ');
  if (space != std::string_view::npos) {
    const std::string_view number = token.substr(space + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), out.number);
    out.topic = token.substr(0, space);
    if (error == std::errc() && end == number.data() + number.size()) return true;
  }
  return s.refusal.parameter("NextToken");
}

// Writes one topic's subscriptions from `from` on; `left` is the free entries of the page. False:
// the page is full.
bool write_page(SnsState& s, XmlWriter& xml, std::size_t from, std::size_t& left,
                std::string& token) {
  const auto topic = topic_of(s.row);
  for (std::size_t i = from; i < topic->subscriptions.size(); ++i) {
    if (left == 0) {
      token = fmt::format("{} {}", s.row->name, i);
      return false;
    }
    write_subscription(s, xml, topic->subscriptions[i]);
    --left;
  }
  return true;
}

const SnsSubscription* find_in_topic(SnsState& s, const SnsTopic& topic, std::string_view id) {
  const SnsSubscription* const found = topic.find(id);
  if (found == nullptr) s.refusal.because(F::not_found, "Subscription does not exist");
  return found;
}

}  // namespace

Next subscribe(SnsState& s, const Form& form) {
  std::string_view arn, protocol, endpoint;
  if (!need(s, form, "TopicArn", arn) || !need(s, form, "Protocol", protocol)) {
    return Next::respond;
  }
  if (protocol != "sqs") {
    constexpr std::string_view others[] = {"application", "email", "email-json", "firehose",
                                           "http",        "https", "lambda",     "sms"};
    if (std::ranges::find(others, protocol) != std::end(others)) {
      s.refusal.parameter("Protocol Reason: pawl delivers to sqs only, not to {}", protocol);
    } else {
      s.refusal.parameter("Amazon SNS does not support this protocol string: {}", shown(protocol));
    }
    return Next::respond;
  }
  if (!need(s, form, "Endpoint", endpoint) || !find_topic(s, arn) ||
      !check_endpoint(s, endpoint, topic_of(s.row)->is_fifo())) {
    return Next::respond;
  }
  const std::array<char, 36> id = new_uuid(s, 0);
  SnsSubscription asked{
      .id = {id.data(), id.size()},
        .endpoint = std::string(endpoint), .created = s.now
  };
  std::vector<std::pair<std::string, std::string>> given;
  if (!read_pairs(s, form, "Attributes.entry", "key", "value", given)) return Next::respond;
  for (const auto& [name, value] : given) {
    if (!in_map(s, check_name(s, name) && check_attribute(s, name, value))) return Next::respond;
    set_value(asked.attributes, name, value);
  }
  return change_topic(s, [&s, asked = std::move(asked)](SnsTopic& topic) {
    return add_subscription(s, topic, asked);
  });
}

Next unsubscribe(SnsState& s, const Form& form) {
  std::string_view arn, id;
  if (!need(s, form, "SubscriptionArn", arn)) return Next::respond;
  if (!find_subscription(s, arn, id)) {
    if (s.refusal.fault == F::not_found) s.refusal = {};
    return Next::respond;
  }
  s.may_be_gone = true;
  return change_topic(s, [id = std::string(id)](SnsTopic& topic) {
    return std::erase_if(topic.subscriptions,
                         [&](const SnsSubscription& one) { return one.id == id; }) > 0;
  });
}

Next list_subscriptions(SnsState& s, const Form& form) {
  Position from;
  if (!read_position(s, text_of(form, "NextToken"), from)) return Next::respond;
  XmlWriter xml = s.answer();
  xml.open("Subscriptions");
  std::string token;
  std::size_t left = SnsCall::page_max;
  const auto visit = [&](const ConfigPtr& row, std::size_t first) {
    s.row = row;
    s.topic_arn = topic_arn_of(s, s.account, row->name);
    return write_page(s, xml, first, left, token);
  };
  const std::string account = topic_account(s.account);
  bool more = true;
  if (const ConfigPtr* row = s.directory->find(account, from.topic)) {
    more = visit(*row, from.number);
  }
  while (more) {
    const auto found = s.directory->list(account, "", from.topic, SnsCall::page_max);
    for (std::size_t i = 0; more && i < found.size(); ++i) more = visit(found[i], 0);
    if (found.empty()) break;
    from.topic = found.back()->name;
  }
  xml.close("Subscriptions");
  if (!token.empty()) xml.element("NextToken", token);
  return Next::respond;
}

Next list_subscriptions_by_topic(SnsState& s, const Form& form) {
  std::string_view arn;
  Position from;
  if (!need(s, form, "TopicArn", arn) || !find_topic(s, arn) ||
      !read_position(s, text_of(form, "NextToken"), from)) {
    return Next::respond;
  }
  XmlWriter xml = s.answer();
  xml.open("Subscriptions");
  std::string token;
  std::size_t left = SnsCall::page_max;
  write_page(s, xml, from.number, left, token);
  xml.close("Subscriptions");
  if (!token.empty()) xml.element("NextToken", token);
  return Next::respond;
}

Next get_subscription_attributes(SnsState& s, const Form& form) {
  std::string_view arn, id;
  if (!need(s, form, "SubscriptionArn", arn) || !find_subscription(s, arn, id)) {
    return Next::respond;
  }
  const auto topic = topic_of(s.row);
  const SnsSubscription* const found = find_in_topic(s, *topic, id);
  if (found == nullptr) return Next::respond;
  SnsAttributes out = found->attributes;
  const bool filtered = !value_of(out, "FilterPolicy").empty();
  if (!filtered) set_value(out, "FilterPolicyScope", "");
  if (value_of(out, "FilterPolicyScope").empty() && filtered) {
    set_value(out, "FilterPolicyScope", "MessageAttributes");
  }
  set_value(out, "ConfirmationWasAuthenticated", "true");
  set_value(out, "Endpoint", found->endpoint);
  set_value(out, "Owner", s.account);
  set_value(out, "PendingConfirmation", "false");
  set_value(out, "Protocol", "sqs");
  set_value(out, "RawMessageDelivery", found->raw ? "true" : "false");
  set_value(out, "SubscriptionArn", subscription_arn(s, *found));
  set_value(out, "SubscriptionPrincipal", fmt::format("arn:aws:iam::{}:root", s.account));
  set_value(out, "TopicArn", s.topic_arn);
  write_attributes(s, out);
  return Next::respond;
}

Next set_subscription_attributes(SnsState& s, const Form& form) {
  std::string_view arn, id, name;
  if (!need(s, form, "SubscriptionArn", arn) || !need(s, form, "AttributeName", name) ||
      !check_name(s, name) || !find_subscription(s, arn, id)) {
    return Next::respond;
  }
  const std::string value(text_of(form, "AttributeValue"));
  if (!check_attribute(s, name, value)) return Next::respond;
  return change_topic(
      s, [&s, id = std::string(id), name = std::string(name), value](SnsTopic& topic) {
        if (find_in_topic(s, topic, id) == nullptr) return false;
        SnsSubscription& subscription = *topic.find(id);
        // An empty FilterPolicy deletes the attribute.
        const bool deletes = name == "FilterPolicy" && value == "{}";
        set_value(subscription.attributes, name, deletes ? std::string_view() : value);
        return prepare(s, topic, subscription);
      });
}

}  // namespace pawl::sns

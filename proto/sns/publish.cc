// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <algorithm>
#include <ctime>

#include "core/check.h"
#include "proto/aws/message_attributes.h"
#include "proto/aws/message_rules.h"
#include "proto/sns/call.h"
#include "proto/sns/state.h"
#include "proto/text/base64.h"
#include "proto/text/json.h"
#include "proto/text/text.h"

namespace pawl::sns {
namespace {

using F = SnsFault;
using Next = CallStep;

std::string timestamp(Instant now) {
  const std::time_t seconds = now.ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     now.ms % 1000);
}

void write_envelope_attributes(const SnsMessage& m, JsonWriter& json) {
  json.key("MessageAttributes");
  json.begin_object();
  AttributeReader reader(m.attributes);
  MessageAttribute a;
  while (reader.next(a)) {
    json.key(a.name);
    json.begin_object();
    json.member("Type", a.type);
    std::string base64;
    if (a.kind == AttributeKind::bytes) {
      append_base64(base64,
                    {reinterpret_cast<const std::uint8_t*>(a.value.data()), a.value.size()});
    }
    json.member("Value", a.kind == AttributeKind::bytes ? std::string_view(base64) : a.value);
    json.end_object();
  }
  json.end_object();
}

// The signature members are empty, because there is no certificate to sign with.
std::string envelope(const SnsState& s, const SnsMessage& m, const SnsSubscription& subscription) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("Type", "Notification");
  json.member("MessageId", m.message_id_text());
  if (s.topic->is_fifo()) {
    json.member("SequenceNumber",
                std::string_view(m.sequence_number.data(), m.sequence_number.size()));
  }
  json.member("TopicArn", std::string_view(s.topic_arn));
  if (!m.subject.empty()) json.member("Subject", std::string_view(m.subject));
  json.member("Message", std::string_view(m.text));
  json.member("Timestamp", std::string_view(timestamp(s.now)));
  if (!s.topic->is_fifo()) {
    json.member("SignatureVersion", "1");
    json.member("Signature", "");
    json.member("SigningCertURL", "");
  }
  json.member("UnsubscribeURL", std::string_view(fmt::format(
                                    "{}/?Action=Unsubscribe&Version={}&SubscriptionArn={}:{}",
                                    s.base_url, SnsCall::version, s.topic_arn, subscription.id)));
  if (!m.attributes.empty()) write_envelope_attributes(m, json);
  json.end_object();
  return out;
}

// Adds the send of one message to the delivery. False: the queue can never accept the message.
bool make_send(const SnsState& s, const QueueConfig& queue, const SnsMessage& m, SnsDelivery& to) {
  // A dead letter is raw, too. One with too many attributes is an envelope, so that it is kept.
  const bool fits = m.attribute_count <= message_attributes_max;
  const bool raw = to.subscription->raw && (fits || !to.dead_letter);
  if (raw && !fits) return false;
  const std::string& body = raw ? m.text : to.bodies.emplace_back(envelope(s, m, *to.subscription));
  const std::string_view attributes = raw ? std::string_view(m.attributes) : std::string_view();
  const auto size = static_cast<std::int64_t>(body.size() + attributes_size(attributes));
  if (size > queue.number(Attribute::maximum_message_size)) return false;
  SendEntry& send = to.sends.emplace_back();
  send.content.body = body;
  send.content.attributes = attributes;
  send.content.system = s.trace;
  // A FIFO topic's group sets an order, which a standard queue does not keep.
  if (queue.is_fifo() == s.topic->is_fifo()) send.content.group = m.group;
  if (queue.is_fifo()) send.content.dedup_id = m.dedup_id;
  return true;
}

bool has_dead_letter_queue(const SnsDelivery& delivery) {
  return !delivery.dead_letter && !delivery.subscription->dead_letter_queue.empty();
}

// Moves a message that its queue can never accept to the subscription's dead-letter queue, if any.
void move_to_dead_letters(SnsState& s, const SnsDelivery& from, std::size_t message) {
  CHECK(message < s.messages.size(), "message {} of {}", message, s.messages.size());
  if (!has_dead_letter_queue(from)) return;
  auto to = std::ranges::find_if(
      s.deliveries.begin() + static_cast<std::ptrdiff_t>(s.delivering), s.deliveries.end(),
      [&](const SnsDelivery& d) { return d.dead_letter && d.subscription == from.subscription; });
  if (to == s.deliveries.end()) {
    s.deliveries.emplace_back();
    to = s.deliveries.end() - 1;
    to->subscription = from.subscription;
    to->queue = from.subscription->dead_letter_queue;
    to->dead_letter = true;
  }
  to->messages.push_back(message);
}

// Makes the request of a delivery. False: there is nothing to send.
bool make_request(SnsState& s, SnsDelivery& delivery) {
  const ConfigPtr* const queue = s.directory->find(delivery.subscription->account, delivery.queue);
  for (const std::size_t i : delivery.messages) {
    if (queue != nullptr && make_send(s, **queue, s.messages[i], delivery)) {
      delivery.sent.push_back(i);
    } else {
      move_to_dead_letters(s, delivery, i);
    }
  }
  if (delivery.sends.empty()) return false;
  CHECK(queue != nullptr, "{} sends to no queue", delivery.sends.size());
  CHECK(delivery.sends.size() == delivery.sent.size(), "{} sends of {}", delivery.sends.size(),
        delivery.sent.size());
  delivery.request.op = Op::send;
  delivery.request.queue = (*queue)->id;
  delivery.request.sends = delivery.sends;
  s.routes.push_back({&delivery.request, (*queue)->owner});
  return true;
}

void write_message(SnsState& s, XmlWriter& xml, const SnsMessage& m) {
  xml.element("MessageId", m.message_id_text());
  if (s.topic->is_fifo()) {
    xml.element("SequenceNumber", {m.sequence_number.data(), m.sequence_number.size()});
  }
}

void write_batch(SnsState& s) {
  XmlWriter xml = s.answer();
  xml.open("Successful");
  for (const SnsMessage& m : s.messages) {
    if (m.refusal) continue;
    xml.open("member");
    xml.element("Id", m.id);
    write_message(s, xml, m);
    xml.close("member");
  }
  xml.close("Successful");
  xml.open("Failed");
  for (SnsMessage& m : s.messages) {
    if (!m.refusal) continue;
    make_printable(m.refusal.text);
    const SnsFaultInfo& fault = info(m.refusal.fault);
    xml.open("member");
    xml.element("Id", m.id);
    xml.element("Code", fault.code);
    xml.element("Message", m.refusal.text);
    xml.element("SenderFault", fault.sender ? "true" : "false");
    xml.close("member");
  }
  xml.close("Failed");
}

Next finish(SnsState& s) {
  if (s.batch) {
    write_batch(s);
  } else if (s.messages.front().refusal) {
    s.refusal = s.messages.front().refusal;
  } else {
    XmlWriter xml = s.answer();
    write_message(s, xml, s.messages.front());
  }
  return Next::respond;
}

// Sends the next wave of deliveries, or answers after the last one.
Next deliver(SnsState& s) {
  s.routes.clear();
  s.under_way = s.delivering;
  while (s.delivering < s.deliveries.size() && s.routes.size() < SnsCall::routes_max) {
    SnsDelivery& delivery = s.deliveries[s.delivering++];
    make_request(s, delivery);
  }
  return s.routes.empty() ? finish(s) : Next::route;
}

// Routes a request without effect, so that other work of the shard gets a turn.
Next pause(SnsState& s) {
  s.request.op = Op::none;
  s.routes.assign(1, {&s.request, s.row->owner});
  return Next::route;
}

bool wants(const SnsSubscription& subscription, SnsMessage& m, FilterBody& body,
           std::size_t& comparisons) {
  if (m.refusal) return false;
  if (subscription.filter == nullptr) return true;
  using Verdict = FilterPolicy::Verdict;
  const Verdict verdict = subscription.filter->matches(m.attributes, body, comparisons);
  if (verdict == Verdict::too_many_comparisons) {
    m.refusal.parameter(
        "Message Reason: to compare it with the FilterPolicy of the subscription {} takes more "
        "than {} comparisons. Give the lists that the policy looks at fewer values",
        subscription.id, FilterPolicy::comparisons_max);
  }
  return verdict == Verdict::wanted;
}

// Chooses the messages of each subscription, within the limit of one turn. False: more remain.
bool choose_deliveries(SnsState& s) {
  const std::size_t messages = s.messages.size();
  CHECK(s.filter_bodies.size() == messages, "{} bodies of {} messages", s.filter_bodies.size(),
        messages);
  std::size_t comparisons = 0;
  for (; s.compared < s.topic->subscriptions.size() * messages; ++s.compared) {
    if (comparisons > SnsCall::comparisons_a_turn) return false;
    const SnsSubscription& subscription = s.topic->subscriptions[s.compared / messages];
    const std::size_t i = s.compared % messages;
    if (!subscription.usable ||
        !wants(subscription, s.messages[i], s.filter_bodies[i], comparisons))
      continue;
    if (s.deliveries.empty() || s.deliveries.back().subscription != &subscription) {
      SnsDelivery& delivery = s.deliveries.emplace_back();
      delivery.subscription = &subscription;
      delivery.queue = subscription.queue;
    }
    s.deliveries.back().messages.push_back(i);
  }
  return true;
}

Next choose(SnsState& s) {
  if (!choose_deliveries(s)) return pause(s);
  std::vector<FilterBody>().swap(s.filter_bodies);
  s.chosen = true;
  // A message refused at a later filter is delivered to no subscription.
  for (SnsDelivery& delivery : s.deliveries)
    std::erase_if(delivery.messages, [&](std::size_t i) { return bool(s.messages[i].refusal); });
  return deliver(s);
}

// Reading a large message uses up a turn: its filters are evaluated in another one.
Next begin_delivery(SnsState& s) {
  std::size_t bytes = 0;
  for (const SnsMessage& m : s.messages) {
    s.filter_bodies.emplace_back(m.text);
    bytes += m.text.size() + m.attributes.size();
  }
  const bool filters = std::ranges::any_of(
      s.topic->subscriptions, [](const SnsSubscription& one) { return one.filter != nullptr; });
  return filters && bytes > SnsCall::comparisons_a_turn ? pause(s) : choose(s);
}

bool check_batch(SnsState& s) {
  std::size_t bytes = 0;
  for (const SnsMessage& m : s.messages) {
    if (m.id.size() > entry_id_max) {
      return s.refusal.because(F::invalid_entry_id,
                               "The Id of a batch entry in a batch request is too long: {}",
                               shown(m.id));
    }
    if (!good_entry_id(m.id)) {
      return s.refusal.because(
          F::invalid_entry_id,
          "The Id of a batch entry in a batch request contains an impermissible character: {}",
          shown(m.id));
    }
    if (m.refuses_request) {
      s.refusal = m.refusal;
      return false;
    }
    if (std::ranges::count(s.messages, m.id, &SnsMessage::id) > 1) {
      return s.refusal.because(F::ids_not_distinct,
                               "Two or more batch entries in the request have the same Id.");
    }
    bytes += m.text.size() + attributes_size(m.attributes);
  }
  return bytes <= SnsCall::message_bytes_max ||
         s.refusal.because(F::batch_too_long,
                           "The length of all the messages put together is more than the limit.");
}

bool find_topic_of(SnsState& s, const Form& form) {
  std::string_view arn = text_of(form, "TopicArn");
  if (arn.empty()) arn = text_of(form, "TargetArn");
  if (arn.empty())
    return s.refusal.parameter("TopicArn or TargetArn Reason: no value for required parameter");
  if (!find_topic(s, arn)) return false;
  s.topic = topic_of(s.row);
  return true;
}

}  // namespace

Next publish(SnsState& s, const Form& form) {
  if (!find_topic_of(s, form)) return Next::respond;
  s.messages.resize(1);
  SnsMessage& m = s.messages.front();
  read_message(s, form, "", m);
  if (!m.refusal && m.text.size() + attributes_size(m.attributes) > SnsCall::message_bytes_max) {
    m.refusal.parameter("Message too long");
  }
  return begin_delivery(s);
}

Next publish_batch(SnsState& s, const Form& form) {
  constexpr std::string_view list = "PublishBatchRequestEntries.member";
  if (!find_topic_of(s, form)) return Next::respond;
  std::vector<std::uint32_t> numbers;
  if (!form.indexes(list, numbers) || numbers.empty()) {
    s.refusal.because(F::empty_batch, "The batch request doesn't contain any entries.");
    return Next::respond;
  }
  if (numbers.size() > SnsCall::entries_max) {
    s.refusal.because(F::too_many_entries,
                      "The batch request contains more entries than permissible: {} of {}.",
                      numbers.size(), SnsCall::entries_max);
    return Next::respond;
  }
  s.batch = true;
  s.messages.resize(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string prefix = fmt::format("{}.{}.", list, numbers[i]);
    s.messages[i].id = text_of(form, prefix + "Id");
    read_message(s, form, prefix, s.messages[i]);
  }
  return check_batch(s) ? begin_delivery(s) : Next::respond;
}

Next published(SnsState& s) {
  if (!s.chosen) return choose(s);
  CHECK(s.under_way <= s.delivering, "a wave from {} to {}", s.under_way, s.delivering);
  CHECK(s.delivering <= s.deliveries.size(), "delivery {} of {}", s.delivering,
        s.deliveries.size());
  for (std::size_t d = s.under_way; d < s.delivering; ++d) {
    SnsDelivery& delivery = s.deliveries[d];
    for (std::size_t i = 0; i < delivery.sent.size(); ++i) {
      const Errc whole = delivery.request.error;
      const Errc outcome = whole != Errc::ok ? whole : delivery.sends[i].error;
      const bool used_up = outcome == Errc::message_numbers_used_up;
      if (outcome == Errc::no_such_queue || outcome == Errc::too_large ||
          (used_up && has_dead_letter_queue(delivery))) {
        move_to_dead_letters(s, delivery, delivery.sent[i]);
      } else if (used_up) {
        s.messages[delivery.sent[i]].refusal.because(
            F::invalid_parameter,
            "All message numbers of the subscribed queue {} were used: it takes no more messages. "
            "Receive what is left in it, and subscribe a new queue instead.",
            delivery.queue);
      } else if (outcome != Errc::ok) {
        s.messages[delivery.sent[i]].refusal.broker(outcome);
      }
    }
    delivery.bodies.clear();
    delivery.sends.clear();
  }
  return deliver(s);
}

}  // namespace pawl::sns

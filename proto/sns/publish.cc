// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <algorithm>

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"
#include "proto/aws/message_rules.h"
#include "proto/sns/call.h"
#include "proto/sns/state.h"
#include "proto/text/text.h"

namespace pawl::sns {
namespace {

using F = SnsFault;
using Next = CallStep;

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
      s.deliveries.push_back({.subscription = &subscription, .messages = {}});
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

bool check_batch(SnsState& s) {
  std::size_t bytes = 0;
  for (const SnsMessage& m : s.messages) {
    if (m.id.size() > entry_id_max) {
      return s.refusal.because(F::invalid_entry_id,
                               "The Id of a batch entry in the batch request is too long: {}",
                               shown(m.id));
    }
    if (!good_entry_id(m.id)) {
      return s.refusal.because(
          F::invalid_entry_id,
          "The Id of a batch entry in the batch request contains an impermissible character: {}",
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

Next publish(SnsState& s, const Form& form) {
  if (!find_topic_of(s, form)) return Next::respond;
  s.messages.resize(1);
  SnsMessage& m = s.messages.front();
  read_message(s, form, "", m);
  if (!m.refusal && m.text.size() + attributes_size(m.attributes) > SnsCall::message_bytes_max) {
    m.refusal.parameter("Message too long");
  }
  return s.topic->is_fifo() ? take_numbers(s) : begin_delivery(s);
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
  if (!check_batch(s)) return Next::respond;
  return s.topic->is_fifo() ? take_numbers(s) : begin_delivery(s);
}

Next published(SnsState& s) {
  if (s.numbering == SnsState::Numbers::asked) {
    note_numbers(s);
    return begin_delivery(s);
  }
  return s.chosen ? sent(s) : choose(s);
}

Next answer_publish(SnsState& s) {
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

}  // namespace pawl::sns

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <string>

#include "core/base/check.h"
#include "proto/sqs/actions.h"
#include "proto/sqs/receipt_text.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using M = SqsMember;
using Next = CallStep;

enum class Words : std::uint8_t { single, batch_entry };

// The VisibilityTimeout: for how long a delivery goes on. With x-id: it is the delay until the next
// delivery.
bool check_timeout(const SqsState& s, const SqsEntryInput& given, Words words, Refusal& refusal) {
  const SqsScalar& timeout = given[M::visibility_timeout];
  if (!timeout.present) {
    return refusal.because(F::missing_parameter,
                           "The request must contain the parameter VisibilityTimeout.");
  }
  if (given[M::receipt_handle].text.starts_with(by_id_prefix)) {
    const std::int64_t most = s.queue->delay_limit().ms / 1000;
    return timeout.within(0, most) ||
           refusal.because(
               F::invalid_parameter_value,
               "Value {} for parameter VisibilityTimeout is invalid. Reason: With x-id: "
               "it is the delay until the next delivery, and must be between 0 and {}. "
               "The queue attribute x-max-delay raises this limit.",
               shown(timeout.text), most);
  }
  const std::int64_t max = s.visibility_max_s;
  if (timeout.within(0, max)) return true;
  const bool lifted = s.queue->number(Attribute::max_visibility) > 0;
  const std::string_view whose = lifted ? ", the queue's x-max-visibility" : "";
  if (words == Words::batch_entry && !lifted) {
    return refusal.because(F::invalid_parameter_value,
                           "VisibilityTimeout must be an integer between 0 and {}.", max);
  }
  return refusal.because(F::invalid_parameter_value,
                         "Value {} for parameter VisibilityTimeout is invalid. Reason: Must be "
                         "between 0 and {}{}.",
                         shown(timeout.text), max, whose);
}

// Adds entry `i` to the routed receipts, or sets `refusal`.
bool add_receipt(SqsState& s, std::size_t i, Op op, Words words, Refusal& refusal) {
  const SqsEntryInput& given = s.input.entries[i];
  const SqsScalar& handle = given[M::receipt_handle];
  if (handle.text.empty()) {
    return refusal.because(F::missing_parameter,
                           "The request must contain the parameter ReceiptHandle.");
  }
  if (op == Op::change_visibility && !check_timeout(s, given, words, refusal)) return false;
  ReceiptText receipt;
  std::string why;
  if (!read_receipt(handle.text, {op, seconds(s.visibility_max_s)}, receipt, why)) {
    refuse(refusal, Errc::receipt_invalid, subjects_of(s, given));
    if (!why.empty()) refusal.text += " " + why;
    return false;
  }
  receipt.entry.visibility = receipt.delay.value_or(seconds(given[M::visibility_timeout].number));
  s.entries[i].slot = static_cast<std::uint32_t>(s.receipts.size());
  s.receipts.push_back(receipt.entry);
  return true;
}

Next single(SqsState& s, Op op) {
  if (!add_receipt(s, 0, op, Words::single, s.refusal)) return Next::respond;
  s.request.receipts = s.receipts;
  return s.route(op, s.queue->owner);
}

Next batch(SqsState& s, Op op) {
  if (!check_batch(s)) return Next::respond;
  bool any = false;
  for (std::size_t i = 0; i < s.input.entries.size(); ++i) {
    any |= add_receipt(s, i, op, Words::batch_entry, s.entries[i].refusal);
  }
  return route_batch(s, op, any);
}

// "cancelled", "gone", or "-" for an entry that failed or has a receipt handle.
std::string_view outcome_of_cancel(const SqsState& s, const SqsEntry& entry) {
  if (entry.refusal) return "-";
  CHECK(entry.slot < s.receipts.size(), "entry {}", entry.slot);
  const ReceiptEntry& receipt = s.receipts[entry.slot];
  if (receipt.by == ReceiptEntry::By::handle) return "-";
  return receipt.cancelled ? "cancelled" : "gone";
}

}  // namespace

std::string cancel_header(const SqsState& s) {
  const auto by_id = [](const ReceiptEntry& r) { return r.by != ReceiptEntry::By::handle; };
  if (std::ranges::none_of(s.receipts, by_id)) return {};
  std::string outcomes;
  for (const SqsEntry& entry : std::span(s.entries).first(s.input.entries.size())) {
    if (!outcomes.empty()) outcomes += ',';
    outcomes += outcome_of_cancel(s, entry);
  }
  return outcomes;
}

Next delete_message(SqsState& s) { return single(s, Op::delete_message); }
Next delete_message_batch(SqsState& s) { return batch(s, Op::delete_message); }
Next change_message_visibility(SqsState& s) { return single(s, Op::change_visibility); }
Next change_message_visibility_batch(SqsState& s) { return batch(s, Op::change_visibility); }

void delete_message_batch_result(SqsState& s, SqsResult& result) {
  write_batch(s, result, "DeleteMessageBatchResultEntry", nullptr);
}

void change_message_visibility_batch_result(SqsState& s, SqsResult& result) {
  write_batch(s, result, "ChangeMessageVisibilityBatchResultEntry", nullptr);
}

}  // namespace pawl::sqs

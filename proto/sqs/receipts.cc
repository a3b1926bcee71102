// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "proto/sqs/actions.h"
#include "proto/text/base64.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using M = SqsMember;
using Next = CallStep;

enum class Words : std::uint8_t { single, batch_entry };

bool read_handle(std::string_view text, ReceiptHandle& out) {
  constexpr std::size_t text_max = 64;
  thread_local std::string bytes;
  bytes.clear();
  if (text.size() > text_max || !decode_base64(text, bytes)) return false;
  if (bytes.size() != out.size()) return false;
  std::ranges::copy(bytes, reinterpret_cast<char*>(out.data()));
  return true;
}

bool check_timeout(const SqsScalar& timeout, Words words, Refusal& refusal) {
  if (!timeout.present) {
    return refusal.because(F::missing_parameter,
                           "The request must contain the parameter VisibilityTimeout.");
  }
  if (timeout.within(0, 43200)) return true;
  if (words == Words::batch_entry) {
    return refusal.because(F::invalid_parameter_value,
                           "VisibilityTimeout must be an integer between 0 and 43200.");
  }
  return refusal.because(F::invalid_parameter_value,
                         "Value {} for parameter VisibilityTimeout is invalid. Reason: Must be "
                         "between 0 and 43200.",
                         shown(timeout.text));
}

// Adds entry `i` to the routed receipts, or sets `refusal`.
bool add_receipt(SqsState& s, std::size_t i, Op op, Words words, Refusal& refusal) {
  const SqsEntryInput& given = s.input.entries[i];
  const SqsScalar& handle = given[M::receipt_handle];
  const SqsScalar& timeout = given[M::visibility_timeout];
  if (handle.text.empty()) {
    return refusal.because(F::missing_parameter,
                           "The request must contain the parameter ReceiptHandle.");
  }
  if (op == Op::change_visibility && !check_timeout(timeout, words, refusal)) return false;
  ReceiptEntry receipt;
  if (!read_handle(handle.text, receipt.handle)) {
    refuse(refusal, Errc::receipt_invalid, subjects_of(s, given));
    return false;
  }
  receipt.visibility = seconds(timeout.number);
  s.entries[i].slot = static_cast<std::uint32_t>(s.receipts.size());
  s.receipts.push_back(receipt);
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

}  // namespace

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

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/check.h"
#include "proto/sqs/actions.h"
#include "proto/sqs/receipt_text.h"
#include "proto/text/text.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using M = SqsMember;

bool check_ids(SqsState& s) {
  const auto& entries = s.input.entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const SqsScalar& id = entries[i][M::id];
    if (!id.present) {
      return s.refusal.because(F::missing_parameter,
                               "The request must contain the parameter {}RequestEntry.{}.Id.",
                               info(s.action).name, i + 1);
    }
    if (!good_entry_id(id.text)) {
      return s.refusal.because(F::invalid_batch_entry_id,
                               "A batch entry id can only contain alphanumeric characters, "
                               "hyphens and underscores. It can be at most 80 letters long.");
    }
  }
  for (std::size_t i = 1; i < entries.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (entries[i][M::id].text != entries[j][M::id].text) continue;
      return s.refusal.because(F::batch_entry_ids_not_distinct, "Id {} repeated.",
                               entries[i][M::id].text);
    }
  }
  return true;
}

Errc outcome_of_entry(const SqsState& s, const SqsEntry& entry) {
  CHECK(entry.slot < (s.request.op == Op::send ? s.sends.size() : s.receipts.size()), "entry {}",
        entry.slot);
  return s.request.op == Op::send ? s.sends[entry.slot].error : s.receipts[entry.slot].error;
}

// AWS answers some faults of an entry in other words than those of a single call.
bool refuse_entry(SqsEntry& entry, Op op, Errc outcome, std::string_view receipt) {
  if (op == Op::delete_message && outcome == Errc::receipt_expired) {
    entry.refusal.because(F::receipt_handle_is_invalid, "The receipt handle has expired");
  } else if (outcome == Errc::receipt_invalid) {
    entry.refusal.because(F::receipt_handle_is_invalid,
                          "The receipt handle \"{}\" is not valid for this queue.", shown(receipt));
  }
  return static_cast<bool>(entry.refusal);
}

void write_failure(const SqsEntryInput& given, const Refusal& why, SqsResult& result) {
  constexpr std::string_view xml_name = "BatchResultErrorEntry";
  const SqsFaultInfo& fault = info(why.fault);
  // AWS names this fault InternalError for an entry, InternalFailure for a call.
  const bool internal = why.fault == F::internal_failure;
  result.begin_item(xml_name);
  result.text("Id", given[M::id].text);
  result.truth("SenderFault", fault.sender && why.fault != F::request_throttled);
  result.text("Code", internal ? "InternalError" : fault.code);
  result.text("Message", why.text);
  result.end_item(xml_name);
}

// The way to cancel a message in flight; empty for a request that cannot, or asks for it already.
std::string_view advice_in_flight(const SqsState& s, std::string_view receipt) {
  const bool deletes =
      s.action == SqsAction::delete_message || s.action == SqsAction::delete_message_batch;
  if (!deletes || receipt.ends_with(even_in_flight_suffix)) return {};
  return ", or append ;x-even-in-flight to delete it when it comes back";
}

}  // namespace

bool check_batch(SqsState& s) {
  if (s.input.entries_given == 0) {
    return s.refusal.because(F::empty_batch_request,
                             "There should be at least one {}RequestEntry in the request.",
                             info(s.action).name);
  }
  if (s.input.entries_given > sqs_entries_max) {
    return s.refusal.because(F::too_many_entries,
                             "Maximum number of entries per request are {}. You have sent {}.",
                             sqs_entries_max, s.input.entries_given);
  }
  return check_ids(s);
}

CallStep route_batch(SqsState& s, Op op, bool any) {
  s.request.sends = s.sends;
  s.request.receipts = s.receipts;
  return any ? s.route(op, s.queue->owner) : CallStep::respond;
}

void settle_batch(SqsState& s) {
  CHECK(s.input.entries.size() <= s.entries.size(), "{} entries", s.input.entries.size());
  for (std::size_t i = 0; i < s.input.entries.size(); ++i) {
    SqsEntry& entry = s.entries[i];
    if (entry.refusal) continue;
    const Errc outcome = outcome_of_entry(s, entry);
    const SqsEntryInput& given = s.input.entries[i];
    if (outcome != Errc::ok &&
        !refuse_entry(entry, s.request.op, outcome, given[M::receipt_handle].text))
      refuse(entry.refusal, outcome, subjects_of(s, given));
  }
}

void write_batch(SqsState& s, SqsResult& result, std::string_view xml_name,
                 void (*success)(SqsState&, const SqsEntry&, SqsResult&)) {
  CHECK(s.input.entries.size() <= s.entries.size(), "{} entries", s.input.entries.size());
  const auto given = std::span(s.input.entries);
  const auto entries = std::span(s.entries).first(given.size());
  const auto failed = [](const SqsEntry& entry) { return static_cast<bool>(entry.refusal); };
  if (!std::ranges::all_of(entries, failed)) {
    result.begin_list("Successful");
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (failed(entries[i])) continue;
      result.begin_item(xml_name);
      result.plain("Id", given[i][M::id].text);  // check_ids() admits plain names only
      if (success != nullptr) success(s, entries[i], result);
      result.end_item(xml_name);
    }
    result.end_list();
  }
  if (std::ranges::any_of(entries, failed)) {
    result.begin_list("Failed");
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (failed(entries[i])) write_failure(given[i], entries[i].refusal, result);
    }
    result.end_list();
  }
}

ErrcSubjects subjects_of(const SqsState& s, const SqsEntryInput& entry) {
  return {.queue = s.queue_name,
          .attribute = name_of(s.request.differing),
          .receipt = entry[M::receipt_handle].text,
          .visibility = entry[M::visibility_timeout].text,
          .attempt = s.input[M::attempt_id].text,
          .message_size_max = message_size_max,
          .visibility_max_s = s.visibility_max_s,
          .in_flight_advice = advice_in_flight(s, entry[M::receipt_handle].text)};
}

}  // namespace pawl::sqs

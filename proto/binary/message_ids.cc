// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/message_ids.h"

#include <cstdint>

#include "core/base/check.h"
#include "proto/binary/messages.h"
#include "proto/binary/payloads.h"

namespace pawl::binary {
namespace {

// Reads rows into the receipts of the call; use(row, entry) is false for one that is invalid. Not
// ok: all are refused.
template <typename Row>
Status take_ids(BinaryCallState& s, BinaryReader& in, auto&& use) {
  const std::uint32_t count = take_count<Row>(in);
  if (count < 1 || count > entries_max) return in.ok() ? Status::invalid : Status::bad_frame;
  s.receipts.clear();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const Row row = take_struct<Row>(in);
    ReceiptEntry& entry = s.receipts.emplace_back();
    entry.by = ReceiptEntry::By::id;
    entry.id = id_of(row.id);
    if (!use(row, entry)) return Status::invalid;
  }
  return in.finished() ? Status::ok : Status::bad_frame;
}

BinaryNext route_ids(BinaryCallState& s, Status read, Op op, ShardId owner) {
  if (read != Status::ok) return s.refuse(read);
  CHECK(!s.receipts.empty(), "op {} without ids", static_cast<int>(op));
  s.request.receipts = s.receipts;
  return s.route(op, owner);
}

}  // namespace

BinaryNext cancel(BinaryCallState& s, const BinaryArguments& call) {
  const Status read =
      take_ids<payload::Cancel>(s, call.in, [](const payload::Cancel& row, ReceiptEntry& entry) {
        if (row.flags == cancel_flag_even_in_flight) entry.by = ReceiptEntry::By::id_even_in_flight;
        return (row.flags & ~cancel_flag_even_in_flight) == 0;
      });
  return route_ids(s, read, Op::delete_message, call.opened->owner);
}

void write_cancelled(const BinaryCallState& s, std::string& out) {
  put_count<payload::Cancelled>(out, s.request.receipts.size());
  for (const ReceiptEntry& entry : s.request.receipts) {
    const bool cancelled = entry.cancelled && entry.error == Errc::ok;
    put_struct(out, payload::Cancelled{static_cast<std::uint16_t>(status_of(entry.error)),
                                       static_cast<std::uint8_t>(cancelled)});
  }
}

BinaryNext reschedule(BinaryCallState& s, const BinaryArguments& call) {
  const auto limit = static_cast<std::uint64_t>(call.opened->delay_limit().ms);
  const Status read = take_ids<payload::Reschedule>(
      s, call.in, [limit](const payload::Reschedule& row, ReceiptEntry& entry) {
        if (row.delay_ms > limit) return false;
        entry.visibility = milliseconds(static_cast<std::int64_t>(row.delay_ms));
        return true;
      });
  return route_ids(s, read, Op::change_visibility, call.opened->owner);
}

}  // namespace pawl::binary

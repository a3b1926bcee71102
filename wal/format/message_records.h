// SPDX-License-Identifier: Apache-2.0
// The records about messages sent before: DELETE, RECEIVE, PURGE, HEADS, FORGET_TRANSFER.
//
// Limits: batch_max entries in a record.
// Errors: as in wal/format/records.h.
// Owner:  values.
// Source: wal/FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/queue/effects.h"
#include "wal/format/record_types.h"

namespace pawl {

class Decoder;

// The largest size of a record with `entries` entries.
std::size_t deletes_bytes_max(std::size_t entries);
std::size_t receives_bytes_max(std::size_t entries);
std::size_t heads_bytes_max(std::size_t entries);
inline constexpr std::size_t purge_bytes = 32;
inline constexpr std::size_t forget_transfer_bytes = 24;
inline constexpr std::size_t number_bytes = 48;

// The encoders write to `out`, which has the size from above, and return the bytes used, aligned.
std::size_t encode_purge(std::byte* out, const PurgeRecord& record, std::uint64_t stream);
std::size_t encode_forget_transfer(std::byte* out, const ForgetTransferRecord& record,
                                   std::uint64_t stream);
std::size_t encode_number(std::byte* out, const NumberRecord& record, std::uint64_t stream);
// All entries belong to one queue; at most batch_max.
std::size_t encode_deletes(std::byte* out, std::span<const DeleteRecord> run, std::uint64_t stream);
std::size_t encode_receives(std::byte* out, std::span<const ReceiveRecord> run,
                            std::uint64_t stream);
// Entries of any queues, at most batch_max; all are reserved, or none is.
std::size_t encode_heads(std::byte* out, std::span<const HeadRecord> run, std::uint64_t stream);

// These read the body of a record, for wal/format/records.cc. The caller checks `in` afterwards.
void read_deletes(Decoder& in, RecordSink& sink);
void read_receives(Decoder& in, std::uint16_t fields, RecordSink& sink);
void read_heads(Decoder& in, std::uint16_t fields, RecordSink& sink);
void read_purge(Decoder& in, RecordSink& sink);
void read_forget_transfer(Decoder& in, RecordSink& sink);
void read_number(Decoder& in, RecordSink& sink);

}  // namespace pawl

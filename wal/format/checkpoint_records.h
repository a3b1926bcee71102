// SPDX-License-Identifier: Apache-2.0
// Encoders for the records of a checkpoint (queue/checkpoint.h). The other records and the rules
// are in wal/format/records.h.
//
// Limits: index_entries_max, tracked_messages_max, times_max, dedup_max, segments_max and
//         producers_max entries a record, so that it fits any extent.
// Errors: as in wal/format/records.h.
// Owner:  values.
// Source: wal/FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/queue/checkpoint.h"
#include "wal/format/record_types.h"

namespace pawl {

class Decoder;

inline constexpr std::size_t index_entries_max = 512;
inline constexpr std::size_t tracked_messages_max = 128;
inline constexpr std::size_t times_max = 256;  // buckets and aged arrivals together
inline constexpr std::size_t dedup_max = 256;
inline constexpr std::size_t segments_max = 256;
inline constexpr std::size_t producers_max = 128;
inline constexpr std::size_t fires_max = 256;

// The largest size of a record with `entries` entries.
std::size_t index_entries_bytes_max(std::size_t entries);
std::size_t tracked_messages_bytes_max(std::size_t entries);
std::size_t times_bytes_max(std::size_t entries);
std::size_t dedup_bytes_max(std::size_t entries);
std::size_t segments_bytes_max(std::size_t entries);
std::size_t producers_bytes_max(std::size_t entries);
std::size_t fires_bytes_max(std::size_t entries);
inline constexpr std::size_t unsettled_bytes = 32;

// The encoders write to `out`, which has the size from above, and return the bytes used, aligned.
// All `entries` belong to `queue`.
std::size_t encode_index_entries(std::byte* out, QueueId queue,
                                 std::span<const IndexEntriesRecord::Entry> entries,
                                 std::uint64_t stream);
std::size_t encode_tracked_messages(std::byte* out, QueueId queue, bool fifo,
                                    std::span<const TrackedMessagesRecord::Entry> entries,
                                    std::uint64_t stream);
std::size_t encode_times(std::byte* out, const TimesRecord& record, std::uint64_t stream);
std::size_t encode_dedup(std::byte* out, QueueId queue, std::span<const Dedup::Entry> entries,
                         std::uint64_t stream);
std::size_t encode_producers(std::byte* out, QueueId queue,
                             std::span<const Producers::Entry> entries, std::uint64_t stream);
std::size_t encode_fires(std::byte* out, QueueId queue, std::span<const Fires::Entry> entries,
                         std::uint64_t stream);
std::size_t encode_unsettled(std::byte* out, const UnsettledTransferRecord& record,
                             std::uint64_t stream);
// `run` is in rising order of number.
std::size_t encode_segments(std::byte* out, std::span<const SegmentRecord> run,
                            std::uint64_t stream);

// Reads the body of a record of a checkpoint, for records.cc. Errc::version: another type.
Result<void> read_checkpoint_record(RecordType type, std::uint16_t fields, Decoder& in,
                                    RecordSink& sink);

}  // namespace pawl

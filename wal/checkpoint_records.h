// Records of a checkpoint (core/checkpoint.h) as bytes; wal/records.h has the others and the rules.
//
// Limits: entries of one record, so that it fits any extent: places_max, states_max, times_max, dedup_max, segments_max.
// Errors: as wal/records.h.
// Owner:  values.
// Source: wal/FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/checkpoint.h"
#include "core/result.h"
#include "wal/records.h"

namespace pawl {

inline constexpr std::size_t places_max = 512;
inline constexpr std::size_t states_max = 128;
inline constexpr std::size_t times_max = 256;  // buckets and aged arrivals together
inline constexpr std::size_t dedup_max = 256;
inline constexpr std::size_t segments_max = 256;

// The most that so many entries take.
std::size_t places_bytes_max(std::size_t entries);
std::size_t states_bytes_max(std::size_t entries);
std::size_t times_bytes_max(std::size_t entries);
std::size_t dedup_bytes_max(std::size_t entries);
std::size_t segments_bytes_max(std::size_t entries);
inline constexpr std::size_t unsettled_bytes = 32;

// Into `out`, which has that much room; the bytes used are returned, aligned. `entries` are of the record's queue.
std::size_t encode_places(std::byte* out, QueueId queue,
                          std::span<const PlacesRecord::Entry> entries, std::uint64_t stream);
std::size_t encode_states(std::byte* out, QueueId queue, bool fifo,
                          std::span<const StatesRecord::Entry> entries, std::uint64_t stream);
std::size_t encode_times(std::byte* out, const TimesRecord& record, std::uint64_t stream);
std::size_t encode_dedup(std::byte* out, QueueId queue, std::span<const Dedup::Entry> entries,
                         std::uint64_t stream);
std::size_t encode_unsettled(std::byte* out, const UnsettledRecord& record, std::uint64_t stream);
// By rising number.
std::size_t encode_segments(std::byte* out, std::span<const SegmentRecord> run,
                            std::uint64_t stream);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Calendar: times far ahead, in seven bytes each. An entry is a number and its time.
//
//   add --> bucket of its time --> chunk --first(), drop_first()--> gone
//                                        \--swept, as it is out of date--> gone
//
// A bucket is a span of 2^bits ms. An entry is the number, as a 32-bit distance from the first one
// of its chunk, and the time, as 24 bits from the begin of its bucket. The buckets come in order of
// time, the entries of one in any order. The calendar does not know which of its entries are still
// wanted: the owner tells of each that is not, and four others are examined then.
//
// Units:  Instant, ms.
// Limits: a chunk has up to 512 entries; it begins with a few, and is freed when it is empty.
// Owner:  one queue of one shard.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/base/usage.h"

namespace pawl {

class Calendar {
 public:
  static constexpr unsigned bits_max = 24;
  static constexpr std::size_t chunk_max = 512;

  struct Entry {
    Seq seq = 0;
    Instant at;
    bool operator==(const Entry&) const = default;
  };
  // Continue at this chunk of this bucket, or at the next one.
  struct Cursor {
    std::int64_t bucket = INT64_MIN;
    std::uint64_t chunk = 0;
  };

  Calendar(unsigned bits, std::uint64_t& bytes_total) : bits_(bits), usage_(bytes_total) {
    CHECK(bits <= bits_max, "buckets of 2^{} ms", bits);
    usage_.set(sizeof(Calendar));
  }

  // The begin of the bucket of a time.
  static constexpr Instant begin_of(Instant at, unsigned bits) {
    return Instant{at.ms >> bits << bits};
  }

  void add(Seq seq, Instant at);
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // The begin of the first bucket; never: the calendar is empty.
  Instant begin() const { return empty() ? never : Instant{buckets_.begin()->first << bits_}; }
  // An entry of the first bucket, until it is dropped.
  Entry first() const;
  void drop_first();

  // Copies whole chunks until `out` has `most` entries or more. True: there are no more.
  bool copy_from(Cursor& cursor, std::size_t most, std::vector<Entry>& out) const;
  // Drops whole chunks, until `most` entries or more are gone. True: the calendar is empty.
  bool forget(std::size_t most);

  // An entry is out of date. Examines others: those that are not `wanted` are dropped.
  template <typename Wanted>
  void went(Wanted&& wanted);

 private:
  static constexpr std::size_t looks_an_entry = 4;
  static constexpr std::size_t chunks_an_entry = 4;
  static constexpr std::size_t first_capacity = 4;

  class Packed {
   public:
    Packed(std::uint32_t number, std::uint32_t ms) {
      std::memcpy(bytes_.data(), &number, 4);
      std::memcpy(bytes_.data() + 4, &ms, 3);  // little endian, as the log's format
    }
    std::uint32_t number() const { return read<4>(0); }
    std::uint32_t ms() const { return read<3>(4); }

   private:
    template <std::size_t bytes>
    std::uint32_t read(std::size_t from) const {
      std::uint32_t value = 0;
      std::memcpy(&value, bytes_.data() + from, bytes);
      return value;
    }
    std::array<std::uint8_t, 7> bytes_{};
  };
  static_assert(sizeof(Packed) == 7);

  struct Chunk {
    std::uint64_t id = 0;  // rising within a bucket
    Seq base = 0;
    std::vector<Packed> entries;
  };
  using Chunks = std::vector<Chunk>;  // of a bucket; none is empty
  using Buckets = std::map<std::int64_t, Chunks>;
  static constexpr std::uint64_t bucket_bytes = 32 + sizeof(Buckets::value_type) + heap_block_bytes;

  static std::uint64_t bytes_of(const Chunk& chunk) {
    return chunk.entries.capacity() * sizeof(Packed) + heap_block_bytes;
  }
  static std::uint64_t bytes_of(const Chunks& chunks) { return chunks.capacity() * sizeof(Chunk); }
  Entry unpack(std::int64_t bucket, const Chunk& chunk, Packed packed) const {
    return {chunk.base + packed.number(),
            Instant{(bucket << bits_) + static_cast<std::int64_t>(packed.ms())}};
  }
  Chunk& chunk_for(Chunks& chunks, Seq seq);
  // The chunk of the bucket is empty.
  void drop_chunk(Buckets::iterator bucket, std::size_t at);
  // The chunk at the cursor, or the next; the end: there is none.
  template <typename Iterator>
  static std::size_t chunk_at(Iterator& bucket, Iterator end, Cursor cursor);
  template <typename Wanted>
  void sweep(Buckets::iterator bucket, std::size_t at, Wanted&& wanted);

  unsigned bits_;
  Buckets buckets_;
  std::size_t size_ = 0;
  std::uint64_t next_id_ = 1;
  Cursor swept_;
  std::size_t looks_ = 0;  // entries that may be examined
  UsageCounter usage_;
};

inline Calendar::Chunk& Calendar::chunk_for(Chunks& chunks, Seq seq) {
  if (!chunks.empty()) {
    Chunk& last = chunks.back();
    if (last.entries.size() < chunk_max && seq >= last.base && seq - last.base <= UINT32_MAX)
      return last;
  }
  const std::uint64_t before = bytes_of(chunks);
  chunks.push_back({.id = next_id_++, .base = seq, .entries = {}});
  usage_.add(bytes_of(chunks) - before + heap_block_bytes);
  return chunks.back();
}

inline void Calendar::add(Seq seq, Instant at) {
  CHECK(seq != 0 && seq <= seq_max && at.ms >= 0, "seq {} at {}", seq, at.ms);
  const auto [bucket, made] = buckets_.try_emplace(at.ms >> bits_);
  if (made) usage_.add(bucket_bytes);
  Chunk& chunk = chunk_for(bucket->second, seq);
  const std::size_t before = chunk.entries.capacity();
  if (before == chunk.entries.size())
    chunk.entries.reserve(std::clamp(2 * before, first_capacity, chunk_max));
  usage_.add((chunk.entries.capacity() - before) * sizeof(Packed));
  const std::int64_t ms = at.ms - (bucket->first << bits_);
  chunk.entries.emplace_back(static_cast<std::uint32_t>(seq - chunk.base),
                             static_cast<std::uint32_t>(ms));
  ++size_;
}

inline Calendar::Entry Calendar::first() const {
  CHECK(!empty(), "an empty calendar");
  const auto& [bucket, chunks] = *buckets_.begin();
  return unpack(bucket, chunks.back(), chunks.back().entries.back());
}

inline void Calendar::drop_first() {
  CHECK(!empty(), "an empty calendar");
  const auto bucket = buckets_.begin();
  bucket->second.back().entries.pop_back();
  --size_;
  if (bucket->second.back().entries.empty()) drop_chunk(bucket, bucket->second.size() - 1);
}

inline void Calendar::drop_chunk(Buckets::iterator bucket, std::size_t at) {
  Chunks& chunks = bucket->second;
  CHECK(at < chunks.size() && chunks[at].entries.empty(), "chunk {} of {}", at, chunks.size());
  usage_.drop(bytes_of(chunks[at]));
  chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(at));
  if (!chunks.empty()) return;
  usage_.drop(bytes_of(chunks) + bucket_bytes);
  buckets_.erase(bucket);
}

template <typename Iterator>
std::size_t Calendar::chunk_at(Iterator& bucket, Iterator end, Cursor cursor) {
  if (bucket == end || bucket->first != cursor.bucket) return 0;
  const auto at = std::ranges::lower_bound(bucket->second, cursor.chunk, {}, &Chunk::id);
  if (at != bucket->second.end()) return static_cast<std::size_t>(at - bucket->second.begin());
  ++bucket;
  return 0;
}

inline bool Calendar::copy_from(Cursor& cursor, std::size_t most, std::vector<Entry>& out) const {
  auto bucket = buckets_.lower_bound(cursor.bucket);
  std::size_t at = chunk_at(bucket, buckets_.end(), cursor);
  for (; bucket != buckets_.end(); ++bucket, at = 0) {
    for (; at < bucket->second.size(); ++at) {
      const Chunk& chunk = bucket->second[at];
      if (out.size() >= most) {
        cursor = {bucket->first, chunk.id};
        return false;
      }
      for (const Packed packed : chunk.entries) out.push_back(unpack(bucket->first, chunk, packed));
      cursor = {bucket->first, chunk.id + 1};
    }
  }
  return true;
}

inline bool Calendar::forget(std::size_t most) {
  for (std::size_t gone = 0; !empty() && gone < most;) {
    const auto bucket = buckets_.begin();
    Chunk& last = bucket->second.back();
    gone += last.entries.size();
    size_ -= last.entries.size();
    last.entries.clear();
    drop_chunk(bucket, bucket->second.size() - 1);
  }
  return empty();
}

template <typename Wanted>
void Calendar::went(Wanted&& wanted) {
  looks_ = std::min(looks_ + looks_an_entry, 2 * chunk_max);
  for (std::size_t i = 0; i < chunks_an_entry && !empty(); ++i) {
    auto bucket = buckets_.lower_bound(swept_.bucket);
    const std::size_t at = chunk_at(bucket, buckets_.end(), swept_);
    if (bucket == buckets_.end()) {
      swept_ = {};
      continue;
    }
    const Chunk& chunk = bucket->second[at];
    if (chunk.entries.size() > looks_) return;
    looks_ -= chunk.entries.size();
    swept_ = {bucket->first, chunk.id + 1};
    sweep(bucket, at, wanted);
  }
}

template <typename Wanted>
void Calendar::sweep(Buckets::iterator bucket, std::size_t at, Wanted&& wanted) {
  Chunk& chunk = bucket->second[at];
  const std::size_t gone = std::erase_if(chunk.entries, [&](Packed packed) {
    return !wanted(unpack(bucket->first, chunk, packed).seq);
  });
  CHECK(gone <= size_, "{} of {} entries", gone, size_);
  size_ -= gone;
  if (chunk.entries.empty()) return drop_chunk(bucket, at);
  if (chunk.entries.size() > chunk.entries.capacity() / 2) return;
  const std::uint64_t before = bytes_of(chunk);
  chunk.entries.shrink_to_fit();
  usage_.drop(before - bytes_of(chunk));
}

}  // namespace pawl

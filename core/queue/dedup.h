// SPDX-License-Identifier: Apache-2.0
// Deduplication in a FIFO queue: the messages accepted in the last five minutes, by deduplication
// id.
//
// The window runs from the first accepted send. Duplicates do not extend it, and a delete or a move
// of the message does not end it. A purge ends it. Entries leave in the order of arrival, so an
// entry is 32 bytes in a queue and 8 to 16 in the hash table.
//
// Limits: none of its own: ShardLimits::dedup_max for all queues of a shard, which `total` counts.
// Owner:  one FIFO queue of one shard. In the log it lives in the SEND records, and in checkpoints.
// Source: SQS Developer Guide, "Using the message deduplication ID".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/base/usage.h"
#include "core/containers/chunk_queue.h"
#include "core/containers/hash_index.h"
#include "core/queue/queue_config.h"
#include "core/queue/receipt.h"

namespace pawl {

// The hash is keyed, so that clients cannot construct collisions.
TextKey text_key(const Secret& secret, std::string_view text);
TextKey text_key(const Secret& secret, std::string_view group, std::string_view text);

class Dedup {
 public:
  // `entries_total` and `bytes_total` are shared by all Dedups.
  Dedup(std::uint64_t& entries_total, std::uint64_t& bytes_total)
      : entries_usage_(entries_total), bytes_usage_(bytes_total) {}

  // The number of the message that was accepted first within the window, or 0.
  Seq find(const TextKey& key, Instant now);
  // Adds a message unknown to find(); numbers rise.
  void add(const TextKey& key, Seq seq, Instant sent);
  // The number added last; 0 if nothing is left.
  Seq newest() const { return entries_.empty() ? 0 : entries_[entries_.size() - 1].seq; }
  // The end of the window of that message; 0: it is over, or there is none.
  Instant over_at(Seq seq, Instant now) const;
  // Drops expired entries, at most `most`. False: there may be more.
  bool forget_over(Instant now, std::size_t most);
  // The next expiry, or never.
  Instant next_over() const;
  // Messages below `seq` are purged.
  void forget_below(Seq seq);
  std::size_t size() const { return entries_.size(); }
  // Copies at most `most` entries, from that number on. True: there are no more.
  struct Entry {
    TextKey key;
    Seq seq = 0;
    Instant sent;
    bool operator==(const Entry&) const = default;
  };
  bool copy_from(Seq seq, std::size_t most, std::vector<Entry>& out) const;
  // Bytes of one entry among many, with its cell in the index.
  static constexpr std::uint64_t entry_bytes = sizeof(Entry) + 16;

 private:
  // Index of the first entry of that number or above.
  std::size_t first_from(Seq seq) const;

  static constexpr std::uint32_t numbers = (1u << 31) - 1;
  static constexpr std::size_t pops_a_find =
      4;  // more than are added; no turn stalls when a million expire

  const Entry& entry(std::uint32_t number) const { return entries_[(number - first_) & numbers]; }
  static bool is_over(const Entry& e, Instant now) { return e.sent + dedup_window <= now; }
  void pop();
  void count() { bytes_usage_.set(entries_.bytes() + index_.bytes()); }

  ChunkQueue<Entry, 16> entries_;  // oldest first; small chunks, for most queues have few
  std::uint32_t first_ = 0;        // number of entries_[0], modulo 2^31
  HashIndex index_;
  UsageCounter entries_usage_;
  UsageCounter bytes_usage_;
};

}  // namespace pawl

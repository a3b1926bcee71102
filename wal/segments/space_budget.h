// SPDX-License-Identifier: Apache-2.0
// SpaceBudget: the disk space of a log that may be promised to new messages.
//
//     segment n       segment n+1 .. (ready)    filled retired files
//   [######|......]  [..............]          [..............]
//          ^ tail
//          |<----------- free_space_behind(tail) ----------->|
//          |<-- reserve -->|<-- step: queues only -->|<-- free for senders -->|
//
// The reserve lets receives, deletes and the next checkpoint go on while a full disk refuses sends.
// A message may need a block for its receive and one for its delete, which is more than it frees.
// These blocks, for the messages of the tail's segment and of one more, go to segments without
// messages. A checkpoint frees those segments for the next ones. With fewer messages a smaller
// reserve is enough.
//
// Units:  bytes.
// Limits: the reserve is at most two segments and the space of a checkpoint.
// Errors: none; Log::check_free_space() makes errors of the figures.
// Owner:  the log of one shard.
// Source: wal/DECISIONS.md, "Segments and space".
#pragma once

#include <algorithm>
#include <cstdint>

#include "wal/format/format.h"
#include "wal/segments/segment_pool.h"

namespace pawl {

class SpaceBudget {
 public:
  // The origin of a message. Messages from another queue free as much space at their source, but
  // later. They may use the space reserved from senders: a message at the front of its group may
  // block all deletes that would free space. A queue of the same shard also frees as much memory.
  // Relocation frees a whole segment for a part of one, so its reserve is smaller.
  enum class From : std::uint8_t { sender, queue, same_shard, relocation };

  SpaceBudget(const Geometry& geometry, const SegmentPool& pool)
      : geometry_(geometry), pool_(pool) {}

  // The size of the latest checkpoint; an estimate after recovery.
  std::uint64_t checkpoint_bytes() const { return checkpoint_bytes_; }
  void set_checkpoint_bytes(std::uint64_t bytes) {
    checkpoint_bytes_ = bytes;
    forget_grant();
  }

  // When free space is low, a checkpoint is due after this many bytes, or twice its size if larger.
  std::uint64_t step() const { return std::min(geometry_.segment_bytes / 8, step_max); }
  ReserveRule reserve_rule() const;
  std::uint64_t least_reserve() const;
  std::uint64_t reserve() const { return reserve_rule().bytes(pool_.live()); }
  // True: the free space behind `end`, the log's end, is less than a checkpoint may need.
  bool is_short(Lsn end) const { return pool_.free_space_behind(end) < checkpoint_space(); }
  // The bytes that the log appends before is_short(); 0: it is.
  std::uint64_t until_short(Lsn end) const {
    const std::uint64_t free = pool_.free_space_behind(end), least = checkpoint_space();
    return free < least ? 0 : free - least + 1;
  }
  // The bytes behind `end` that messages may still take.
  std::uint64_t free(Lsn end, From from) const;
  // The bytes beyond the reserve that messages of this origin leave to others.
  std::uint64_t kept_from(From from) const { return from == From::sender ? step() : 0; }
  // Grants the senders the bytes free behind `end`: up to these, no figure is looked at again.
  void grant(Lsn end);
  // True: the grant has so many bytes more, with the log's end at `end` and so many messages.
  bool granted(std::uint64_t bytes, Lsn end, std::uint64_t messages) const {
    const std::uint64_t more = messages - std::min(messages, granted_at_);
    return end + accepted_ + bytes + UpkeepBounds::message_bytes * more <= granted_to_;
  }
  // The free space or the reserve may have changed otherwise than by sends.
  void forget_grant() { granted_to_ = 0; }

  // Reserves bytes of accepted messages until they are appended, in the same turn.
  void accept(std::uint64_t bytes) { accepted_ += bytes; }
  void release_space(std::uint64_t bytes) { accepted_ -= bytes; }
  void end_turn() { accepted_ = 0; }
  std::uint64_t accepted() const { return accepted_; }

 private:
  static constexpr std::uint64_t step_max = 2 << 20;

  std::uint64_t checkpoint_space() const;
  std::uint64_t frame_bytes_max() const {
    return std::min<std::uint64_t>(log_frame_bytes_max, geometry_.extent_bytes);
  }

  Geometry geometry_;
  const SegmentPool& pool_;
  std::uint64_t checkpoint_bytes_ = 0;
  std::uint64_t accepted_ = 0;
  std::uint64_t granted_to_ = 0;  // the log's end, with what is reserved for further messages
  std::uint64_t granted_at_ = 0;  // messages in the log at the grant
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Timers by the hundred million: arming is O(1), cancelling costs nothing.
//
//   arm --> lane (a timeout many share) or wheel slot --> due --> visit
//                            \-- cascade: a coarser slot is opened into finer ones
//
// The wheel has 6 levels of 64 slots of 1 ms, 64 ms, 4 s ...: a reach of 63 * 2^30 ms, 2.14 years.
// Later deadlines wait in the top level and are armed again. A slot is a chain of 1 KiB chunks of
// 16-byte entries, not a list through the messages: a cascade then reads memory in order (8 ns an
// entry against 203 ns for linked messages that are out of cache).
//
// The owner cancels a timer: it increments the generation of the entry's subject, and ignores the
// entry when visited. It calls cancelled(), so that the wheel sweeps stale entries before they are
// the majority. A sweep covers all chains, a little in each turn. A full round drops at least half
// of the entries it examines, so it costs O(1) for each cancel.
//
// A lane is a queue of entries with the same timeout, which are therefore in order of deadline: the
// default visibility timeout of a busy queue never touches the wheel. It is a chain of chunks too,
// so it grows without copying and frees its memory.
//
// Units:  Instant, ms. An entry is visited at its deadline or later, never earlier.
// Limits: lanes_max distinct timeouts have a lane; stale entries are tolerated up to the number of
//         live ones plus `slack`.
// Owner:  one shard. No clock, no callbacks kept.
// Source: tokio's wheel (level from the highest differing bit), Linux kernel/time/timer.c.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/check.h"
#include "core/base/time.h"

namespace pawl {

struct TimerEntry {
  std::uint64_t deadline : 48;  // ms
  std::uint64_t kind : 16;      // the owner's
  std::uint32_t subject;        // the owner's: a slot, a waiter, a queue
  std::uint32_t generation;     // the subject's when the timer was armed
};
static_assert(sizeof(TimerEntry) == 16);

class TimerWheel {
 public:
  static constexpr unsigned levels = 6;
  static constexpr unsigned slots = 64;
  static constexpr unsigned lanes_max = 8;
  static constexpr std::size_t sweep_slack = 64 * 1024;
  static constexpr std::size_t looks_a_cancel = 4;
  static constexpr std::size_t chunk_bytes = 1024;
  static constexpr std::size_t spares_max = 256;

  // Tolerates `slack` stale entries beyond the live ones; keeps `spares` chunks for reuse.
  explicit TimerWheel(Instant start, std::size_t slack = sweep_slack,
                      std::size_t spares = spares_max)
      : slack_(slack), spares_kept_(spares), elapsed_(static_cast<std::uint64_t>(start.ms)) {}
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  void arm(Instant deadline, std::uint16_t kind, std::uint32_t subject, std::uint32_t generation);
  // The same, for a deadline of `now + timeout` with a timeout that repeats.
  void arm(Instant now, Duration timeout, std::uint16_t kind, std::uint32_t subject,
           std::uint32_t generation);
  // An armed entry has become stale.
  void cancelled() {
    CHECK(stale_ < size_, "{} stale entries of {}", stale_, size_);
    ++stale_;
    ++cancels_;
  }

  // Visits due entries. visit(entry) returns the work done, 0 if the entry was stale; visits end
  // when their work and the moved entries reach `budget`. True: there is more to do at this same
  // `now`.
  template <typename Visit>
  bool expire(Instant now, std::size_t budget, Visit&& visit);
  // Drops stale entries: at the heads of lanes, and when they are the majority, also in one chain
  // after the other. live(entry) returns true for a live entry. It is called at most `budget`
  // times, plus looks_a_cancel times for each cancelled() since the last call, plus up to a chunk.
  template <typename Live>
  void sweep(std::size_t budget, Live&& live);

  // The time of the next expire() call; `never` if nothing is armed. It may be early, never late.
  // The value is cached: a turn in which nothing is due costs a comparison.
  Instant next();

  std::size_t size() const { return size_; }
  std::size_t stale() const { return stale_; }
  std::size_t bytes() const { return chunks_ * sizeof(Chunk); }

 private:
  struct Chunk {
    static constexpr std::uint32_t capacity = 63;
    std::array<TimerEntry, capacity> entries;  // used: [first, count)
    Chunk* next;
    std::uint32_t first;  // 0 except in the head of a lane
    std::uint32_t count;
  };
  static_assert(sizeof(Chunk) == chunk_bytes);

  struct Lane {  // entries of one timeout, so in order of deadline
    std::int64_t timeout_ms = -1;
    Chunk* head = nullptr;  // no chunk of a lane is empty
    Chunk* tail = nullptr;
  };

  struct Expiration {
    unsigned level = 0;
    unsigned slot = 0;
    std::uint64_t at = 0;
    bool found = false;
  };

  static constexpr unsigned bits = 6;
  static constexpr unsigned sweep_units = lanes_max + levels * slots;
  void insert(const TimerEntry& entry);
  void push(Chunk*& chain, const TimerEntry& entry);
  Chunk* take_chunk();
  void drop_chunk(Chunk* chunk);
  static const TimerEntry& front(const Lane& lane) { return lane.head->entries[lane.head->first]; }
  void push_back(Lane& lane, TimerEntry entry);
  void pop_front(Lane& lane);
  static void free_chain(Chunk* chain);
  Expiration next_expiration() const;
  std::uint64_t earliest() const;
  void due_at(std::uint64_t at) { next_ = std::min(next_, at); }
  Chunk* take_slot(unsigned level, unsigned slot);
  template <typename Live>
  bool sweep_chain(std::size_t& left, Live&& live);
  template <typename Live>
  void drop_garbage(Chunk& chunk, Live&& live);
  static void move_if_it_fits(Chunk& from, Chunk& to);
  void forget_stale() {
    if (stale_ > 0) --stale_;
  }
  template <typename Visit>
  void visit_one(const TimerEntry& entry, std::size_t& budget, Visit& visit) {
    const std::size_t work = visit(entry);
    if (work == 0) forget_stale();
    budget -= std::min(budget, std::max<std::size_t>(1, work));
  }

  static constexpr std::uint64_t unarmed = UINT64_MAX;

  std::size_t slack_;
  std::size_t spares_kept_;
  std::uint64_t elapsed_;         // everything at or before this ms has been visited
  std::uint64_t next_ = unarmed;  // no work before this ms
  bool next_known_ = true;        // next_ is exact, not merely a bound
  std::array<std::uint64_t, levels> occupied_{};
  std::array<std::array<Chunk*, slots>, levels> wheel_{};
  Chunk* due_ = nullptr;      // taken out of a level-0 slot, being visited
  Chunk* opening_ = nullptr;  // taken out of a slot, being cascaded into finer slots
  Chunk* spare_ = nullptr;
  std::size_t spares_ = 0;
  std::size_t chunks_ = 0;  // including spare chunks
  std::array<Lane, lanes_max> lanes_;
  std::size_t size_ = 0;
  std::size_t stale_ = 0;
  std::size_t cancels_ = 0;       // since the last sweep
  unsigned sweep_at_ = 0;         // lane or slot where the sweep continues
  Chunk* sweep_after_ = nullptr;  // its last swept chunk; null: none yet
};

template <typename Visit>
bool TimerWheel::expire(Instant now, std::size_t budget, Visit&& visit) {
  const auto limit = static_cast<std::uint64_t>(now.ms);
  if (limit < next_) {
    elapsed_ = std::max(elapsed_, limit);
    return false;
  }
  next_known_ = false;
  for (Lane& lane : lanes_) {
    while (lane.head != nullptr && front(lane).deadline <= limit) {
      if (budget == 0) return true;
      const TimerEntry entry = front(lane);
      pop_front(lane);
      CHECK(size_ > 0);
      --size_;
      visit_one(entry, budget, visit);
    }
  }
  for (;;) {
    while (due_ != nullptr) {
      while (due_->count > 0) {
        if (budget == 0) return true;
        const TimerEntry entry = due_->entries[--due_->count];
        CHECK(size_ > 0 && entry.deadline <= limit, "deadline {} at {}", entry.deadline + 0, limit);
        --size_;
        visit_one(entry, budget, visit);
      }
      Chunk* const empty = due_;
      due_ = due_->next;
      drop_chunk(empty);
    }
    while (opening_ != nullptr) {
      while (opening_->count > 0) {
        if (budget == 0) return true;
        --budget;
        const TimerEntry entry = opening_->entries[--opening_->count];
        if (entry.deadline <= elapsed_) {
          push(due_, entry);
        } else {
          insert(entry);
        }
      }
      Chunk* const empty = opening_;
      opening_ = opening_->next;
      drop_chunk(empty);
    }
    if (due_ != nullptr) continue;
    const Expiration next = next_expiration();
    if (!next.found || next.at > limit) break;
    elapsed_ = next.at;
    (next.level == 0 ? due_ : opening_) = take_slot(next.level, next.slot);
  }
  if (limit > elapsed_) elapsed_ = limit;
  next_ = earliest();
  next_known_ = true;
  return false;
}

template <typename Live>
void TimerWheel::sweep(std::size_t budget, Live&& live) {
  std::size_t left = budget + looks_a_cancel * std::exchange(cancels_, 0);
  for (Lane& lane : lanes_) {
    for (; lane.head != nullptr && left > 0 && !live(front(lane)); --left) {
      next_known_ = false;
      pop_front(lane);
      CHECK(size_ > 0);
      --size_;
      forget_stale();
    }
  }
  if (stale_ <= (size_ - std::min(size_, stale_)) + slack_) return;
  next_known_ = false;
  for (unsigned n = 0; n < sweep_units; ++n) {
    if (!sweep_chain(left, live)) return;
    sweep_at_ = (sweep_at_ + 1) % sweep_units;
    sweep_after_ = nullptr;
  }
}

// Sweeps on in the chain of sweep_at_; false: `left` is used up. A chunk keeps its live entries, in
// order, and joins the previous chunk if both fit into one: a chain stays more than half full.
template <typename Live>
bool TimerWheel::sweep_chain(std::size_t& left, Live&& live) {
  const bool is_lane = sweep_at_ < lanes_max;
  const unsigned level = (sweep_at_ - lanes_max) / slots, slot = (sweep_at_ - lanes_max) % slots;
  Chunk*& head = is_lane ? lanes_[sweep_at_].head : wheel_[level][slot];
  for (;;) {
    Chunk* const chunk = sweep_after_ != nullptr ? sweep_after_->next : head;
    if (chunk == nullptr) break;
    if (left == 0) return false;
    left -= std::min<std::size_t>(left, chunk->count - chunk->first);
    drop_garbage(*chunk, live);
    if (sweep_after_ != nullptr) move_if_it_fits(*chunk, *sweep_after_);
    if (chunk->count > 0) {
      sweep_after_ = chunk;
      continue;
    }
    (sweep_after_ != nullptr ? sweep_after_->next : head) = chunk->next;
    drop_chunk(chunk);
  }
  if (is_lane) {
    lanes_[sweep_at_].tail = sweep_after_;
  } else if (head == nullptr) {
    occupied_[level] &= ~(std::uint64_t{1} << slot);
  }
  return true;
}

template <typename Live>
void TimerWheel::drop_garbage(Chunk& chunk, Live&& live) {
  std::uint32_t kept = 0;
  for (std::uint32_t i = chunk.first; i < chunk.count; ++i) {
    if (live(chunk.entries[i])) {
      chunk.entries[kept++] = chunk.entries[i];
    } else {
      --size_;
      forget_stale();
    }
  }
  CHECK(kept <= chunk.count - chunk.first, "{} entries kept", kept);
  chunk.first = 0;
  chunk.count = kept;
}

}  // namespace pawl

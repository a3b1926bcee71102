// SPDX-License-Identifier: Apache-2.0
// Slot: the state of a tracked message. One cache line.
//
//   sent --durable--> visible | delayed --time--> visible
//   visible --receive--> in_flight --time, or by request--> visible | delayed
//   visible --dead letter, move task--> moving --refused--> visible
//
// A tracked message was delivered, is delayed, belongs to a group or came from another queue. A
// message that only waits in a standard queue has no slot. Messages received together for the first
// time share a lease instead (core/queue/lease.h).
//
// Units:  Instant, ms.
// Owner:  the shard's slab of slots; the rules are in core/shard/message_states.cc.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/ids.h"
#include "core/base/time.h"

namespace pawl {

// A LogPos stored in 48 bits.
class [[gnu::packed]] SlotPos {
 public:
  constexpr SlotPos(LogPos position = log_pos_none)
      : low_(static_cast<std::uint32_t>(position)),
        high_(static_cast<std::uint16_t>(position >> 32)) {}
  constexpr operator LogPos() const { return LogPos{high_} << 32 | low_; }

 private:
  std::uint32_t low_;
  std::uint16_t high_;
};
static_assert(sizeof(SlotPos) == 6);

// A time between two receives in 32 bits: ms, or from 24 days on seconds with the highest bit.
inline constexpr std::uint32_t span_in_seconds = std::uint32_t{1} << 31;
constexpr std::uint32_t stored_span(Duration span) {
  if (span.ms < span_in_seconds)
    return static_cast<std::uint32_t>(std::max<std::int64_t>(span.ms, 0));
  return span_in_seconds |
         static_cast<std::uint32_t>(std::min<std::int64_t>(span.ms / 1000, span_in_seconds - 1));
}
constexpr Duration span_of(std::uint32_t stored) {
  return stored < span_in_seconds ? milliseconds(stored) : seconds(stored - span_in_seconds);
}

// Members that change with the state are separate bytes or words. As bits of one word they cost
// 12 ns a message: a load wider than the store before it waits until that store has reached the
// cache.
struct Slot {
  enum class State : std::uint8_t { free, sent, delayed, in_flight, visible, moving };

  SlotPos position;
  State state = State::free;
  bool timer_armed : 1 = false;
  bool returned : 1 = false;  // in its group's list of returned messages
  // The message came from another queue, which has not confirmed its delete: it must not move on.
  bool unsettled : 1 = false;
  bool was_waiting : 1 = false;     // during recovery: was `delayed`, after a receive
  bool final_deadline : 1 = false;  // no back-off follows: it was one, or the consumer set it
  bool cancelled : 1 = false;       // in flight: it ends when its consumer gives it back
  // Its retention counts from the time at which it first became visible, by Queue::aged.
  bool aged_apart : 1 = false;
  // Its time ended while it was in flight or moving: it goes when it is given back or stays.
  bool expired : 1 = false;
  Seq seq = 0;
  Instant deadline;  // when it is or became visible
  Instant since;     // last received; if never received: sent, or 0
  // From the first receive to the last, see stored_span(). If never delivered: its time to live in
  // ms, which begins when it becomes visible; 0: it has none, or that has begun.
  std::uint32_t first_before = 0;
  std::uint32_t receive_count = 0;
  QueueId queue = QueueId::none;
  std::uint32_t nonce = 0;       // nonce of the latest delivery
  std::uint32_t generation = 0;  // generation of its timer; survives the slot's reuse
  std::uint32_t group = 0;       // row of the queue's groups; 0: none
  std::uint32_t next_in_group = 0;
  std::uint32_t prev_in_group = 0;

  // A dead letter was, in its first queue.
  bool never_delivered() const { return receive_count == 0 && nonce == 0; }
  // The time to live that has not begun.
  Duration life_ahead() const { return milliseconds(never_delivered() ? first_before : 0); }
  // Delayed until a time that was set for it by its id, or by a consumer that does not count it.
  bool has_own_time() const { return state == State::delayed && final_deadline; }
  // It was received, and waits for its next delivery.
  bool waits() const { return state == State::delayed && receive_count > 0; }
  // A just returned message alternates with messages never received; it does not precede all of
  // them.
  bool just_returned(Instant now) const { return now - deadline < seconds(1); }
  // This returned message is delivered before the oldest one never received, `fresh`.
  // `chose_returned`: the last such choice was a returned message.
  bool precedes(Seq fresh, bool chose_returned, Instant now) const {
    return seq < fresh && (!just_returned(now) || !chose_returned);
  }
  Instant first_received() const { return since - span_of(first_before); }
  void set_received(std::uint32_t count, Instant first, Instant last) {
    receive_count = count;
    since = last;
    first_before = stored_span(last - first);
  }
};
static_assert(sizeof(Slot) == 64);

}  // namespace pawl

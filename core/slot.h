// Slot: the state of its own that a message may have. One cache line.
//
//   sent --durable--> visible | delayed --time--> visible --receive--> in_flight --time, or by request--> visible
//                                                   \--dead letter, move task--> moving --refused--> visible
//
// A message that only waits in a standard queue has none. One that was handed out, is delayed, belongs to a
// group or came from another queue has one.
//
// Units:  Instant, ms.
// Owner:  the shard's slab of slots; the rules are in core/shard*.cc.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "core/time.h"

namespace pawl {

struct Slot {
  enum class State : std::uint8_t { free, sent, delayed, in_flight, visible, moving };
  static constexpr std::uint32_t count_max = (1u << 24) - 1;
  static constexpr std::uint32_t generation_max = (1u << 29) - 1;

  LogPos position = log_pos_none;
  Seq seq = 0;
  Instant deadline;                   // in flight: visible again; delayed: visible
  Instant since;                      // last received; of one never received: sent, or 0
  std::uint32_t first_ms_before = 0;  // how long before that it was received first
  QueueId queue = QueueId::none;
  std::uint32_t nonce = 0;  // of the latest delivery
  std::uint32_t group = 0;  // row of the queue's groups; 0: none
  std::uint32_t next_in_group = 0;
  std::uint32_t prev_in_group = 0;
  std::uint32_t receive_count : 24 = 0;
  State state : 8 = State::free;
  std::uint32_t generation : 29 = 0;  // of its timer; survives the slot's reuse
  std::uint32_t timer_armed : 1 = 0;
  std::uint32_t returned : 1 = 0;   // in its group's list of those that came back
  std::uint32_t unsettled : 1 = 0;  // came by a transfer whose source may still have it

  Instant first_received() const { return since - milliseconds(first_ms_before); }
  void set_received(std::uint32_t count, Instant first, Instant last) {
    receive_count = count < count_max ? count & count_max : count_max;
    since = last;
    first_ms_before = static_cast<std::uint32_t>(last.ms > first.ms ? last.ms - first.ms : 0);
  }
};
static_assert(sizeof(Slot) == 64);

}  // namespace pawl

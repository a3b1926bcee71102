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

// A LogPos in its 48 bits, and no more room than that.
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

// What changes with the state is a byte or a word of its own. As bits of one word it cost 12 ns a message: a load
// that is wider than the store before it waits until that has reached the cache.
struct Slot {
  enum class State : std::uint8_t { free, sent, delayed, in_flight, visible, moving };

  SlotPos position;
  State state = State::free;
  bool timer_armed : 1 = false;
  bool returned : 1 = false;  // in its group's list of those that came back
  // It came from another queue, which has not confirmed yet that it has let go of it: it must not move on.
  bool unsettled : 1 = false;
  Seq seq = 0;
  Instant deadline;                   // when it is or became visible
  Instant since;                      // last received; of one never received: sent, or 0
  std::uint32_t first_ms_before = 0;  // how long before that it was received first
  std::uint32_t receive_count = 0;
  QueueId queue = QueueId::none;
  std::uint32_t nonce = 0;       // of the latest delivery
  std::uint32_t generation = 0;  // of its timer; survives the slot's reuse
  std::uint32_t group = 0;       // row of the queue's groups; 0: none
  std::uint32_t next_in_group = 0;
  std::uint32_t prev_in_group = 0;

  // A returned message: it alternates with messages never received instead of coming before the newer ones.
  bool just_returned(Instant now) const { return now - deadline < seconds(1); }
  Instant first_received() const { return since - milliseconds(first_ms_before); }
  void set_received(std::uint32_t count, Instant first, Instant last) {
    receive_count = count;
    since = last;
    first_ms_before = static_cast<std::uint32_t>(last.ms > first.ms ? last.ms - first.ms : 0);
  }
};
static_assert(sizeof(Slot) == 64);

}  // namespace pawl

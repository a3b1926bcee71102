// SPDX-License-Identifier: Apache-2.0
// IdlePolicy: decides how a shard's thread passes the time between two turns.
//
//   the next turn is due at once ----------------> turn
//   the shard spins ------------------------------> turn
//   the same, and a write has been under way long -> yield, or step_aside on a shared core
//   otherwise ------------------------------------> sleep
//
// A sleep waits in the ring and ends with the first completion. A spin avoids the wake-up, 20 to
// 40 us of latency, and uses the core meanwhile. With Poll::automatic the shard spins where that
// makes its clients faster: clients that wait for each response send more requests then, clients
// that send at a pace of their own do not. So the policy counts the requests of short windows, some
// with spins and some without, and compares each window with spins and its neighbour without:
//
//   unknown --three pairs of windows--> the better kind --16 windows--> one window of the other kind
//      ^                                     |  ^---- it is not better -----------|
//      |---- no request came for rest_us ----|                                    |
//      |     or few in a window -------------+                                    |
//      +-------------------- it is better ----------------------------------------+
//
// Two pairs of three decide: a slow write of the disk lowers the count of one window and raises
// that of the next, in which the clients catch up. A shard that rests, or gets few requests, sleeps
// and discards its comparisons.
//
// Kernel threads flush for the shard, perhaps on its own core: a shard that spins yields to them.
// On a core shared with others a yield may take a scheduler tick; then the shard sleeps while a
// write is under way, also with Poll::spin.
//
// Units:  microseconds of a monotonic clock.
// Owner:  one shard's thread. It reads no clock.
#pragma once

#include <cstdint>

namespace pawl {

// The values of --poll: auto, always, never.
enum class Poll : std::uint8_t { automatic, spin, block };

class IdlePolicy {
 public:
  static constexpr std::uint64_t yield_after_us = 50;  // age of a log write under way
  // A shard spins so many times longer for the end of a write: most writes end within that time.
  static constexpr std::uint64_t write_spins = 4;
  static constexpr std::uint64_t step_aside_every_us = 200;
  static constexpr std::uint64_t slow_yield_us = 500;
  // A single slow yield proves no neighbour on the core: a kernel thread that allocates or removes
  // a file takes as long. Two within this time do.
  static constexpr std::uint64_t slow_yields_within_us = 20'000;
  static constexpr std::uint64_t contended_us = 1'000'000;  // no spinning after two slow yields
  // A window ends with so many requests, within these times. Fewer tell little: the count of
  // requests that arrive at random varies by its square root, of 1024 by 3 percent. With fewer than
  // the least number the shard sleeps: a wake-up is a small part of the time between two requests.
  static constexpr std::uint64_t window_requests = 1024;
  static constexpr std::uint64_t window_requests_min = 512;
  static constexpr std::uint64_t window_us_min = 20'000;
  static constexpr std::uint64_t window_us_max = 400'000;
  static constexpr std::uint32_t pairs_to_decide = 3;
  static constexpr std::uint32_t windows_a_probe = 16;  // then one of the other kind
  static constexpr std::uint64_t rest_us = 10'000;  // without a request or a log write under way
  // Spinning is worth its CPU time from this many percent more requests on.
  static constexpr std::uint64_t gain_percent = 8;

  enum class Next : std::uint8_t { turn, yield, step_aside, sleep };
  struct Turn {
    std::uint64_t now_us = 0;  // begin of the turn
    bool worked = false;
    bool due = false;            // the next turn is due at once
    bool writing = false;        // a log write is under way
    std::uint64_t requests = 0;  // since the startup
  };

  IdlePolicy(Poll poll, std::uint64_t spin_us) : poll_(poll), spin_us_(spin_us) {}

  Next after(const Turn& turn);
  // A yield that ended at `now_us` took `took_us`.
  void yielded(std::uint64_t now_us, std::uint64_t took_us);
  // Poll::automatic: the current window is one with spins.
  bool spinning() const { return kind_ == spins; }

 private:
  enum Kind : std::uint8_t { sleeps, spins };

  void note_window(const Turn& turn);
  void compare(std::uint64_t rate);
  void forget();
  static bool is_gain(std::uint64_t sleeping_rate, std::uint64_t spinning_rate) {
    return spinning_rate * 100 > sleeping_rate * (100 + gain_percent);
  }
  Kind better_kind() const { return wins_ * 2 > pairs_to_decide ? spins : sleeps; }
  bool spins_on(const Turn& turn) const;
  bool is_alone(std::uint64_t now_us) const {
    return poll_ != Poll::block && now_us >= contended_until_us_;
  }

  Poll poll_;
  std::uint64_t spin_us_;
  std::uint64_t writing_since_us_ = 0;  // 0: no write is under way
  std::uint64_t worked_us_ = 0;         // begin of the latest turn that worked
  std::uint64_t contended_until_us_ = 0;
  std::uint64_t slow_yield_us_ = 0;  // end of the latest slow yield
  std::uint64_t stepped_aside_us_ = 0;

  Kind kind_ = spins;                  // of the current window
  std::uint64_t window_since_us_ = 0;  // 0: there was no turn yet
  std::uint64_t window_since_requests_ = 0;
  std::uint64_t rate_ = 0;     // of the window before, in requests a second; 0: unknown
  std::uint32_t pairs_ = 0;    // compared; pairs_to_decide: the better kind is known
  std::uint32_t wins_ = 0;     // pairs in which spinning was worth it
  std::uint32_t windows_ = 0;  // since the latest window of the other kind
};

}  // namespace pawl

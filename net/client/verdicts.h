// SPDX-License-Identifier: Apache-2.0
// The thread-safe side of a Consumer: verdicts, orders to shut down, and the status.
//
//   running --drain--> draining (no receives) --release--> releasing (nothing stays under way)
//
// Errors: none.
// Owner:  one ConsumerCore; one mutex guards everything.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "net/client/connecting.h"
#include "net/client/pawl/consumer.h"
#include "net/client/readiness.h"

namespace pawl::client {

struct TokenVerdict {
  Consumer::Token token;
  Verdict verdict;
};

class Verdicts {
 public:
  enum class Mode : std::uint8_t { running, draining, releasing };

  explicit Verdicts(const Readiness& readiness) : readiness_(readiness) {}

  // --- any thread ---
  void complete(Consumer::Token token, Verdict verdict);
  void advance(Mode mode);  // never back
  void interrupt();         // wakes the driver
  bool is_idle() const;
  // True when nothing is under way or unconfirmed, since the mode was set; false at the deadline.
  bool wait_idle(Clock::time_point deadline);
  Consumer::Status status() const;

  // --- the driver ---
  // Replaces the content of `verdicts`; returns the mode.
  Mode collect(std::vector<TokenVerdict>& verdicts);
  void report(const Consumer::Status& status, Mode mode);
  // False: something has arrived, and the driver must take another turn.
  bool sleep();

 private:
  void wake();

  const Readiness& readiness_;
  mutable std::mutex mutex_;
  std::condition_variable idle_changed_;
  std::vector<TokenVerdict> pending_;
  Mode mode_ = Mode::running;
  Mode reported_mode_ = Mode::running;  // that status_ is of
  bool asleep_ = false;
  bool signalled_ = false;  // the wake-up descriptor is readable
  Consumer::Status status_;
};

}  // namespace pawl::client

// SPDX-License-Identifier: Apache-2.0
// One thread of the load generator: its connections, its loop, its counts.
//
//   time:  start --warm_up--> round 1 --seconds--> round 2 ... --> deadline --responses--> end
//          A stop signal moves the deadline to the present, and ends the sends.
//
//   slot of a producer:  free --due--> sending --answer--> free
//   slot of a consumer:  receiving --messages--> deleting --answer--> receiving
//                          \--no messages--> resting (receive workload) --later--> receiving
//   A subscription (options.subscribe) uses no slots: messages are acknowledged as they arrive.
//
// Units:  nanoseconds of CLOCK_MONOTONIC.
// Limits: connections x depth slots. In a closed loop, e2e keeps at most `backlog_max` messages
//         of all threads undelivered.
// Errors: readable texts; empty: success.
// Owner:  run_threads(), which runs it in one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/load_channel.h"
#include "bench/load_codec.h"
#include "bench/load_delivery.h"
#include "bench/load_figures.h"
#include "bench/load_schedule.h"
#include "bench/stop_signals.h"
#include "core/base/check.h"

namespace pawl::load {

std::uint64_t monotonic_ns();

// State of all threads of a load.
struct RunShared {
  RunShared(const LoadOptions& whole, const Target& target, const StopSignals& stop_signals);

  const StopSignals& stop;
  const std::int64_t backlog_max;
  std::atomic<std::int64_t> undelivered = 0;  // e2e: messages sent or being sent, not yet delivered
  std::atomic<std::uint32_t> sending;         // threads that have not sent their last message
  std::atomic<bool> broken = false;           // a thread failed: all end
  std::unique_ptr<DeliveryCheck> check;       // with --verify
};

class Run {
 public:
  // `share`: of this thread, number `thread`; its first producer is number `first_producer`.
  Run(const LoadOptions& share, const Target& target, RunShared& shared, std::uint32_t thread,
      std::uint32_t first_producer);
  ~Run();

  // After a stop signal some connections are missing.
  std::string connect(bool create);
  bool created() const;  // connect() created the queue
  std::string go(std::uint64_t start, const SecondPassed& second_passed);

  // Valid after go().
  const LoadFigures& figures() const { return figures_; }
  bool interrupted() const { return interrupted_; }  // a signal moved the deadline

 private:
  enum class Doing : std::uint8_t { nothing, sending, receiving, deleting };
  struct Slot {
    std::uint64_t since = 0;     // due time of the request
    std::uint64_t sequence = 0;  // of the first message of a send
    Doing doing = Doing::nothing;
    std::uint8_t empty_answers = 0;  // in a row
  };
  struct Line {
    Channel channel;
    bool consumer = false;
    std::uint64_t next_sequence = 0;
    std::unique_ptr<Codec> codec;
    bool dirty = false;        // has bytes to send
    bool wants_write = false;  // epoll watches for writability
    std::string out;
    std::size_t sent = 0;
    std::vector<char> in;
    std::size_t filled = 0;
    std::vector<Slot> slots;
  };
  // A first-in first-out list of slots, as line * depth + slot, with space for all slots.
  struct SlotRing {
    std::vector<std::uint32_t> items;
    std::size_t first = 0;
    std::size_t count = 0;
    void push(std::uint32_t item) {
      CHECK(count < items.size(), "more than {} slots in a list", items.size());
      items[(first + count++) % items.size()] = item;
    }
    std::uint32_t pop();
  };

  bool watch_signals();
  std::string open_line(bool consumer, bool create);
  void plan(std::uint64_t start);
  void interrupt(std::uint64_t now);
  void start_consumers();
  void issue_sends(std::uint64_t now);
  bool enough() const;
  bool may_send() const;
  void receive(std::uint32_t line, std::uint32_t slot, std::uint64_t now);
  void wake_resting(std::uint64_t now);

  std::string read(std::uint32_t line);
  std::string read_once(std::uint32_t line);
  void answered(std::uint32_t line, const Reply& reply, std::uint64_t now);
  void pushed(std::uint32_t line, const Reply& reply, std::uint64_t now);
  void delivered(std::uint32_t line, const Reply& reply, std::uint64_t now);
  std::uint32_t time_deliveries(const Delivered* first, std::uint32_t count, std::uint64_t now);
  void nothing_there(std::uint32_t line, const Reply& reply, std::uint64_t now);
  std::string flush(Line& line);
  std::string flush_dirty();
  void touch(std::uint32_t line);

  bool is_e2e() const { return options_.workload == LoadOptions::Workload::e2e; }
  bool more_due(std::uint64_t now) const;
  bool all_sent(std::uint64_t now) const;
  bool over(std::uint64_t now);
  std::int64_t sleep_ns(std::uint64_t now) const;
  std::string poll(std::uint64_t now);
  void count_missing();

  const LoadOptions options_;
  const Target& target_;
  RunShared& shared_;
  const std::uint32_t thread_, first_producer_;
  int epoll_ = -1;
  std::vector<Line> lines_;
  std::uint32_t producers_ = 0;  // among lines_
  std::vector<std::uint32_t> dirty_;
  SlotRing free_, resting_;
  std::vector<std::uint64_t> rest_until_;  // for every slot
  std::vector<Reply> replies_;
  std::vector<Delivered> delivered_list_;

  LoadSchedule pace_{0, 0};
  std::uint64_t start_ = 0, deadline_ = 0;
  bool stopping_ = false;
  bool interrupted_ = false;
  bool sent_all_ = false;
  std::uint64_t busy_ = 0;     // slots with a request that must finish before the end
  std::uint64_t drained_ = 0;  // consumer slots that found the queue empty repeatedly

  std::uint64_t issued_ = 0;  // messages in issued sends
  LoadFigures figures_;
};

}  // namespace pawl::load

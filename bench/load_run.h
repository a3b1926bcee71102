// SPDX-License-Identifier: Apache-2.0
// One run of the load generator: its connections, its loop, its counts.
//
//   slot of a producer:  free --due--> sending --answer--> free
//   slot of a consumer:  receiving --messages--> deleting --answer--> receiving
//                          \--no messages--> resting (receive workload) --later--> receiving
//
// Units:  nanoseconds of CLOCK_MONOTONIC.
// Limits: connections x depth slots. In a closed loop, e2e keeps at most `backlog_max` messages
//         undelivered.
// Errors: readable texts; empty: success.
// Owner:  one thread, run_load's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/histogram.h"
#include "bench/load_codec.h"
#include "bench/load_schedule.h"
#include "core/check.h"

namespace pawl::load {

std::uint64_t monotonic_ns();

struct Interval {
  std::uint64_t second = 0;  // counted from the start
  std::uint64_t messages = 0;
  std::uint64_t errors = 0;
  const Histogram* latency = nullptr;
};

class Run {
 public:
  Run(const LoadOptions& options, const Target& target);
  ~Run();

  std::string connect();
  std::string go(const std::function<void(const Interval&)>& each_second);

  // Results of the whole run, valid after it ends.
  const Histogram& latency() const { return total_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t errors() const { return errors_; }
  // Refusals by reason.
  const std::map<std::string, std::uint64_t>& reasons() const { return reasons_; }
  double elapsed_seconds() const { return static_cast<double>(last_progress_ - start_) / 1e9; }

 private:
  enum class Doing : std::uint8_t { nothing, sending, receiving, deleting };
  struct Slot {
    std::uint64_t since = 0;  // due time of the request
    Doing doing = Doing::nothing;
    std::uint8_t empty_answers = 0;  // in a row
  };
  struct Line {
    int socket = -1;
    bool consumer = false;
    bool dirty = false;        // has bytes to send
    bool wants_write = false;  // epoll watches for writability
    std::unique_ptr<Codec> codec;
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

  std::string open_line(bool consumer);
  void start_consumers();
  void issue_sends(std::uint64_t now);
  bool enough() const;
  bool may_send() const;
  void receive(std::uint32_t line, std::uint32_t slot, std::uint64_t now);
  void wake_resting(std::uint64_t now);

  std::string read(std::uint32_t line);
  void answered(std::uint32_t line, const Reply& reply, std::uint64_t now);
  void delivered(std::uint32_t line, const Reply& reply, std::uint64_t now);
  void nothing_there(std::uint32_t line, const Reply& reply, std::uint64_t now);
  std::string flush(Line& line);
  std::string flush_dirty();
  void touch(std::uint32_t line);

  bool over(std::uint64_t now) const;
  std::int64_t sleep_ns(std::uint64_t now) const;
  std::string poll(std::uint64_t now);
  void report(std::uint64_t now, const std::function<void(const Interval&)>& each_second);

  const LoadOptions& options_;
  const Target& target_;
  int epoll_ = -1;
  std::vector<Line> lines_;
  std::vector<std::uint32_t> dirty_;
  SlotRing free_, resting_;
  std::vector<std::uint64_t> rest_until_;  // for every slot
  std::vector<Reply> replies_;
  std::vector<Delivered> delivered_list_;

  LoadSchedule pace_{0, 0};
  std::uint64_t start_ = 0, deadline_ = 0, next_report_ = 0, last_progress_ = 0;
  bool stopping_ = false;
  std::uint64_t backlog_max_ = 0;
  std::uint64_t busy_ = 0;     // slots with a request that must finish before the end
  std::uint64_t drained_ = 0;  // consumer slots that found the queue empty repeatedly

  std::uint64_t undelivered_ = 0;  // e2e: messages sent or being sent, and not yet delivered
  std::uint64_t issued_ = 0;       // messages in issued sends
  std::uint64_t messages_ = 0, errors_ = 0;
  std::map<std::string, std::uint64_t> reasons_;
  std::uint64_t reported_messages_ = 0, reported_errors_ = 0;
  Histogram second_, total_;
};

}  // namespace pawl::load

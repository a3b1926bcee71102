// SPDX-License-Identifier: Apache-2.0
// EventLog: the events of the server, one line each, to stderr. No caller waits for stderr.
//
//   any thread: emit ─▶ limit of the code ─▶ ring ─▶ the writer's thread ─▶ LineSink
//                             │ used up        │ full                 │ lost
//                             └────────────────┴──────────────────────┴─▶ suppressed, reported by
//                                                      the next line of the code or by the stop
//
//   no writer ──start()──▶ writer ──the last stop()──▶ no writer
//
// Without a writer (other verbs than `pawl serve`, startup, tests) the emitting thread writes the
// lines itself and waits up to patience_us for each.
//
// Limits: `capacity` events wait for the writer; the rest is suppressed. A stop waits up to
//         patience_us for stderr, then twice as long at most for the thread.
// Errors: none. An unwritable stderr loses lines and nothing else.
// Owner:  event_log() is that of the process and is never destroyed, because any thread may use it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "net/events/event.h"
#include "net/events/event_limit.h"
#include "net/events/line_sink.h"
#include "net/events/shared_ring.h"

namespace pawl {

class EventLog {
 public:
  static constexpr std::size_t capacity = 1024;
  static constexpr std::int64_t patience_us = 1'000'000;

  // `patience` in us.
  explicit EventLog(int fd, std::int64_t patience = patience_us);
  ~EventLog();  // stopped

  void write_as(LogFormat format);  // before the first call: text

  // Lines are written by a thread of their own while there are more starts than stops.
  void start();
  void stop();

  // Whether the code has a line left now. If not, the event is counted as suppressed.
  bool admit(EventCode code, std::int64_t now_us);
  // Writes an admitted event.
  void put(Event event);
  void emit(Event event) {
    if (admit(event.code, steady_us())) put(std::move(event));
  }

  // Waits until the events emitted so far are written, up to the patience. False: not all are.
  bool flush();

 private:
  // A thread that stays blocked in a write keeps its part of the log beyond the stop.
  struct Shared {
    Shared(int fd, std::int64_t patience);
    ~Shared();
    void wake() const;
    void run();
    void drain();  // by the consumer
    void write(Event& event);
    void report_suppressed();

    const std::int64_t patience;
    int wake_fd, ended_fd;
    SharedRing<Event, capacity> ring;
    std::array<EventLimit, event_codes> limits;
    std::atomic<LogFormat> format{LogFormat::text};
    std::atomic<bool> consumer{false};  // a thread takes from the ring; it owns `sink` too
    std::atomic<bool> writer{false};    // that thread is the writer's
    std::atomic<bool> ending{false};
    std::atomic<std::int64_t> deadline_us{0};  // of writes
    std::atomic<std::uint64_t> done{0};        // events written or lost
    LineSink sink;
  };

  void drain_without_writer();

  std::shared_ptr<Shared> shared_;
  std::mutex starts_;  // guards the members below
  unsigned started_ = 0;
  std::thread thread_;
};

// The first call opens closed standard descriptors; `pawl serve` makes it before it opens others.
EventLog& event_log();

inline void emit(Event event) { event_log().emit(std::move(event)); }
// For the last event of a process that ends without a stop.
void emit_last(Event event);

// Sentences for the people at a terminal, JSON for the programs that read anything else.
LogFormat format_of_readers(int fd);

// Keeps the writer of the process's log at work.
class EventWriting {
 public:
  EventWriting() { event_log().start(); }
  ~EventWriting() { event_log().stop(); }
  EventWriting(const EventWriting&) = delete;
  EventWriting& operator=(const EventWriting&) = delete;
};

// Opens /dev/null in place of each closed standard descriptor. Without it the next file or socket
// takes that number, and lines are written into it.
void open_standard_descriptors();

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/events/event_log.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr int flush_look_ms = 1;

std::int64_t wall_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void wait_for(int fd, int timeout_ms) {
  pollfd in{.fd = fd, .events = POLLIN, .revents = 0};
  ::poll(&in, 1, timeout_ms);
}

void signal_event(int fd) {
  const std::uint64_t one = 1;
  CHECK(::write(fd, &one, sizeof one) == sizeof one || errno == EAGAIN, "{}", std::strerror(errno));
}

// An eventfd above the sockets that a service manager may hand over, which begin at 3: a missing
// one stays missing.
int make_event() {
  constexpr int first = 16;
  const int low = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (low < 0 || low >= first) return low;
  const int high = fcntl(low, F_DUPFD_CLOEXEC, first);
  if (high < 0) return low;  // so few descriptors are allowed
  ::close(low);
  return high;
}

}  // namespace

EventLog::Shared::Shared(int fd, std::int64_t write_patience)
    : patience(write_patience), wake_fd(make_event()), ended_fd(make_event()), sink(fd) {
  CHECK(wake_fd >= 0 && ended_fd >= 0, "{}", std::strerror(errno));
}

EventLog::Shared::~Shared() {
  ::close(wake_fd);
  ::close(ended_fd);
}

void EventLog::Shared::wake() const { signal_event(wake_fd); }

// The writer's thread. It blocks signals, which the main thread takes.
void EventLog::Shared::run() {
  CHECK(consumer.load(std::memory_order_relaxed), "the writer is the consumer");
  for (bool last = false; !last;) {
    last = ending.load(std::memory_order_acquire);
    drain();
    if (last) break;
    wait_for(wake_fd, -1);
    std::uint64_t count = 0;
    if (::read(wake_fd, &count, sizeof count) < 0)
      CHECK(errno == EAGAIN || errno == EINTR, "{}", std::strerror(errno));
  }
  report_suppressed();
  consumer.exchange(false, std::memory_order_acq_rel);
  signal_event(ended_fd);
}

void EventLog::Shared::drain() {
  for (Event event; ring.pop(event);) write(event);
}

void EventLog::Shared::write(Event& event) {
  if (!sink.write(line_of(event, format.load(std::memory_order_relaxed)), deadline_us))
    limits[static_cast<std::size_t>(event.code)].suppress(1 + event.suppressed);
  done.fetch_add(1, std::memory_order_release);
}

void EventLog::Shared::report_suppressed() {
  for (std::size_t i = 0; i < event_codes; ++i) {
    const std::uint64_t count = limits[i].take_suppressed();
    if (count == 0) continue;
    const auto code = static_cast<EventCode>(i);
    const Event event{code, std::string(row_of(code).message), {}, wall_us(), count};
    if (!sink.write(line_of(event, format.load(std::memory_order_relaxed)), deadline_us)) return;
  }
}

EventLog::EventLog(int fd, std::int64_t patience)
    : shared_(std::make_shared<Shared>(fd, patience)) {}

EventLog::~EventLog() { CHECK(started_ == 0, "the log is stopped before it goes"); }

void EventLog::write_as(LogFormat format) {
  shared_->format.store(format, std::memory_order_relaxed);
}

void EventLog::start() {
  const std::lock_guard lock(starts_);
  if (started_++ != 0) return;
  CHECK(!thread_.joinable(), "the log has one writer");
  // Another thread that writes its own lines is done within the patience.
  const std::int64_t give_up_us = steady_us() + 2 * shared_->patience;
  while (shared_->consumer.exchange(true, std::memory_order_acq_rel)) {
    if (steady_us() > give_up_us) return;
    ::poll(nullptr, 0, flush_look_ms);
  }
  shared_->ending.store(false, std::memory_order_relaxed);
  shared_->deadline_us.store(INT64_MAX, std::memory_order_relaxed);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([shared = shared_] { shared->run(); });
  shared_->writer.store(true, std::memory_order_release);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void EventLog::stop() {
  const std::lock_guard lock(starts_);
  CHECK(started_ > 0, "more stops than starts");
  if (--started_ != 0 || !thread_.joinable()) return;
  shared_->deadline_us.store(steady_us() + shared_->patience, std::memory_order_release);
  shared_->writer.store(false, std::memory_order_release);
  shared_->ending.store(true, std::memory_order_release);
  shared_->wake();
  wait_for(shared_->ended_fd, static_cast<int>(2 * shared_->patience / 1000));
  std::uint64_t ended = 0;
  if (::read(shared_->ended_fd, &ended, sizeof ended) != sizeof ended) {
    thread_.detach();  // blocked in a write, which the end of the process interrupts
    return;
  }
  thread_.join();
  drain_without_writer();
}

bool EventLog::admit(EventCode code, std::int64_t now_us) {
  return shared_->limits[static_cast<std::size_t>(code)].admit(row_of(code).lines_a_minute, now_us);
}

void EventLog::put(Event event) {
  EventLimit& limit = shared_->limits[static_cast<std::size_t>(event.code)];
  event.time_us = wall_us();
  event.suppressed = limit.take_suppressed();
  if (!shared_->ring.push(event)) return limit.suppress(1 + event.suppressed);
  if (shared_->writer.load(std::memory_order_acquire)) return shared_->wake();
  drain_without_writer();
}

// The thread that empties the ring also writes the events that others push meanwhile. Both
// exchanges order its last look at the ring after the push of a thread that found it at work.
void EventLog::drain_without_writer() {
  while (shared_->done.load(std::memory_order_acquire) < shared_->ring.pushed()) {
    if (shared_->consumer.exchange(true, std::memory_order_acq_rel)) return shared_->wake();
    shared_->deadline_us.store(steady_us() + shared_->patience, std::memory_order_relaxed);
    shared_->drain();
    shared_->consumer.exchange(false, std::memory_order_acq_rel);
  }
}

bool EventLog::flush() {
  const std::uint64_t all = shared_->ring.pushed();
  const std::int64_t give_up_us = steady_us() + shared_->patience;
  while (shared_->done.load(std::memory_order_acquire) < all) {
    if (steady_us() >= give_up_us) return false;
    ::poll(nullptr, 0, flush_look_ms);
  }
  return true;
}

EventLog& event_log() {
  static EventLog& log = []() -> EventLog& {
    open_standard_descriptors();
    return *new EventLog(STDERR_FILENO);
  }();
  return log;
}

void emit_last(Event event) {
  emit(std::move(event));
  event_log().flush();
}

LogFormat format_of_readers(int fd) { return isatty(fd) == 1 ? LogFormat::text : LogFormat::json; }

void open_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    CHECK(opened < 0 || opened == fd, "descriptor {} in place of {}", opened, fd);
  }
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "bench/load_run.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "net/client/loopback.h"

namespace pawl::load {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t rest_ns = 10'000'000;
constexpr std::uint64_t grace_ns = 5 * second_ns;  // for responses after the end
constexpr std::uint8_t empty_answers_max = 3;
constexpr std::size_t receive_bytes = 256 << 10;
constexpr int events_max = 256;

std::string system_text(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

// Returns a blocking socket, or -1 and a text.
int connect_to(const Target& target, std::string& fault) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found);
      error != 0) {
    fault = target.host + ": " + ::gai_strerror(error);
    return -1;
  }
  int socket = -1;
  for (const addrinfo* a = found; a && socket < 0; a = a->ai_next) {
    socket = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (socket < 0) continue;
    avoid_pacing(socket, *a->ai_addr);
    if (::connect(socket, a->ai_addr, a->ai_addrlen) == 0) continue;
    fault = "cannot reach " + system_text((target.host + ":" + target.port).c_str()) +
            ". Is `pawl serve` running there?";
    ::close(socket);
    socket = -1;
  }
  ::freeaddrinfo(found);
  if (socket < 0) return -1;
  const int on = 1;
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return socket;
}

}  // namespace

std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * second_ns +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint32_t Run::SlotRing::pop() {
  CHECK(count > 0, "a slot is taken from an empty list");
  const std::uint32_t item = items[first];
  first = (first + 1) % items.size();
  --count;
  return item;
}

Run::Run(const LoadOptions& options, const Target& target) : options_(options), target_(target) {
  const std::uint64_t sides = options.workload == LoadOptions::Workload::e2e ? 2 : 1;
  const std::uint64_t slots = sides * options.connections * options.depth;
  free_.items.resize(slots);
  resting_.items.resize(slots);
  rest_until_.resize(slots);
  backlog_max_ = std::max<std::uint64_t>(
      1000, std::uint64_t{4} * options.connections * options.depth * options.batch);
}

Run::~Run() {
  for (const Line& line : lines_) ::close(line.socket);
  if (epoll_ >= 0) ::close(epoll_);
}

// --- before the start ---

std::string Run::connect() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return system_text("epoll_create1");
  using Workload = LoadOptions::Workload;
  lines_.reserve(std::size_t{2} * options_.connections);
  for (std::uint32_t i = 0; i < options_.connections; ++i) {
    std::string fault;
    if (options_.workload != Workload::receive) fault = open_line(false);
    if (fault.empty() && options_.workload != Workload::send) fault = open_line(true);
    if (!fault.empty()) return fault;
  }
  return {};
}

std::string Run::open_line(bool consumer) {
  std::string fault;
  const int socket = connect_to(target_, fault);
  if (socket < 0) return fault;
  Line& line = lines_.emplace_back();
  line.socket = socket;
  line.consumer = consumer;
  line.codec =
      target_.http ? make_http_codec(options_, target_) : make_binary_codec(options_, target_);
  line.slots.resize(options_.depth);
  line.in.resize(receive_bytes);
  fault = line.codec->prepare(socket, options_.create);
  if (!fault.empty()) return fault;
  const int flags = ::fcntl(socket, F_GETFL);
  epoll_event event{.events = EPOLLIN,
                    .data = {.u32 = static_cast<std::uint32_t>(lines_.size() - 1)}};
  const bool ready = ::fcntl(socket, F_SETFL, flags | O_NONBLOCK) == 0 &&
                     ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) == 0;
  return ready ? std::string() : system_text("epoll_ctl");
}

// --- the loop ---

std::string Run::go(const std::function<void(const Interval&)>& each_second) {
  CHECK(epoll_ >= 0, "a run begins before connect()");
  start_ = last_progress_ = monotonic_ns();
  deadline_ = start_ + static_cast<std::uint64_t>(options_.seconds * 1e9);
  next_report_ = start_ + second_ns;
  pace_ = LoadSchedule(options_.rate / options_.batch, start_);
  for (std::uint32_t slot = 0; slot < options_.depth; ++slot) {
    for (std::uint32_t line = 0; line < lines_.size(); ++line) {
      if (!lines_[line].consumer) free_.push(line * options_.depth + slot);
    }
  }
  start_consumers();

  std::string fault;
  std::uint64_t now = start_;
  while (fault.empty() && !over(now)) {
    issue_sends(now);
    wake_resting(now);
    fault = flush_dirty();
    if (fault.empty()) fault = poll(now);
    now = monotonic_ns();
    stopping_ = stopping_ || now >= deadline_ || enough();
    report(now, each_second);
  }
  total_.merge(second_);
  if (now >= deadline_ + grace_ns)
    errors_ += busy_ + (enough() ? 0 : pace_.left(deadline_) * options_.batch);
  if (messages_ == 0) last_progress_ = now;
  return fault;
}

void Run::start_consumers() {
  for (std::uint32_t line = 0; line < lines_.size(); ++line) {
    if (!lines_[line].consumer) continue;
    for (std::uint32_t slot = 0; slot < options_.depth; ++slot) receive(line, slot, start_);
  }
}

bool Run::over(std::uint64_t now) const {
  using Workload = LoadOptions::Workload;
  if (now >= deadline_ + grace_ns) return true;
  if (options_.workload == Workload::receive && drained_ == lines_.size() * options_.depth)
    return true;
  if (!stopping_ || busy_ > 0) return false;
  if (options_.workload != Workload::receive && pace_.next(now) < deadline_ && pace_.open() &&
      !enough())
    return false;
  return options_.workload != Workload::e2e || undelivered_ == 0;
}

std::int64_t Run::sleep_ns(std::uint64_t now) const {
  if (options_.spin) return 0;
  std::uint64_t until = std::min(next_report_, stopping_ ? deadline_ + grace_ns : deadline_);
  if (free_.count > 0 && !enough() && pace_.open() && pace_.next(now) < deadline_)
    until = std::min(until, pace_.next(now));
  if (resting_.count > 0) until = std::min(until, rest_until_[resting_.items[resting_.first]]);
  return until > now ? static_cast<std::int64_t>(until - now) : 0;
}

std::string Run::poll(std::uint64_t now) {
  epoll_event events[events_max];
  const std::int64_t ns = sleep_ns(now);
  const timespec timeout{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  const int count = ::epoll_pwait2(epoll_, events, events_max, &timeout, nullptr);
  if (count < 0 && errno != EINTR) return system_text("epoll_pwait2");
  for (int i = 0; i < count; ++i) {
    const std::uint32_t line = events[i].data.u32;
    CHECK(line < lines_.size(), "connection {} of {}", line, lines_.size());
    std::string fault;
    if (events[i].events & ~std::uint32_t{EPOLLOUT}) fault = read(line);
    if (fault.empty() && (events[i].events & EPOLLOUT)) fault = flush(lines_[line]);
    if (!fault.empty()) return fault;
  }
  return {};
}

void Run::report(std::uint64_t now, const std::function<void(const Interval&)>& each_second) {
  if (now < next_report_) return;
  each_second({.second = (next_report_ - start_) / second_ns,
               .messages = messages_ - reported_messages_,
               .errors = errors_ - reported_errors_,
               .latency = &second_});
  reported_messages_ = messages_;
  reported_errors_ = errors_;
  total_.merge(second_);
  second_.clear();
  next_report_ += second_ns;
}

// --- out ---

void Run::touch(std::uint32_t line) {
  if (lines_[line].dirty) return;
  lines_[line].dirty = true;
  dirty_.push_back(line);
}

// True: the requested number of messages has been sent, or received.
bool Run::enough() const {
  if (options_.messages == 0) return false;
  return (options_.workload == LoadOptions::Workload::receive ? messages_ : issued_) >=
         options_.messages;
}

// In an open loop, requests due before the end are still sent after it: the longest waits must
// count.
bool Run::may_send() const {
  if (free_.count == 0 || enough()) return false;
  if (pace_.open()) return true;
  const bool bounded = options_.workload == LoadOptions::Workload::e2e;
  return !stopping_ && (!bounded || undelivered_ + options_.batch <= backlog_max_);
}

void Run::issue_sends(std::uint64_t now) {
  while (may_send()) {
    const std::uint64_t due = pace_.next(now);
    if (due > now || due >= deadline_) return;
    pace_.issue();
    const std::uint32_t item = free_.pop();
    const std::uint32_t line = item / options_.depth;
    const std::uint32_t slot = item % options_.depth;
    CHECK(lines_[line].slots[slot].doing == Doing::nothing, "slot {} is in use", slot);
    lines_[line].slots[slot] = {.since = due, .doing = Doing::sending};
    lines_[line].codec->append_send(lines_[line].out, slot, due);
    undelivered_ += options_.batch;
    issued_ += options_.batch;
    ++busy_;
    touch(line);
  }
}

void Run::receive(std::uint32_t line, std::uint32_t slot, std::uint64_t now) {
  const bool e2e = options_.workload == LoadOptions::Workload::e2e;
  Slot& self = lines_[line].slots[slot];
  CHECK(self.doing == Doing::nothing, "slot {} is in use", slot);
  self.since = now;
  self.doing = Doing::receiving;
  // A long poll (e2e) does not delay the end of the run.
  if (!e2e) ++busy_;
  lines_[line].codec->append_receive(lines_[line].out, slot, e2e);
  touch(line);
}

void Run::wake_resting(std::uint64_t now) {
  while (resting_.count > 0 && rest_until_[resting_.items[resting_.first]] <= now) {
    const std::uint32_t item = resting_.pop();
    if (!stopping_ || options_.workload == LoadOptions::Workload::e2e)
      receive(item / options_.depth, item % options_.depth, now);
  }
}

std::string Run::flush_dirty() {
  for (const std::uint32_t line : dirty_) {
    lines_[line].dirty = false;
    if (std::string fault = flush(lines_[line]); !fault.empty()) return fault;
  }
  dirty_.clear();
  return {};
}

std::string Run::flush(Line& line) {
  while (line.sent < line.out.size()) {
    const ssize_t n = ::send(line.socket, line.out.data() + line.sent, line.out.size() - line.sent,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) return system_text("a connection broke");
    line.sent += static_cast<std::size_t>(n);
    CHECK(line.sent <= line.out.size(), "{} bytes are sent of {}", line.sent, line.out.size());
  }
  const bool blocked = line.sent < line.out.size();
  if (!blocked) {
    line.out.clear();
    line.sent = 0;
  }
  if (blocked != line.wants_write) {
    line.wants_write = blocked;
    const std::uint32_t wanted = EPOLLIN | (blocked ? std::uint32_t{EPOLLOUT} : 0);
    epoll_event event{.events = wanted,
                      .data = {.u32 = static_cast<std::uint32_t>(&line - lines_.data())}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, line.socket, &event) < 0)
      return system_text("epoll_ctl");
  }
  return {};
}

// --- in ---

std::string Run::read(std::uint32_t index) {
  Line& line = lines_[index];
  if (line.filled == line.in.size()) line.in.resize(2 * line.in.size());
  const ssize_t n =
      ::recv(line.socket, line.in.data() + line.filled, line.in.size() - line.filled, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (n < 0) return system_text("a connection broke");
  if (n == 0) return "the server closed a connection";
  const std::uint64_t now = monotonic_ns();
  line.filled += static_cast<std::size_t>(n);
  replies_.clear();
  delivered_list_.clear();
  const std::size_t taken =
      line.codec->parse({line.in.data(), line.filled}, replies_, delivered_list_);
  if (taken == Codec::broken) return "the server sent an invalid response";
  CHECK(taken <= line.filled, "{} bytes are parsed of {}", taken, line.filled);
  for (const Reply& reply : replies_) {
    if (reply.slot >= line.slots.size()) return "the server sent a response without a request";
    answered(index, reply, now);
  }
  std::memmove(line.in.data(), line.in.data() + taken, line.filled - taken);
  line.filled -= taken;
  return {};
}

void Run::answered(std::uint32_t line, const Reply& reply, std::uint64_t now) {
  const bool e2e = options_.workload == LoadOptions::Workload::e2e;
  Slot& slot = lines_[line].slots[reply.slot];
  errors_ += reply.failed;
  if (reply.failed > 0) reasons_[reply.reason] += reply.failed;
  switch (slot.doing) {
    case Doing::nothing:
      return;
    case Doing::receiving:
      if (!e2e) --busy_;
      return reply.good > 0 ? delivered(line, reply, now) : nothing_there(line, reply, now);
    case Doing::sending:
      CHECK(busy_ > 0, "a response to a send while no request is in flight");
      --busy_;
      slot.doing = Doing::nothing;
      undelivered_ -= e2e ? options_.batch - reply.good : options_.batch;
      free_.push(line * options_.depth + reply.slot);
      if (e2e) return;
      if (reply.good > 0) second_.record(now - slot.since);
      break;
    case Doing::deleting:
      CHECK(busy_ > 0, "a response to a delete while no request is in flight");
      --busy_;
      slot.doing = Doing::nothing;
      if (!stopping_ || e2e) receive(line, reply.slot, now);
      break;
  }
  messages_ += reply.good;
  if (reply.good > 0) last_progress_ = now;
}

void Run::delivered(std::uint32_t line, const Reply& reply, std::uint64_t now) {
  const bool e2e = options_.workload == LoadOptions::Workload::e2e;
  Slot& slot = lines_[line].slots[reply.slot];
  const Delivered* first = delivered_list_.data() + reply.first_delivered;
  CHECK(slot.doing == Doing::receiving, "messages for slot {}, which has no receive in flight",
        reply.slot);
  slot.empty_answers = 0;
  if (!e2e) second_.record(now - slot.since);
  for (std::uint32_t i = 0; e2e && i < reply.good; ++i) {
    // A stamp outside this run belongs to a message of an earlier run.
    if (first[i].stamp < start_ || first[i].stamp > now) continue;
    second_.record(now - first[i].stamp);
    if (undelivered_ > 0) --undelivered_;
  }
  slot.doing = Doing::deleting;
  ++busy_;
  lines_[line].codec->append_delete(lines_[line].out, reply.slot, first, reply.good);
  touch(line);
}

void Run::nothing_there(std::uint32_t line, const Reply& reply, std::uint64_t now) {
  const bool e2e = options_.workload == LoadOptions::Workload::e2e;
  Slot& slot = lines_[line].slots[reply.slot];
  CHECK(slot.doing == Doing::receiving,
        "an empty response for slot {}, which has no receive in flight", reply.slot);
  slot.doing = Doing::nothing;
  if (e2e && reply.failed == 0) return receive(line, reply.slot, now);
  if (!e2e && ++slot.empty_answers == empty_answers_max) {
    ++drained_;
    return;
  }
  const std::uint32_t item = line * options_.depth + reply.slot;
  rest_until_[item] = now + rest_ns;
  resting_.push(item);
}

}  // namespace pawl::load

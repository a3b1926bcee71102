// SPDX-License-Identifier: Apache-2.0
#include "bench/load_run.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace pawl::load {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t rest_ns = 10'000'000;
constexpr std::uint64_t poll_ns = 1'000'000;       // between receives that do not wait
constexpr std::uint64_t grace_ns = 5 * second_ns;  // for responses after the end
constexpr std::uint8_t empty_answers_max = 3;
constexpr std::size_t receive_bytes = 256 << 10;
constexpr int events_max = 256;
constexpr std::uint32_t stop_event = UINT32_MAX;  // instead of a connection's number

std::string system_text(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

// `error`: of Channel::read() or write().
std::string broken_text(int error) {
  if (error == 0) return "the server closed a connection";
  return std::string("a connection broke: ") + std::strerror(error);
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

RunShared::RunShared(const LoadOptions& whole, const Target& target,
                     const StopSignals& stop_signals)
    : stop(stop_signals),
      backlog_max(std::max<std::int64_t>(
          1000, std::int64_t{4} * whole.connections * whole.depth * whole.batch)),
      sending(whole.threads) {
  const bool fifo = target.queue.ends_with(".fifo");
  if (whole.verify)
    check = std::make_unique<DeliveryCheck>(whole.connections, fifo ? whole.groups : 0);
}

Run::Run(const LoadOptions& share, const Target& target, RunShared& shared, std::uint32_t thread,
         std::uint32_t first_producer)
    : options_(share),
      target_(target),
      shared_(shared),
      thread_(thread),
      first_producer_(first_producer),
      figures_(share.rounds) {
  const std::uint64_t slots = std::uint64_t{is_e2e() ? 2u : 1u} * share.connections * share.depth;
  free_.items.resize(slots);
  resting_.items.resize(slots);
  rest_until_.resize(slots);
}

Run::~Run() {
  if (epoll_ >= 0) ::close(epoll_);
}

// --- before the start ---

std::string Run::connect(bool create) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return system_text("epoll_create1");
  if (!watch_signals()) return system_text("epoll_ctl");
  using Workload = LoadOptions::Workload;
  lines_.reserve(std::size_t{2} * options_.connections);
  for (std::uint32_t i = 0; i < options_.connections && !shared_.stop.requested(); ++i) {
    std::string fault;
    if (options_.workload != Workload::receive) fault = open_line(false, create && lines_.empty());
    if (fault.empty() && options_.workload != Workload::send)
      fault = open_line(true, create && lines_.empty());
    if (!fault.empty()) return fault;
  }
  return {};
}

bool Run::watch_signals() {
  const int descriptor = shared_.stop.descriptor();
  epoll_event stop{.events = EPOLLIN | EPOLLONESHOT, .data = {.u32 = stop_event}};
  return descriptor < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &stop) == 0;
}

bool Run::created() const { return !lines_.empty() && lines_.front().codec->created(); }

std::string Run::open_line(bool consumer, bool create) {
  auto channel = Channel::open(target_);
  if (!channel) return channel.error();
  Line& line = lines_.emplace_back(Line{
      .channel = std::move(*channel),
      .consumer = consumer,
      .next_sequence = first_sequence(first_producer_ + producers_),
      .codec = target_.make(options_, target_),
      .out = {},
      .in = std::vector<char>(receive_bytes),
      .slots = std::vector<Slot>(options_.depth),
  });
  producers_ += consumer ? 0 : 1;
  if (std::string fault = line.codec->prepare(line.channel, create); !fault.empty()) return fault;
  epoll_event event{.events = EPOLLIN,
                    .data = {.u32 = static_cast<std::uint32_t>(lines_.size() - 1)}};
  const bool ready = ::epoll_ctl(epoll_, EPOLL_CTL_ADD, line.channel.descriptor(), &event) == 0;
  return ready ? std::string() : system_text("epoll_ctl");
}

// --- the loop ---

void Run::plan(std::uint64_t start) {
  const auto ns = [](double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); };
  const std::uint64_t measured = start + ns(options_.warm_up);
  start_ = start;
  deadline_ = measured + ns(options_.seconds * options_.rounds);
  figures_.begin(start, measured, deadline_);
  const double rate = options_.rate / options_.batch;
  // The threads' due times interleave.
  const double stagger = rate > 0 ? thread_ / (rate * options_.threads) : 0;
  pace_ = LoadSchedule(rate, std::min(start_ + ns(stagger), deadline_));
}

std::string Run::go(std::uint64_t start, const SecondPassed& second_passed) {
  CHECK(epoll_ >= 0, "a run begins before connect()");
  plan(start);
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
    figures_.advance(now, second_passed);
    if (!stopping_ && shared_.stop.requested()) interrupt(now);
  }
  if (now >= deadline_ + grace_ns) count_missing();
  figures_.finish(now);
  return fault;
}

// Ends the load as its deadline would have, but overdue requests are not sent.
void Run::interrupt(std::uint64_t now) {
  interrupted_ = stopping_ = true;
  deadline_ = now;
  figures_.interrupt();
}

// Requests without a response, and due requests that were never sent, have failed. An interruption
// leaves the latter out: the load had no time for them.
void Run::count_missing() {
  const bool ended_early = enough() || interrupted_;
  const std::uint64_t unsent = ended_early ? 0 : pace_.left(deadline_) * options_.batch;
  figures_.count_failed(busy_ + unsent, "no response within 5 s after the end");
}

void Run::start_consumers() {
  for (std::uint32_t line = 0; line < lines_.size(); ++line) {
    if (!lines_[line].consumer) continue;
    if (options_.subscribe) {
      lines_[line].codec->append_subscribe(lines_[line].out, options_.depth * options_.batch);
      touch(line);
      continue;
    }
    for (std::uint32_t slot = 0; slot < options_.depth; ++slot) receive(line, slot, start_);
  }
}

// Open loop: this thread has requests to send, now or before the deadline.
bool Run::more_due(std::uint64_t now) const {
  return pace_.open() && !interrupted_ && pace_.next(now) < deadline_ && !enough();
}

// This thread sends nothing more, and has all its responses.
bool Run::all_sent(std::uint64_t now) const {
  if (!stopping_ || busy_ > 0) return false;
  return !more_due(now) || options_.workload == LoadOptions::Workload::receive;
}

// An e2e thread receives until all threads have sent their last message and all are delivered.
bool Run::over(std::uint64_t now) {
  if (now >= deadline_ + grace_ns || shared_.broken) return true;
  if (options_.workload == LoadOptions::Workload::receive &&
      drained_ == lines_.size() * options_.depth)
    return true;
  if (!all_sent(now)) return false;
  if (!is_e2e()) return true;
  if (!sent_all_) --shared_.sending;
  sent_all_ = true;
  return shared_.sending == 0 && shared_.undelivered <= 0;
}

std::int64_t Run::sleep_ns(std::uint64_t now) const {
  if (options_.spin) return 0;
  std::uint64_t until = stopping_ ? deadline_ + grace_ns : deadline_;
  until = std::min(until, figures_.next_end());
  if (free_.count > 0 && more_due(now)) until = std::min(until, pace_.next(now));
  if (resting_.count > 0) until = std::min(until, rest_until_[resting_.items[resting_.first]]);
  // Other threads deliver messages, and fail, without waking this one.
  if (options_.threads > 1) until = std::min(until, now + (is_e2e() ? rest_ns / 10 : 10 * rest_ns));
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
    if (line == stop_event) continue;
    CHECK(line < lines_.size(), "connection {} of {}", line, lines_.size());
    std::string fault;
    if (events[i].events & ~std::uint32_t{EPOLLOUT}) fault = read(line);
    if (fault.empty() && (events[i].events & EPOLLOUT)) fault = flush(lines_[line]);
    if (!fault.empty()) return fault;
  }
  return {};
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
  return (options_.workload == LoadOptions::Workload::receive ? figures_.messages() : issued_) >=
         options_.messages;
}

// In an open loop, requests due before the end are still sent after it: the longest waits must
// count. After an interruption nothing is sent.
bool Run::may_send() const {
  if (free_.count == 0 || enough() || interrupted_) return false;
  if (pace_.open()) return true;
  return !stopping_ && (!is_e2e() || shared_.undelivered + options_.batch <= shared_.backlog_max);
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
    const std::uint64_t sequence = lines_[line].next_sequence;
    lines_[line].next_sequence += options_.batch;
    lines_[line].slots[slot] = {.since = due, .sequence = sequence, .doing = Doing::sending};
    lines_[line].codec->append_send(lines_[line].out, slot, {due, sequence});
    if (is_e2e()) shared_.undelivered += options_.batch;
    issued_ += options_.batch;
    ++busy_;
    touch(line);
  }
}

void Run::receive(std::uint32_t line, std::uint32_t slot, std::uint64_t now) {
  const bool e2e = is_e2e();
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
    if (!stopping_ || is_e2e()) receive(item / options_.depth, item % options_.depth, now);
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
    const auto n = line.channel.write(std::string_view(line.out).substr(line.sent));
    if (!n) return broken_text(n.error());
    if (*n == 0) break;
    line.sent += *n;
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
    if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, line.channel.descriptor(), &event) < 0)
      return system_text("epoll_ctl");
  }
  return {};
}

// --- in ---

std::string Run::read(std::uint32_t index) {
  std::string fault;
  do {
    fault = read_once(index);
  } while (fault.empty() && lines_[index].channel.pending());
  return fault;
}

std::string Run::read_once(std::uint32_t index) {
  Line& line = lines_[index];
  if (line.filled == line.in.size()) line.in.resize(2 * line.in.size());
  const auto n = line.channel.read({line.in.data() + line.filled, line.in.size() - line.filled});
  if (!n) return broken_text(n.error());
  if (*n == 0) return {};
  const std::uint64_t now = monotonic_ns();
  line.filled += *n;
  replies_.clear();
  delivered_list_.clear();
  const std::size_t taken =
      line.codec->parse({line.in.data(), line.filled}, replies_, delivered_list_);
  if (taken == Codec::broken) return "the server sent an invalid response";
  CHECK(taken <= line.filled, "{} bytes are parsed of {}", taken, line.filled);
  for (const Reply& reply : replies_) {
    const bool push = reply.slot == Reply::pushed || reply.slot == Reply::acknowledged;
    if (!push && reply.slot >= line.slots.size())
      return "the server sent a response without a request";
    push ? pushed(index, reply, now) : answered(index, reply, now);
  }
  std::memmove(line.in.data(), line.in.data() + taken, line.filled - taken);
  line.filled -= taken;
  return {};
}

// Messages of a subscription, or the response to their acknowledgement.
void Run::pushed(std::uint32_t line, const Reply& reply, std::uint64_t now) {
  figures_.count_failed(reply.failed, reply.reason);
  if (reply.slot == Reply::acknowledged) {
    CHECK(busy_ > 0, "a response to an acknowledgement while no request is in flight");
    --busy_;
    return figures_.count_good(reply.good, now);
  }
  if (reply.good == 0) return;  // the subscription has ended
  const Delivered* const first = delivered_list_.data() + reply.first_delivered;
  shared_.undelivered -= time_deliveries(first, reply.good, now);
  ++busy_;
  lines_[line].codec->append_acknowledge(lines_[line].out, first, reply.good);
  touch(line);
}

void Run::answered(std::uint32_t line, const Reply& reply, std::uint64_t now) {
  const bool e2e = is_e2e();
  Slot& slot = lines_[line].slots[reply.slot];
  figures_.count_failed(reply.failed, reply.reason);
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
      if (e2e) shared_.undelivered -= options_.batch - reply.good;
      if (shared_.check && reply.good == options_.batch)
        shared_.check->accepted(slot.sequence, options_.batch);
      free_.push(line * options_.depth + reply.slot);
      if (e2e) return;
      if (reply.good > 0) figures_.record(now - slot.since);
      break;
    case Doing::deleting:
      CHECK(busy_ > 0, "a response to a delete while no request is in flight");
      --busy_;
      slot.doing = Doing::nothing;
      if (!stopping_ || e2e) receive(line, reply.slot, now);
      break;
  }
  figures_.count_good(reply.good, now);
}

void Run::delivered(std::uint32_t line, const Reply& reply, std::uint64_t now) {
  const bool e2e = is_e2e();
  Slot& slot = lines_[line].slots[reply.slot];
  const Delivered* first = delivered_list_.data() + reply.first_delivered;
  CHECK(slot.doing == Doing::receiving, "messages for slot {}, which has no receive in flight",
        reply.slot);
  slot.empty_answers = 0;
  if (!e2e) figures_.record(now - slot.since);
  if (e2e) shared_.undelivered -= time_deliveries(first, reply.good, now);
  slot.doing = Doing::deleting;
  ++busy_;
  lines_[line].codec->append_delete(lines_[line].out, reply.slot, first, reply.good);
  touch(line);
  if (!lines_[line].codec->confirms_deletes())
    answered(line, {.slot = reply.slot, .good = reply.good, .reason = {}}, now);
}

// Returns the number of messages of this run, delivered for the first time where that is known.
std::uint32_t Run::time_deliveries(const Delivered* first, std::uint32_t count, std::uint64_t now) {
  std::uint32_t own = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    // A stamp outside this run belongs to a message of an earlier run.
    if (first[i].stamp < start_ || first[i].stamp > now) continue;
    figures_.record(now - first[i].stamp);
    own += shared_.check ? shared_.check->delivered({first + i, 1}) : 1;
  }
  return own;
}

void Run::nothing_there(std::uint32_t line, const Reply& reply, std::uint64_t now) {
  const bool e2e = is_e2e();
  Slot& slot = lines_[line].slots[reply.slot];
  CHECK(slot.doing == Doing::receiving,
        "an empty response for slot {}, which has no receive in flight", reply.slot);
  slot.doing = Doing::nothing;
  const bool waited = lines_[line].codec->waits();
  if (e2e && reply.failed == 0 && waited) return receive(line, reply.slot, now);
  if (!e2e && ++slot.empty_answers == empty_answers_max) {
    ++drained_;
    return;
  }
  const std::uint32_t item = line * options_.depth + reply.slot;
  rest_until_[item] = now + (waited ? rest_ns : poll_ns);
  resting_.push(item);
}

}  // namespace pawl::load

// SPDX-License-Identifier: Apache-2.0
#include "net/client/consumer_core.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/queue/request.h"
#include "net/client/answers.h"
#include "net/client/dead_letter.h"
#include "proto/binary/frames.h"
#include "proto/binary/payloads.h"

namespace pawl::client {
namespace {

using Code = Client::Code;
using Mode = Verdicts::Mode;
using State = Held::State;
using Millis = std::chrono::milliseconds;  // core has a milliseconds() of its own

// Twice the time after which a server sends an empty DELIVER.
constexpr Millis silence_max{30'000};
constexpr std::size_t moves_max = 1;  // dead letters a request: each may have the maximum size

std::vector<std::string> queues_of(const Consumer::Options& options) {
  std::vector<std::string> queues{options.queue};
  if (!options.dead_letter_queue.empty()) queues.push_back(options.dead_letter_queue);
  return queues;
}

}  // namespace

ConsumerCore::ConsumerCore(const Consumer::Options& options, Consumer::Handler handler,
                           Clock::time_point now)
    : options_(options),
      handler_(std::move(handler)),
      verdicts_(readiness_),
      link_(options.endpoint, queues_of(options),
            options.endpoint.connection.request_timeout + std::max(options.wait, silence_max), now),
      receives_(options.concurrency, options.wait, options.visibility),
      held_(options.concurrency),
      deadline_(now) {}

void ConsumerCore::turn(Clock::time_point now) {
  mode_ = verdicts_.collect(arrived_);
  take_verdicts();
  if (mode_ == Mode::releasing) release_all();
  if (mode_ != Mode::running) forget_expired(now);
  answers_.clear();
  link_.turn(answers_, now);
  if (link_.up()) queue_visibility_ = link_.queue(0).visibility;
  for (const Answer& answer : answers_) on_answer(answer, now);
  begin_waiting();
  if (link_.up()) send_requests(now);
  prepare_to_sleep(now);
}

void ConsumerCore::close() {
  link_.close();
  link_.watch(readiness_);
  deadline_ = link_.deadline();
}

// --- verdicts ---

void ConsumerCore::take_verdicts() {
  for (const TokenVerdict& arrived : arrived_) {
    const Index index = held_.find(arrived.token);
    if (index != HeldMessages::none) apply(index, arrived.verdict, held_[index].copy.get());
  }
}

// `message`: for the dead-letter queue; null if there is none.
void ConsumerCore::apply(Index index, Verdict verdict, const Client::MessageView* message) {
  Held& held = held_[index];
  const bool moves = !options_.dead_letter_queue.empty() && message != nullptr;
  const bool needs_copy =
      verdict.kind == Verdict::Kind::later || verdict.kind == Verdict::Kind::dead;
  if (moves && needs_copy && !held.copy) held.copy = std::make_unique<Client::Message>(*message);
  switch (verdict.kind) {
    case Verdict::Kind::done:
      groups_.end(index);
      return enter(index, State::deleting);
    case Verdict::Kind::retry:
      held.delay = allowed_delay(held, verdict.delay);
      enter(index, State::releasing);
      return stop_group(index);
    case Verdict::Kind::dead:
      ++status_.dead;
      if (!moves) {
        stop_group(index);  // it is delivered again
        return held_.free(index);
      }
      groups_.end(index);
      return enter(index, State::moving);
    case Verdict::Kind::later:
      if (!moves) held.copy.reset();
      return;
  }
}

// The nearest delay that the server takes: a message may be hidden for 12 h after a receive.
Millis ConsumerCore::allowed_delay(const Held& held, Millis delay) const {
  constexpr Millis hidden_max = std::chrono::hours(12), margin = std::chrono::minutes(1);
  const auto hidden = std::chrono::ceil<Millis>(Clock::now() - held.received);
  return std::clamp(delay, Millis(0), std::max(Millis(0), hidden_max - margin - hidden));
}

// The message will come again: the later ones of its group are released, so that they come behind.
void ConsumerCore::stop_group(Index index) {
  for (const Index waiting : groups_.stop(index)) {
    held_[waiting].delay = Millis(0);
    held_[waiting].copy.reset();
    enter(waiting, State::releasing);
  }
}

ConsumerCore::Outbox& ConsumerCore::outbox_of(State state) {
  if (state == State::deleting) return deletes_;
  CHECK(state == State::releasing || state == State::moving, "no request ends state {}",
        static_cast<int>(state));
  return state == State::releasing ? releases_ : moves_;
}

void ConsumerCore::enter(Index index, State state) {
  held_[index].state = state;
  held_[index].extendable = false;
  requeue(index);
}

void ConsumerCore::requeue(Index index) {
  Held& held = held_[index];
  CHECK(!held.queued, "slot {} is queued twice", index);
  held.queued = true;
  held.redelivered = false;
  outbox_of(held.state).slots.push_back(index);
}

void ConsumerCore::release_all() {
  groups_.clear();
  held_.for_each(State::under_way, [this](Index index, Held& held) {
    held.delay = Millis(0);
    enter(index, State::releasing);
  });
}

// --- messages ---

void ConsumerCore::on_answer(const Answer& answer, Clock::time_point now) {
  if (answer.error.code == Code::no_such_queue || answer.error.code == Code::bad_handle)
    link_.restart(error_of(Code::broken));  // a queue of this name may exist again
  const std::size_t slot = answer.ticket & 0xFFFF;
  const bool ours = slot < in_flight_.size() && !in_flight_[slot].empty();
  if (!ours || answer.op == BinaryOp::deliver) return on_received(answer, now);
  entries_.swap(in_flight_[slot]);
  in_flight_[slot].clear();
  const State purpose = entries_.front().state;
  if (purpose != State::under_way) --outbox_of(purpose).in_flight;
  if (is_retryable(answer.error.code))
    paused_until_ = now + std::max(answer.error.retry_after, retry_min);
  codes_.assign(entries_.size(), answer.error.code);
  if (answer.error.code == Code::ok && !take_codes_of(answer)) {
    link_.restart(error_of(Code::bad_answer));
    codes_.assign(entries_.size(), Code::bad_answer);
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) on_code(entries_[i], codes_[i], now);
}

// False: the response is invalid.
bool ConsumerCore::take_codes_of(const Answer& answer) {
  const std::size_t count = codes_.size();
  codes_.clear();
  if (answer.op != BinaryOp::send)
    return take_codes(answer.payload, codes_) && codes_.size() == count;
  sent_.clear();
  if (!take_sent(answer.payload, sent_) || sent_.size() != count) return false;
  for (const Client::Sent& sent : sent_) codes_.push_back(sent.code);
  return true;
}

void ConsumerCore::on_received(const Answer& answer, Clock::time_point now) {
  messages_.clear();
  if (!receives_.on_answer(answer, messages_, now))
    return link_.restart(error_of(Code::bad_answer));
  for (const Client::MessageView& message : messages_) on_message(message, now);
  // All are taken before the first is handled: a message that is returned stops those behind it.
  for (const auto& [index, message] : due_) hand_over(index, *message);
  due_.clear();
}

void ConsumerCore::on_message(const Client::MessageView& message, Clock::time_point now) {
  const Index known = held_.find(message.id);
  if (known != HeldMessages::none) return on_redelivered(known, message, now);
  const Index index = held_.take(message);
  if (mode_ != Mode::running) {
    held_[index].delay = Millis(0);
    return enter(index, State::releasing);
  }
  held_[index].received = now;
  held_[index].due = next_extension(now);
  due_at_ = std::min(due_at_, held_[index].due);
  const bool has_order = link_.up() && link_.queue(0).fifo && !message.group.empty();
  if (has_order && !groups_.take(message.group, index)) {
    held_[index].copy = std::make_unique<Client::Message>(message);
    return;
  }
  due_.emplace_back(index, &message);
}

void ConsumerCore::hand_over(Index index, const Client::MessageView& message) {
  ++status_.received;
  apply(index, handler_(message, held_.token(index)), &message);
}

// Hands over the messages whose turn in their group has come.
void ConsumerCore::begin_waiting() {
  for (Index index = groups_.next(); index != GroupOrder::none; index = groups_.next()) {
    const Held& held = held_[index];
    CHECK(held.state == State::under_way && held.copy, "slot {} has no message", index);
    hand_over(index, *held.copy);
  }
}

// Its visibility timeout has passed. The latest receipt is the valid one.
void ConsumerCore::on_redelivered(Index index, const Client::MessageView& message,
                                  Clock::time_point now) {
  Held& held = held_[index];
  // It comes again with the later ones of its group, so it is handled again before them.
  if (held.state == State::releasing && link_.up() && link_.queue(0).fifo) {
    std::erase(releases_.slots, index);
    held_.free(index);
    return on_message(message, now);
  }
  held.receipt = message.receipt;
  held.received = now;
  held.redelivered = true;
  if (held.state == State::expired) return enter(index, State::deleting);
  if (held.state != State::under_way) return;
  held.extendable = true;
  held.due = next_extension(now);
  due_at_ = std::min(due_at_, held.due);
}

void ConsumerCore::on_code(const Entry& entry, Code code, Clock::time_point now) {
  Held& held = held_[entry.index];
  // An extension is obsolete when the verdict has come meanwhile.
  if (held.use != entry.use || held.state != entry.state) return;
  if (held.state == State::under_way) return on_extended(held, code, now);
  const bool stale = held.redelivered && (code != Code::ok || held.state == State::releasing);
  if (is_retryable(code) || is_unanswered(code) || stale) return requeue(entry.index);
  on_confirmed(entry.index, code, now);
}

void ConsumerCore::on_extended(Held& held, Code code, Clock::time_point now) {
  if (is_retryable(code) || is_unanswered(code)) {
    held.due = due_at_ = now;
  } else if (code != Code::ok && !held.redelivered) {
    ++status_.refused;
    held.extendable = false;
  }
}

void ConsumerCore::on_confirmed(Index index, Code code, Clock::time_point now) {
  const State state = held_[index].state;
  if (code == Code::receipt_expired && state == State::deleting) return await_delivery(index, now);
  if (code != Code::ok) ++status_.refused;
  if (code == Code::ok && state == State::deleting) ++status_.deleted;
  if (code == Code::ok && state == State::releasing) ++status_.released;
  if (code == Code::ok && state == State::moving) return enter(index, State::deleting);
  held_.free(index);
}

void ConsumerCore::await_delivery(Index index, Clock::time_point now) {
  Held& held = held_[index];
  held.state = State::expired;
  held.due = now + visibility();
  due_at_ = std::min(due_at_, held.due);
}

// The message is with another consumer, or this one receives no more.
void ConsumerCore::forget_expired(Clock::time_point now) {
  held_.for_each(State::expired, [&](Index index, Held& held) {
    if (held.due > now && mode_ == Mode::running) {
      due_at_ = std::min(due_at_, held.due);
      return;
    }
    ++status_.refused;
    held_.free(index);
  });
}

// --- extensions ---

Millis ConsumerCore::visibility() const { return options_.visibility.value_or(queue_visibility_); }

Clock::time_point ConsumerCore::next_extension(Clock::time_point now) const {
  const Millis third = visibility() / 3;
  return third.count() == 0 ? Clock::time_point::max() : now + third;
}

// Extends the timeouts that are due now or soon, so that few requests are sent.
void ConsumerCore::extend(Clock::time_point now) {
  if (now < due_at_ || link_.pipeline().obstacle()) return;
  const Clock::time_point soon = now + visibility() / 12;
  due_at_ = Clock::time_point::max();
  forget_expired(now);
  std::vector<Entry> due;
  held_.for_each(State::under_way, [&](Index index, Held& held) {
    if (!held.extendable) return;
    if (held.due <= soon && due.size() < entries_max) {
      due.push_back({index, held.use, State::under_way});
      held.due = next_extension(now);
      held.redelivered = false;
    }
    due_at_ = std::min(due_at_, held.due);
  });
  if (due.empty()) return;
  std::string& out = link_.pipeline().begin(BinaryOp::change, link_.queue(0).handle);
  put(out, static_cast<std::uint32_t>(due.size()));
  for (const Entry& entry : due) {
    const Client::Receipt& receipt = held_[entry.index].receipt;
    out.append(reinterpret_cast<const char*>(receipt.data()), receipt.size());
    put(out, wire_ms(visibility()));
  }
  submit(due, nullptr);
}

// --- requests ---

void ConsumerCore::send_requests(Clock::time_point now) {
  if (now >= paused_until_) {
    send_outbox(deletes_, entries_max);
    if (link_.up()) send_outbox(releases_, entries_max);
    if (link_.up()) send_outbox(moves_, moves_max);
    if (link_.up()) extend(now);
  }
  if (link_.up() && mode_ != Mode::running) receives_.stop(link_);
  if (mode_ == Mode::running) receives_.request(link_, free_for_more(), now);
  if (link_.up()) link_.pipeline().flush();
}

void ConsumerCore::send_outbox(Outbox& outbox, std::size_t entries_most) {
  while (!outbox.slots.empty() && link_.up() && !link_.pipeline().obstacle()) {
    if (outbox.in_flight > 0 && outbox.slots.size() < entries_most) return;
    const std::size_t count = std::min(outbox.slots.size(), entries_most);
    const std::size_t queue = outbox.op == BinaryOp::send ? 1 : 0;
    const bool grants = outbox.op == BinaryOp::delete_message && receives_.subscription();
    std::string& out = link_.pipeline().begin(grants ? BinaryOp::acknowledge : outbox.op,
                                              link_.queue(queue).handle);
    const std::uint32_t credit = grants ? receives_.take_credit(free_for_more()) : 0;
    if (grants) put_struct(out, payload::Grant{*receives_.subscription(), credit});
    encode(out, outbox, count);
    std::vector<Entry> entries;
    for (const Index index : std::span(outbox.slots).first(count)) {
      Held& held = held_[index];
      CHECK(held.queued, "slot {} is not queued", index);
      held.queued = false;
      entries.push_back({index, held.use, held.state});
    }
    outbox.slots.erase(outbox.slots.begin(),
                       outbox.slots.begin() + static_cast<std::ptrdiff_t>(count));
    if (!submit(entries, &outbox)) return receives_.return_credit(credit);
  }
}

// Slots for messages that have not come yet.
std::uint32_t ConsumerCore::free_for_more() const {
  return mode_ == Mode::running ? held_.free_count() : 0;
}

void ConsumerCore::encode(std::string& out, const Outbox& outbox, std::size_t count) {
  put(out, static_cast<std::uint32_t>(count));
  for (const Index index : std::span(outbox.slots).first(count)) {
    const Held& held = held_[index];
    if (outbox.op == BinaryOp::send) {
      CHECK(held.copy, "a dead letter without its content");
      put_dead_letter(out, *held.copy, link_.queue(1).fifo);
      continue;
    }
    out.append(reinterpret_cast<const char*>(held.receipt.data()), held.receipt.size());
    if (outbox.op == BinaryOp::change) put(out, wire_ms(held.delay));
  }
}

// Finishes the begun request. False: there is no credit, and the entries wait for another request.
bool ConsumerCore::submit(const std::vector<Entry>& entries, Outbox* outbox) {
  const auto ticket = link_.pipeline().finish();
  if (!ticket) {
    for (const Entry& entry : entries) {
      if (outbox != nullptr) {
        requeue(entry.index);
      } else {
        held_[entry.index].due = due_at_ = Clock::time_point::min();
      }
    }
    return false;
  }
  const std::size_t slot = *ticket & 0xFFFF;
  if (in_flight_.size() <= slot) in_flight_.resize(slot + 1);
  CHECK(in_flight_[slot].empty(), "request {} is in flight", slot);
  in_flight_[slot] = entries;
  if (outbox != nullptr) ++outbox->in_flight;
  return true;
}

// --- sleeping ---

void ConsumerCore::prepare_to_sleep(Clock::time_point now) {
  status_.connected = link_.up();
  status_.last_error = link_.error();
  status_.connections = link_.connections();
  status_.under_way = held_.size();
  verdicts_.report(status_, mode_);
  link_.watch(readiness_);
  deadline_ = link_.deadline();
  if (link_.up() && !link_.pipeline().obstacle()) {
    deadline_ = std::min(deadline_, std::max(due_at_, paused_until_));
    for (const Clock::time_point pause : {paused_until_, receives_.paused_until()})
      if (pause > now) deadline_ = std::min(deadline_, pause);
  }
  if (!verdicts_.sleep()) deadline_ = now;
}

}  // namespace pawl::client

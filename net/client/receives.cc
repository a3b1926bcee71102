// SPDX-License-Identifier: Apache-2.0
#include "net/client/receives.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/format.h"
#include "core/queue/request.h"
#include "net/client/answers.h"
#include "proto/binary/frames.h"
#include "proto/binary/payloads.h"
#include "proto/binary/subscriptions.h"

namespace pawl::client {

Receives::Receives(std::uint32_t capacity, std::chrono::milliseconds wait,
                   std::optional<std::chrono::milliseconds> visibility)
    : capacity_(capacity), wait_(wait), visibility_(visibility), nonce_(random_text(2)) {}

bool Receives::is_worthwhile(std::uint32_t free) const {
  if (free <= asked_) return false;
  return asked_ == 0 || free - asked_ >= (capacity_ + 1) / 2;
}

void Receives::request(Link& link, std::uint32_t free, Clock::time_point now) {
  if (now < paused_until_ || !link.up()) return;
  // A subscription needs a visibility timeout.
  const auto visibility = visibility_.value_or(link.queue(0).visibility);
  const bool subscribes = link.subscribes() && !refused_ && visibility.count() > 0;
  if (!subscribes || link.queue(0).fifo) return poll(link, free);
  subscription_ ? grant(link, free) : subscribe(link, free);
}

// --- subscription ---

void Receives::subscribe(Link& link, std::uint32_t free) {
  if (free == 0 || link.pipeline().obstacle()) return;
  // The connection before was to a server without subscriptions.
  for (const Poll& poll : std::exchange(repeats_, {})) asked_ -= poll.max;
  if (asked_ > 0) return;  // polls are in flight
  std::string& out = link.pipeline().begin(BinaryOp::subscribe, link.queue(0).handle);
  const std::uint32_t credit = std::min(free, subscription_credit_max);
  put_subscribe(out, {.credit = credit, .visibility = visibility_});
  const auto ticket = link.pipeline().finish();
  if (!ticket) return;
  subscription_ = *ticket;
  stopping_ = false;
  asked_ = credit;
}

void Receives::grant(Link& link, std::uint32_t free) {
  if (!is_worthwhile(free) || link.pipeline().obstacle()) return;
  std::string& out = link.pipeline().begin(BinaryOp::acknowledge, link.queue(0).handle);
  const std::uint32_t credit = take_credit(free);
  put_struct(out, payload::Grant{*subscription_, credit});
  put_receipts(out, {}, std::nullopt);
  if (!link.pipeline().finish()) return_credit(credit);
}

std::uint32_t Receives::take_credit(std::uint32_t free) {
  const std::uint32_t most = std::min(free, subscription_credit_max);
  const std::uint32_t credit = most - std::min(most, asked_);
  asked_ += credit;
  return credit;
}

void Receives::return_credit(std::uint32_t credit) {
  CHECK(asked_ >= credit, "{} messages of {}", credit, asked_);
  asked_ -= credit;
}

void Receives::stop(Link& link) {
  if (!subscription_ || stopping_ || !link.up() || link.pipeline().obstacle()) return;
  put_struct(link.pipeline().begin(BinaryOp::unsubscribe, 0), payload::Unsubscribe{*subscription_});
  stopping_ = link.pipeline().finish().has_value();
}

// --- long polls ---

void Receives::poll(Link& link, std::uint32_t free) {
  while (!repeats_.empty() && send(link, repeats_.back())) repeats_.pop_back();
  if (!repeats_.empty()) return;
  while (is_worthwhile(free)) {
    const auto most = static_cast<std::uint32_t>(entries_max);
    const Poll poll{.max = std::min(free - asked_, most), .attempt = ++attempts_};
    if (!send(link, poll)) return;
    asked_ += poll.max;
  }
}

// False: there is no credit.
bool Receives::send(Link& link, const Poll& poll) {
  if (!link.up() || link.pipeline().obstacle()) return false;
  std::string& out = link.pipeline().begin(BinaryOp::receive, link.queue(0).handle);
  put_receive(out, {.max = poll.max, .wait = wait_, .visibility = visibility_});
  // A queue without order ignores it.
  const std::string attempt =
      link.queue(0).fifo ? format_text("{}-{}", nonce_, Hex{poll.attempt}) : std::string();
  put_struct(out, payload::Attempt{attempt});
  const auto ticket = link.pipeline().finish();
  if (!ticket) return false;
  const std::size_t slot = *ticket & 0xFFFF;
  if (polls_.size() <= slot) polls_.resize(slot + 1);
  CHECK(polls_[slot].max == 0, "poll {} is in flight", slot);
  polls_[slot] = poll;
  return true;
}

bool Receives::on_polled(const Answer& answer, std::vector<Client::MessageView>& messages,
                         Clock::time_point now) {
  const std::size_t slot = answer.ticket & 0xFFFF;
  CHECK(slot < polls_.size() && polls_[slot].max > 0, "a response to poll {}", slot);
  const Poll poll = std::exchange(polls_[slot], {});
  const auto code = static_cast<std::uint16_t>(answer.error.code);
  if (code >= 9000) {
    repeats_.push_back(poll);
    return true;
  }
  CHECK(asked_ >= poll.max, "{} messages of {}", poll.max, asked_);
  asked_ -= poll.max;
  if (code == 0) {
    const std::size_t before = messages.size();
    return take_messages(answer.payload, messages) && messages.size() - before <= poll.max;
  }
  if (answer.error.code != Client::Code::attempt_not_retryable) pause(answer.error, now);
  return true;
}

// --- responses ---

bool Receives::on_answer(const Answer& answer, std::vector<Client::MessageView>& messages,
                         Clock::time_point now) {
  const std::size_t before = messages.size();
  switch (answer.op) {
    case BinaryOp::receive:
      return on_polled(answer, messages, now);
    case BinaryOp::deliver:
      if (answer.ticket != subscription_ || !take_messages(answer.payload, messages) ||
          messages.size() - before > asked_)
        return false;
      asked_ -= static_cast<std::uint32_t>(messages.size() - before);
      return true;
    case BinaryOp::subscribe:
      // A server that stops ends it without an error.
      subscription_.reset();
      asked_ = 0;
      refused_ = answer.error.code == Client::Code::invalid;  // the queue's timeout is 0 now
      pause(answer.error, now);
      return true;
    default:
      return answer.error.code == Client::Code::ok ||
             static_cast<std::uint16_t>(answer.error.code) >= 9000;
  }
}

void Receives::pause(const Client::Error& error, Clock::time_point now) {
  if (static_cast<std::uint16_t>(error.code) >= 9000) return;  // the connection ended
  paused_until_ = now + std::max(error.retry_after, retry_min);
}

}  // namespace pawl::client

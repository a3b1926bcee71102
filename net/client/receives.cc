// SPDX-License-Identifier: Apache-2.0
#include "net/client/receives.h"

#include <algorithm>
#include <random>
#include <utility>

#include "core/check.h"
#include "core/format.h"
#include "core/request.h"
#include "net/client/answers.h"
#include "proto/binary/frames.h"

namespace pawl::client {
namespace {

constexpr std::chrono::milliseconds retry_min{20};

std::string make_nonce() {
  std::random_device device;
  return format_text("{}{}", Hex{device(), 8}, Hex{device(), 8});
}

}  // namespace

Receives::Receives(std::uint32_t capacity, std::chrono::milliseconds wait,
                   std::optional<std::chrono::milliseconds> visibility)
    : capacity_(capacity), wait_(wait), visibility_(visibility), nonce_(make_nonce()) {}

bool Receives::is_worthwhile(std::uint32_t free) const {
  if (free <= asked_) return false;
  return asked_ == 0 || free - asked_ >= (capacity_ + 1) / 2;
}

void Receives::request(Link& link, std::uint32_t free, Clock::time_point now) {
  if (now < paused_until_) return;
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
  put_short(out, link.queue(0).fifo ? format_text("{}-{}", nonce_, Hex{poll.attempt}) : "");
  const auto ticket = link.pipeline().finish();
  if (!ticket) return false;
  const std::size_t slot = *ticket & 0xFFFF;
  if (polls_.size() <= slot) polls_.resize(slot + 1);
  CHECK(polls_[slot].max == 0, "poll {} is in flight", slot);
  polls_[slot] = poll;
  return true;
}

bool Receives::on_answer(const Answer& answer, std::vector<Client::MessageView>& messages,
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
  if (answer.error.code != Client::Code::attempt_not_retryable)
    paused_until_ = now + std::max(answer.error.retry_after, retry_min);
  return true;
}

}  // namespace pawl::client

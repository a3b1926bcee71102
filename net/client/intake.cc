// SPDX-License-Identifier: Apache-2.0
#include "net/client/intake.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/base/format.h"
#include "core/queue/queue_config.h"
#include "net/client/answers.h"
#include "proto/binary/frames.h"

namespace pawl::client {
namespace {

using Status = SendResult::Status;
using Millis = std::chrono::milliseconds;  // core has a milliseconds() of its own

constexpr std::size_t message_bytes_max = 1 << 20;
constexpr std::size_t encoding_bytes_max = 64 << 10;  // lengths, names and ids besides them
constexpr std::size_t fixed_bytes = 384 << 10;        // input buffer and tables of the connection
constexpr std::size_t names_bytes_max = 128;          // of a group or a deduplication id
// The most that a frame can carry; the server knows the limit of the queue.
constexpr Millis delay_ms_max{binary_queue_default - 1};
constexpr Millis time_to_live_ms_max{time_to_live_max.ms};

std::size_t unit_of(std::size_t memory_limit) {
  return std::min(message_bytes_max + encoding_bytes_max, memory_limit / 8);
}

bool is_name(std::string_view text) {
  return text.size() <= names_bytes_max &&
         std::ranges::all_of(text, [](char c) { return c >= '!' && c <= '~'; });
}

std::string bad_name(const char* attribute, std::string_view value, const char* rule) {
  return format_text("{}: \"{}\" ({} bytes); {}", attribute, value.substr(0, names_bytes_max),
                     value.size(), rule);
}

std::string bad_options(const Client::SendOptions& options) {
  const auto& time = options.time_to_live;
  if (!time || (time->count() > 0 && *time <= time_to_live_ms_max)) return {};
  return format_text("{}: {} ms; 1 to {} ms", time_to_live_attribute, time->count(),
                     time_to_live_ms_max.count());
}

}  // namespace

Intake::Intake(const Producer::Options& options, const Readiness& readiness)
    : unit_bytes_(unit_of(options.memory_limit)),
      fifo_(options.queue.ends_with(".fifo")),
      deadline_(options.deadline),
      readiness_(readiness),
      pool_(options.memory_limit - 2 * unit_bytes_ - fixed_bytes) {
  scratch_.reserve(unit_bytes_);
}

// --- sending ---

std::string Intake::problem_of(const Client::Outgoing& message) const {
  std::size_t bytes = message.body.size();
  for (const Client::Attribute& attribute : message.attributes)
    bytes += attribute.name.size() + attribute.type.size() + attribute.value.size();
  const std::size_t bytes_max = std::min(message_bytes_max, unit_bytes_ * 7 / 8);
  if (message.body.empty()) return "MessageBody: 0 bytes; at least 1 byte";
  if (bytes > bytes_max)
    return format_text("MessageBody and MessageAttributes: {} bytes; at most {} bytes", bytes,
                       bytes_max);
  if (message.attributes.size() > attributes_max)
    return format_text("MessageAttributes: {}; at most {}", message.attributes.size(),
                       attributes_max);
  if (message.delay && (message.delay->count() < 0 || *message.delay > delay_ms_max))
    return format_text("DelaySeconds: {} ms; 0 to {} ms", message.delay->count(),
                       delay_ms_max.count());
  if (!is_name(message.group) || (fifo_ && message.group.empty()))
    return bad_name("MessageGroupId", message.group, "1 to 128 characters from ! to ~");
  if (!fifo_ && !message.deduplication_id.empty())
    return bad_name("MessageDeduplicationId", message.deduplication_id, "only for a FIFO queue");
  if (!is_name(message.deduplication_id))
    return bad_name("MessageDeduplicationId", message.deduplication_id,
                    "at most 128 characters from ! to ~");
  return {};
}

SendResult Intake::send(const Client::Outgoing& message, std::uint64_t cookie,
                        const Client::SendOptions& options) {
  std::string problem = problem_of(message);
  if (problem.empty()) problem = bad_options(options);
  if (!problem.empty()) return {.status = Status::invalid, .text = std::move(problem)};
  const std::lock_guard lock(mutex_);
  if (closed_) return {.status = Status::closed};
  return accept(message, cookie, options);
}

SendResult Intake::accept(const Client::Outgoing& message, std::uint64_t cookie,
                          const Client::SendOptions& options) {
  const Clock::time_point now = Clock::now();
  if (now < throttled_until_)
    return {.status = Status::throttled,
            .retry_after = std::chrono::ceil<Millis>(throttled_until_ - now)};
  scratch_.clear();
  if (put_message(scratch_, message, options) != Client::Code::ok)
    return {.status = Status::invalid, .text = "MessageAttributes: a name or type is too long"};
  const MessagePool::Index index = pool_.take(scratch_);
  if (index == MessagePool::none) return {.status = Status::full};
  MessagePool::Message& header = pool_.at(index);
  header.cookie = cookie;
  header.number = next_number_++;
  header.deadline = now + deadline_;
  header.needs_deduplication_id = fifo_ && message.deduplication_id.empty();
  gathered_.push_back(pool_, index);
  ++status_.accepted;
  wake_sleeper();
  return {};
}

void Intake::wake_sleeper() {
  if (!asleep_) return;
  if (gathered_.count < threshold_.messages && gathered_.bytes < threshold_.bytes) return;
  wake();
}

void Intake::wake() {
  asleep_ = false;
  if (std::exchange(signalled_, true)) return;
  readiness_.wake();
}

void Intake::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

// --- flush ---

std::uint64_t Intake::request_flush() {
  const std::lock_guard lock(mutex_);
  ++flushes_;
  wake();
  return next_number_;
}

bool Intake::is_flushed(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return oldest_ >= number;
}

bool Intake::wait_flushed(std::uint64_t number, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return flushed_.wait_until(lock, deadline, [&] { return oldest_ >= number; });
}

void Intake::end_flush() {
  const std::lock_guard lock(mutex_);
  CHECK(flushes_ > 0, "a flush ends twice");
  --flushes_;
}

// --- the driver ---

bool Intake::collect(MessageList& into) {
  const std::lock_guard lock(mutex_);
  asleep_ = false;
  if (std::exchange(signalled_, false)) readiness_.clear();
  into.merge(pool_, gathered_);
  return flushes_ > 0;
}

void Intake::release(MessageList& done) {
  const std::lock_guard lock(mutex_);
  while (!done.empty()) pool_.free(done.pop_front(pool_));
}

void Intake::publish(std::uint64_t oldest) {
  const std::lock_guard lock(mutex_);
  if (!gathered_.empty()) oldest = std::min(oldest, pool_.at(gathered_.first).number);
  oldest_ = std::max(oldest_, std::min(oldest, next_number_));
  if (flushes_ > 0) flushed_.notify_all();
}

void Intake::interrupt() {
  const std::lock_guard lock(mutex_);
  wake();
}

bool Intake::sleep(WakeThreshold threshold) {
  const std::lock_guard lock(mutex_);
  const bool arrived = gathered_.count >= threshold.messages || gathered_.bytes >= threshold.bytes;
  if (arrived || signalled_) return false;
  asleep_ = true;
  threshold_ = threshold;
  return true;
}

void Intake::throttle(Clock::time_point until) {
  const std::lock_guard lock(mutex_);
  throttled_until_ = std::max(throttled_until_, until);
}

void Intake::report(const Producer::Status& status) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t accepted = status_.accepted;
  status_ = status;
  status_.accepted = accepted;
}

Producer::Status Intake::status() const {
  const std::lock_guard lock(mutex_);
  Producer::Status status = status_;
  status.memory_free = pool_.free_bytes();
  return status;
}

}  // namespace pawl::client

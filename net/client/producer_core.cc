// SPDX-License-Identifier: Apache-2.0
#include "net/client/producer_core.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/format.h"
#include "core/queue/request.h"
#include "net/client/answers.h"
#include "proto/binary/frames.h"
#include "proto/binary/payloads.h"

namespace pawl::client {
namespace {

using Code = Client::Code;
using Millis = std::chrono::milliseconds;  // core has a milliseconds() of its own

constexpr std::size_t id_bytes_max = 64;  // of a deduplication id that the Producer makes
constexpr std::size_t batch_overhead = frame_header_bytes + struct_bytes<payload::Producer> +
                                       sizeof(payload::MessageWords::Count) + frame_checksum_bytes;

}  // namespace

ProducerCore::ProducerCore(const Producer::Options& options, Producer::OnComplete on_complete,
                           void* context, Clock::time_point now)
    : options_(options),
      on_complete_(on_complete),
      context_(context),
      nonce_(random_text(3)),
      id_(Client::random_producer()),
      intake_(options, readiness_),
      link_(options.endpoint, {options.queue}, options.endpoint.connection.request_timeout, now),
      deadline_(now) {
  answers_.reserve(entries_max);
  ended_.reserve(entries_max);
  sent_.reserve(entries_max);
}

void ProducerCore::turn(Clock::time_point now) {
  flushing_ = intake_.collect(waiting_);
  answers_.clear();
  link_.turn(answers_, now);
  for (const Answer& answer : answers_) {
    on_answer(answer, now);
    deliver();
  }
  if (const auto refusal = link_.take_refusal()) complete_all(waiting_, *refusal);
  expire(now);
  deliver();
  send_batches(now);
  if (link_.up()) link_.pipeline().flush();
  report();  // before a flush ends, so that the caller sees its effects
  if (flushing_) intake_.publish(oldest());
  prepare_to_sleep(now);
}

void ProducerCore::close() {
  intake_.close();
  intake_.collect(waiting_);
  for (MessageList& batch : batches_) complete_all(batch, error_of(Code::broken));
  batches_.clear();
  in_flight_ = 0;
  complete_all(waiting_, error_of(Code::closed));
  CHECK(waiting_.empty(), "{} messages are left", waiting_.count);
  link_.close();
  report();
  intake_.publish(Intake::no_message);
  link_.watch(readiness_);
  deadline_ = link_.deadline();
}

// --- responses ---

void ProducerCore::on_answer(const Answer& answer, Clock::time_point now) {
  const std::size_t slot = answer.ticket & 0xFFFF;
  CHECK(answer.op == BinaryOp::send || answer.op == BinaryOp::send_once,
        "a response to operation {}", static_cast<int>(answer.op));
  CHECK(slot < batches_.size() && in_flight_ > 0, "a response to batch {}", slot);
  MessageList batch = std::exchange(batches_[slot], {});
  --in_flight_;
  if (answer.error.code != Code::ok) return on_refusal(batch, answer.error, now);
  sent_.clear();
  if (!take_sent(answer.payload, sent_) || sent_.size() != batch.count) {
    link_.restart(error_of(Code::bad_answer));
    return waiting_.merge(intake_.pool(), batch);
  }
  MessageList retried;
  for (const Client::Sent& sent : sent_)
    on_entry(batch.pop_front(intake_.pool()), sent, retried, now);
  waiting_.merge(intake_.pool(), retried);
}

void ProducerCore::on_refusal(MessageList& batch, const Client::Error& error,
                              Clock::time_point now) {
  if (is_retryable(error.code)) retry_later(error.retry_after, now);
  if (is_retryable(error.code) || is_unanswered(error.code))
    return waiting_.merge(intake_.pool(), batch);
  // A deleted queue may exist again, with another handle.
  if (error.code == Code::no_such_queue || error.code == Code::bad_handle)
    link_.restart(error_of(Code::broken));
  complete_all(batch, error);
}

void ProducerCore::on_entry(Index message, const Client::Sent& sent, MessageList& retried,
                            Clock::time_point now) {
  if (is_retryable(sent.code)) {
    retry_later(Millis(retry_after_ms(static_cast<pawl::Status>(sent.code))), now);
    retried.push_back(intake_.pool(), message);
  } else if (sent.code != Code::ok) {
    complete(message, std::unexpected(error_of(sent.code)));
  } else {
    complete(message, sent);
  }
}

void ProducerCore::retry_later(Millis retry_after, Clock::time_point now) {
  paused_until_ = std::max(paused_until_, now + std::max(retry_after, retry_min));
  intake_.throttle(paused_until_);
}

void ProducerCore::expire(Clock::time_point now) {
  while (!waiting_.empty() && intake_.pool().at(waiting_.first).deadline <= now) {
    complete(waiting_.pop_front(intake_.pool()), std::unexpected(error_of(Code::timed_out)));
    if (ended_.size() == entries_max) deliver();
  }
}

// --- batches ---

void ProducerCore::send_batches(Clock::time_point now) {
  while (may_send(now) && is_due(now) && send_batch()) continue;
}

bool ProducerCore::may_send(Clock::time_point now) {
  if (waiting_.empty() || now < paused_until_ || !link_.up()) return false;
  // The output buffer holds one batch.
  if (link_.pipeline().obstacle() || link_.pipeline().unsent()) return false;
  return in_flight_ == 0 || !link_.queue(0).fifo;
}

bool ProducerCore::is_full() const {
  return waiting_.count >= entries_max || waiting_.bytes >= intake_.unit_bytes();
}

bool ProducerCore::is_due(Clock::time_point now) const {
  if (flushing_ || is_full()) return true;
  if (options_.linger.count() == 0) return in_flight_ == 0;
  const auto accepted = intake_.pool().at(waiting_.first).deadline - options_.deadline;
  return now >= accepted + options_.linger;
}

// False: the credit is too small for the next message.
bool ProducerCore::send_batch() {
  Pipeline& pipeline = link_.pipeline();
  const std::size_t credit = pipeline.credit_bytes();
  if (credit <= batch_overhead) return false;
  std::string& out =
      pipeline.begin(sends_once() ? BinaryOp::send_once : BinaryOp::send, link_.queue(0).handle);
  MessageList batch = encode_batch(out, credit - batch_overhead);
  const auto ticket =
      batch.empty() ? std::unexpected(error_of(Code::would_block)) : pipeline.finish();
  if (batch.empty()) pipeline.abandon();
  if (!ticket) {
    waiting_.merge(intake_.pool(), batch);
    return false;
  }
  const std::size_t slot = *ticket & 0xFFFF;
  if (batches_.size() <= slot) batches_.resize(pipeline.slots());
  CHECK(batches_[slot].empty(), "batch {} is in flight", slot);
  batches_[slot] = batch;
  ++in_flight_;
  pipeline.flush();
  return link_.up();
}

// Appends the payload of SEND or SEND_ONCE.
MessageList ProducerCore::encode_batch(std::string& out, std::size_t bytes_max) {
  MessagePool& pool = intake_.pool();
  bytes_max = std::min(bytes_max, intake_.unit_bytes() + id_bytes_max);
  out.reserve(out.size() + intake_.unit_bytes() + batch_overhead + id_bytes_max);
  const std::uint64_t first = pool.at(waiting_.first).number;
  const bool once = sends_once();
  if (once) put_struct(out, payload::Producer{id_, first, oldest()});
  const std::size_t begin = out.size();
  put_count<payload::MessageWords>(out, 0);
  MessageList batch;
  while (!waiting_.empty() && batch.count < entries_max) {
    if (once && pool.at(waiting_.first).number != first + batch.count) break;
    const std::size_t bytes = pool.at(waiting_.first).bytes + id_bytes_max;
    if (out.size() - begin + bytes > bytes_max && (in_flight_ > 0 || !batch.empty())) break;
    encode(out, waiting_.first);
    batch.push_back(pool, waiting_.pop_front(pool));
  }
  std::memcpy(out.data() + begin, &batch.count, sizeof batch.count);
  return batch;
}

void ProducerCore::encode(std::string& out, Index message) const {
  const std::size_t begin = out.size();
  const MessagePool::Message& header = intake_.pool().at(message);
  intake_.pool().append_to(out, message);
  if (header.needs_deduplication_id && !link_.queue(0).content_based_deduplication)
    append_deduplication_id(out, begin, header.number);
}

// The deduplication id is the last part of an encoded message; its length is in the names word.
void ProducerCore::append_deduplication_id(std::string& out, std::size_t begin,
                                           std::uint64_t number) const {
  std::uint32_t head = 0;
  std::memcpy(&head, out.data() + begin, sizeof head);
  CHECK((head & entry_has_names) != 0, "a FIFO message without a group");
  const std::size_t names = begin + payload::names_at(head);
  const std::size_t before = out.size();
  append_format(out, "{}-{}", {nonce_, Hex{number}});
  CHECK(out.size() - before <= id_bytes_max, "an id of {} bytes", out.size() - before);
  out[names + 1] = static_cast<char>(out.size() - before);
}

// --- completions ---

void ProducerCore::complete(Index message, Client::Result<Client::Sent> outcome) {
  ended_.push_back({intake_.pool().at(message).cookie, std::move(outcome)});
  done_.push_back(intake_.pool(), message);
}

void ProducerCore::complete_all(MessageList& list, const Client::Error& error) {
  while (!list.empty()) {
    complete(list.pop_front(intake_.pool()), std::unexpected(error));
    if (ended_.size() == entries_max) deliver();
  }
  deliver();
}

// Frees the memory first: a completion may send the next message.
void ProducerCore::deliver() {
  if (ended_.empty()) return;
  intake_.release(done_);
  for (const Ended& ended : ended_) on_complete_(context_, ended.cookie, ended.outcome);
  completed_ += ended_.size();
  ended_.clear();
}

std::uint64_t ProducerCore::oldest() const {
  const MessagePool& pool = intake_.pool();
  std::uint64_t oldest = Intake::no_message;
  if (!waiting_.empty()) oldest = pool.at(waiting_.first).number;
  for (const MessageList& batch : batches_)
    if (!batch.empty()) oldest = std::min(oldest, pool.at(batch.first).number);
  return oldest;
}

// --- sleeping ---

void ProducerCore::report() {
  intake_.report({.connected = link_.up(),
                  .last_error = link_.error(),
                  .connections = link_.connections(),
                  .completed = completed_});
}

bool ProducerCore::may_gather(Clock::time_point now) const {
  if (!link_.up() || now < paused_until_ || is_full()) return false;
  return options_.linger.count() == 0 ? in_flight_ > 0 : !waiting_.empty();
}

void ProducerCore::prepare_to_sleep(Clock::time_point now) {
  link_.watch(readiness_);
  deadline_ = link_.deadline();
  WakeThreshold threshold;  // the first message
  if (!waiting_.empty()) {
    const Clock::time_point expiry = intake_.pool().at(waiting_.first).deadline;
    const Clock::time_point linger_end = expiry - options_.deadline + options_.linger;
    deadline_ = std::min(deadline_, expiry);
    if (now < paused_until_) deadline_ = std::min(deadline_, paused_until_);
    if (now < linger_end) deadline_ = std::min(deadline_, linger_end);
    threshold = {.messages = WakeThreshold::never};
  }
  // A message that would only gather needs no turn. On a FIFO queue the response is awaited.
  if (may_gather(now)) {
    const bool awaits_response = in_flight_ > 0 && link_.queue(0).fifo;
    threshold = {
        .messages = awaits_response ? WakeThreshold::never : entries_max - waiting_.count,
        .bytes = awaits_response ? WakeThreshold::never : intake_.unit_bytes() - waiting_.bytes};
  }
  if (!intake_.sleep(threshold)) deadline_ = now;
}

}  // namespace pawl::client

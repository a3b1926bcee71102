// SPDX-License-Identifier: Apache-2.0
// Cycle: a shard over a log that only counts positions. Its send, receive and delete allocate
// nothing.
//
// For the test that a steady state allocates nothing, and for the benchmark of that state.
// Owner: one thread.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/shard/shard.h"
#include "tests/core/secret.h"

namespace pawl::test {

class Cycle {
 public:
  static constexpr std::uint32_t batch_max = 10;

  explicit Cycle(std::vector<AttributeChange> changes = {}) {
    const QueueSpec spec{.account = "a", .name = "q", .changes = std::move(changes), .tags = {}};
    Request request;
    request.op = Op::create_queue;
    request.spec = &spec;
    turn(&request);
    queue_ = request.config->id;
  }

  // One turn of 1 ms: expire, apply, match, append. Its records are durable at once.
  void turn(Request* request) {
    now_ = now_ + milliseconds(1);
    effects_.clear();
    shard_.expire(now_, now_, effects_);
    if (request != nullptr) shard_.apply(*request, now_, effects_);
    shard_.match(now_, effects_);
    for (SendRecord& record : effects_.sends) record.position = ++position_;
    freed_ += effects_.freed.size();
    shard_.appended(effects_, ++lsn_);
    shard_.committed(lsn_, now_);
  }

  void send(std::uint32_t count, Duration delay = queue_default) {
    for (SendEntry& entry : sends_) entry.delay = delay;
    Request request;
    request.op = Op::send;
    request.queue = queue_;
    request.sends = std::span(sends_).first(count);
    turn(&request);
  }
  // Sends as a producer whose earlier messages are settled.
  void send_once(std::uint32_t count) {
    Request request;
    request.op = Op::send;
    request.queue = queue_;
    request.sends = std::span(sends_).first(count);
    request.producer = {.id = 7, .floor = sequence_};
    for (SendEntry& entry : request.sends) entry.sequence = sequence_++;
    turn(&request);
  }
  // Sends to a FIFO queue or for tenants: deduplication ids are unique, groups rotate through
  // `groups` names.
  void send_in_groups(std::uint32_t count, std::uint64_t groups) {
    for (std::uint32_t i = 0; i < count; ++i, ++named_) {
      Content& content = sends_[i].content;
      content.group = decimal(named_ % groups, names_[i].group);
      if (is_fifo()) content.dedup_id = decimal(named_, names_[i].dedup_id);
    }
    send(count);
  }
  // The request stays in request_, so that a long poll can be answered later.
  std::uint32_t receive(std::uint32_t count, Duration wait = {},
                        Duration visibility = queue_default) {
    request_ = Request{};
    request_.op = Op::receive;
    request_.queue = queue_;
    request_.deliveries = deliveries_;
    request_.receive = {.max = count, .visibility = visibility, .wait = wait};
    turn(&request_);
    return request_.delivered;
  }
  // Deletes the messages received last, or changes their visibility.
  void use_handles(Op op, Duration visibility = {}) {
    for (std::uint32_t i = 0; i < request_.delivered; ++i)
      receipts_[i] = {.handle = deliveries_[i].handle, .visibility = visibility};
    Request request;
    request.op = op;
    request.queue = queue_;
    request.receipts = std::span(receipts_).first(request_.delivered);
    turn(&request);
  }

  Shard& shard() { return shard_; }
  QueueId queue() const { return queue_; }
  std::uint32_t delivered() const { return request_.delivered; }
  std::uint64_t freed() const { return freed_; }
  void advance(Duration by) { now_ = now_ + by; }

 private:
  struct Names {
    std::array<char, 20> group{}, dedup_id{};
  };

  bool is_fifo() const { return (*shard_.directory().find(queue_))->is_fifo(); }
  static std::string_view decimal(std::uint64_t number, std::array<char, 20>& room) {
    return {room.data(), std::to_chars(room.data(), room.data() + room.size(), number).ptr};
  }

  Instant now_{1'000'000};
  Shard shard_{
      {.secret = test_secret(), .receipt_key = test_receipt_key()},
      {},
      now_
  };
  Effects effects_;
  QueueId queue_ = QueueId::none;
  LogPos position_ = 0;
  Lsn lsn_ = 0;
  std::uint64_t freed_ = 0;
  Request request_;
  std::uint64_t named_ = 0;
  std::uint64_t sequence_ = 1;  // of the producer
  std::array<Names, batch_max> names_;
  std::array<SendEntry, batch_max> sends_;
  std::array<Delivery, batch_max> deliveries_;
  std::array<ReceiptEntry, batch_max> receipts_;
};

}  // namespace pawl::test

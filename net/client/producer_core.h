// SPDX-License-Identifier: Apache-2.0
// The part of a Producer that one thread drives: batches, retries, deadlines, completions.
//
//   intake --collect--> waiting --batch--> in flight --response--> completed
//                         ^  |               |
//                         |  +-- deadline ---|------------------> completed (timed_out)
//                         +-- 2xxx, or the connection ended -----+
//
// Both lists are ascending in the messages' numbers; a retried message goes back to its place. On a
// standard queue the server recognises a resent message by the Producer's id and the message's
// number (SEND_ONCE). A batch then has consecutive numbers only.
//
// Limits: 1024 messages and Intake::unit_bytes() a batch; on a FIFO queue one batch is in flight.
// Errors: completions.
// Owner:  the Producer; turn() and close() by one thread at a time, the intake by any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/client/intake.h"
#include "net/client/link.h"
#include "net/client/message_pool.h"
#include "net/client/pawl/producer.h"
#include "net/client/readiness.h"

namespace pawl::client {

class ProducerCore {
 public:
  ProducerCore(const Producer::Options& options, Producer::OnComplete on_complete, void* context,
               Clock::time_point now);

  // Advances without waiting and calls completions.
  void turn(Clock::time_point now);
  Clock::time_point deadline() const { return deadline_; }  // of the next turn
  // Completes everything that is left, with closed or broken.
  void close();

  Intake& intake() { return intake_; }
  const Intake& intake() const { return intake_; }
  const Readiness& readiness() const { return readiness_; }

 private:
  struct Ended {
    std::uint64_t cookie;
    Client::Result<Client::Sent> outcome;
  };
  using Index = MessagePool::Index;

  void on_answer(const Answer& answer, Clock::time_point now);
  void on_refusal(MessageList& batch, const Client::Error& error, Clock::time_point now);
  void on_entry(Index message, const Client::Sent& sent, MessageList& retried,
                Clock::time_point now);
  void retry_later(std::chrono::milliseconds retry_after, Clock::time_point now);
  void expire(Clock::time_point now);

  void send_batches(Clock::time_point now);
  bool may_send(Clock::time_point now);
  bool is_due(Clock::time_point now) const;
  bool is_full() const;
  bool may_gather(Clock::time_point now) const;
  bool send_batch();
  bool sends_once() const { return link_.sends_once() && !link_.queue(0).fifo; }
  MessageList encode_batch(std::string& out, std::size_t bytes_max);
  void encode(std::string& out, Index message) const;
  void append_deduplication_id(std::string& out, std::size_t begin, std::uint64_t number) const;

  void complete(Index message, Client::Result<Client::Sent> outcome);
  void complete_all(MessageList& list, const Client::Error& error);
  void deliver();
  std::uint64_t oldest() const;
  void report();
  void prepare_to_sleep(Clock::time_point now);

  const Producer::Options options_;
  const Producer::OnComplete on_complete_;
  void* const context_;
  const std::string nonce_;  // begins each deduplication id that this Producer makes
  const std::uint64_t id_;   // random, of this Producer in SEND_ONCE

  Readiness readiness_;
  Intake intake_;
  Link link_;
  Clock::time_point deadline_;
  bool flushing_ = false;

  MessageList waiting_;
  std::vector<MessageList> batches_;  // in flight, by the slot of their ticket
  std::size_t in_flight_ = 0;         // batches
  Clock::time_point paused_until_;    // after a refusal 2xxx

  MessageList done_;          // completed, their memory is not free yet
  std::vector<Ended> ended_;  // their completions, to be called
  std::uint64_t completed_ = 0;
  std::vector<Answer> answers_;
  std::vector<Client::Sent> sent_;
};

}  // namespace pawl::client

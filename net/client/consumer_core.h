// SPDX-License-Identifier: Apache-2.0
// The part of a Consumer that one thread drives: receives, verdicts, extensions, acknowledgements.
//
//   message --> handler --verdict--> to delete | to release | to move --request--> confirmed
//                  |  ^                               ^                     |
//                  +--+ CHANGE every third of the     +--- 2xxx, or the ----+
//                       visibility timeout                 connection ended
//
// One DELETE_MESSAGE is in flight at a time, unless a full one can follow: verdicts gather
// meanwhile. The same holds for CHANGE.
//
// One message of each group of a FIFO queue is with the handler (group_order.h).
//
// Limits: 1024 receipts a request.
// Errors: refusals are counted; receipts that the server refuses are given up.
// Owner:  the Consumer; turn() by one thread at a time, the verdicts by any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "net/client/group_order.h"
#include "net/client/held_messages.h"
#include "net/client/link.h"
#include "net/client/pawl/consumer.h"
#include "net/client/readiness.h"
#include "net/client/receives.h"
#include "net/client/verdicts.h"

namespace pawl::client {

class ConsumerCore {
 public:
  ConsumerCore(const Consumer::Options& options, Consumer::Handler handler, Clock::time_point now);

  // Advances without waiting, and calls the handler.
  void turn(Clock::time_point now);
  Clock::time_point deadline() const { return deadline_; }  // of the next turn
  void close();                                             // disconnects for good

  Verdicts& verdicts() { return verdicts_; }
  const Verdicts& verdicts() const { return verdicts_; }
  const Readiness& readiness() const { return readiness_; }

 private:
  using Index = HeldMessages::Index;
  // One receipt of a request in flight. The slot may have another use when the response comes.
  struct Entry {
    Index index;
    std::uint32_t use;
    Held::State state;  // the request's purpose; under_way: an extension
  };
  // Slots in this state wait for the next request.
  struct Outbox {
    BinaryOp op;
    std::vector<Index> slots{};
    std::size_t in_flight = 0;  // requests
  };

  void take_verdicts();
  std::chrono::milliseconds allowed_delay(const Held& held, std::chrono::milliseconds delay) const;
  void stop_group(Index index);
  void hand_over(Index index, const Client::MessageView& message);
  void begin_waiting();
  void apply(Index index, Verdict verdict, const Client::MessageView* message);
  void enter(Index index, Held::State state);
  void requeue(Index index);
  Outbox& outbox_of(Held::State state);
  void release_all();

  void on_answer(const Answer& answer, Clock::time_point now);
  void on_received(const Answer& answer, Clock::time_point now);
  void on_message(const Client::MessageView& message, Clock::time_point now);
  void on_redelivered(Index index, const Client::MessageView& message, Clock::time_point now);
  bool take_codes_of(const Answer& answer);
  void on_code(const Entry& entry, Client::Code code, Clock::time_point now);
  void on_extended(Held& held, Client::Code code, Clock::time_point now);
  void on_confirmed(Index index, Client::Code code, Clock::time_point now);
  void await_delivery(Index index, Clock::time_point now);
  void forget_expired(Clock::time_point now);

  std::chrono::milliseconds visibility() const;
  Clock::time_point next_extension(Clock::time_point now) const;
  void extend(Clock::time_point now);
  void send_requests(Clock::time_point now);
  void send_outbox(Outbox& outbox, std::size_t entries_most);
  std::uint32_t free_for_more() const;
  void encode(std::string& out, const Outbox& outbox, std::size_t count);
  bool submit(const std::vector<Entry>& entries, Outbox* outbox);
  void prepare_to_sleep(Clock::time_point now);

  const Consumer::Options options_;
  const Consumer::Handler handler_;
  Readiness readiness_;
  Verdicts verdicts_;
  Link link_;
  Receives receives_;
  HeldMessages held_;
  GroupOrder groups_;
  Verdicts::Mode mode_ = Verdicts::Mode::running;
  Consumer::Status status_;
  std::chrono::milliseconds queue_visibility_{0};  // the queue's setting when it was opened
  Clock::time_point deadline_;

  Outbox deletes_{BinaryOp::delete_message}, releases_{BinaryOp::change}, moves_{BinaryOp::send};
  std::vector<std::vector<Entry>> in_flight_;  // by the slot of the request's ticket
  Clock::time_point paused_until_;             // requests other than RECEIVE, after a refusal 2xxx
  Clock::time_point due_at_ = Clock::time_point::max();  // no message is due before it

  std::vector<TokenVerdict> arrived_;
  std::vector<Answer> answers_;
  std::vector<Client::MessageView> messages_;
  std::vector<std::pair<Index, const Client::MessageView*>> due_;  // received, to be handled
  std::vector<Client::Code> codes_;
  std::vector<Client::Sent> sent_;
  std::vector<Entry> entries_;
};

}  // namespace pawl::client

// SPDX-License-Identifier: Apache-2.0
// Transfers of messages between queues; queue/transfer.h draws their stages and says why no message
// is lost or duplicated.
//
// Limits: ShardLimits: transfers_max and transfer_bytes_max under way; a queue that is refused one
//         is served again when another ends.
// Errors: in Transfer::request, from the target.
// Owner:  core/shard/shard.h. A Transfer belongs to its source's shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "core/queue/effects.h"
#include "core/queue/transfer.h"
#include "core/shard/commit_queue.h"
#include "core/shard/long_polls.h"
#include "core/shard/message_states.h"
#include "core/shard/shard_state.h"

namespace pawl {

// A transfer that a crash interrupted: its target has the message, its source may still have it.
struct UnsettledTransfer {
  TransferKey from;
  std::uint32_t task = 0;
};

class Transfers {
 public:
  Transfers(ShardState& state, LongPolls& polls, MessageStates& states, CommitQueue& commits)
      : state_(state),
        polls_(polls),
        states_(states),
        commits_(commits),
        transfers_max_(state.limits.transfers_max) {}

  // --- at the source ---
  bool is_dead_letter(const Queue& queue, const Slot& slot) const;
  // Its messages go to another queue when their time ends.
  bool takes_expired(const Queue& queue) const;
  bool may_transfer() const;  // not too many are under way
  // A dead letter that moves without a receive, by x-dead-letter-at.
  bool moves_by_itself(const Queue& queue, const Slot& slot) const {
    return queue.config->dead_letter_at() == DeadLetterAt::lease_end && is_dead_letter(queue, slot);
  }
  // Begins the move of a dead letter, the `dead_letters`th of a receive. False: not now.
  bool move_to_dead_letters(Queue& queue, std::uint32_t row, std::uint32_t& dead_letters,
                            Instant now, Effects& effects);
  // Hides the message and has the shard loop read it. False: too many are under way.
  bool prepare(Queue& queue, std::uint32_t row, std::string_view destination, std::uint32_t task,
               Effects& effects);
  // The content has been read: finds the target. On failure the request has the error and returns
  // to Shard::apply() in the commit stage.
  void address(Transfer& transfer);
  // The target has accepted or refused the message. Returns the source if its move task counts the
  // message; else null. finish_commit() follows, after the task.
  Queue* commit(Transfer& transfer, Instant now, Effects& effects);
  void finish_commit(Transfer& transfer, Effects& effects);
  // The target has forgotten the transfer.
  void finish(Transfer& transfer, Effects& effects);
  // True: the delete waits for the message in transfer, and its request for answer_deletes().
  bool hold_delete(const TransferKey& key, Request& request);
  bool holds_deletes_of(const Request& request) const { return held_deletes_.contains(&request); }

  // --- at the target ---
  void accept(Transfer& transfer, Instant now, Effects& effects);
  void forget(Transfer& transfer, Effects& effects);

  // --- checkpoints and recovery ---
  struct Accepted {  // a message whose transfer its source has not confirmed; it may be deleted
    QueueId queue = QueueId::none;
    std::uint32_t task = 0;
  };
  const std::map<TransferKey, Accepted>& unsettled() const { return unsettled_; }
  void note_unsettled(const TransferKey& key, const Accepted& at) { unsettled_[key] = at; }
  void forget_unsettled(const TransferKey& key) { unsettled_.erase(key); }
  Transfer& resume(const UnsettledTransfer& unsettled, ShardId target);

  std::size_t under_way() const { return under_way_; }
  std::uint64_t bytes() const { return bytes_; }  // copies of messages
  std::uint64_t memory() const;                   // the rows

 private:
  Transfer* take_transfer();
  void give_transfer(Transfer& transfer);
  const QueueConfig* dead_letter_queue(const Queue& queue) const;
  void count_transfer(Transfer& transfer, std::uint64_t bytes);
  void wake_refused();
  static Instant hold_back(Queue& queue, Instant now);
  void let_follow(Queue& queue, std::uint32_t row, Instant now);
  void return_to_source(Queue& queue, Transfer& transfer, std::uint32_t row, Instant now);
  void answer_deletes(const TransferKey& key, Effects& effects);

  ShardState& state_;
  LongPolls& polls_;
  MessageStates& states_;
  CommitQueue& commits_;
  std::vector<std::unique_ptr<Transfer>> pool_;
  std::vector<Transfer*> free_;
  std::size_t under_way_ = 0;
  std::size_t transfers_max_;  // recovery raises it: it must complete every transfer
  std::uint64_t bytes_ = 0;    // see count_transfer()
  // Messages in transfer from this shard, and the deletes waiting for each. A key is erased when
  // the target has accepted the message or, with deletes, has deleted it.
  std::map<TransferKey, std::vector<Request*>> moving_;
  std::map<const Request*, std::size_t> held_deletes_;  // number of waiting entries by request
  std::vector<QueueId> refused_;                        // queues waiting for a transfer to end
  std::map<TransferKey, Accepted> unsettled_;
  std::set<QueueId> used_up_targets_;  // no numbers left: their dead letters stay in the source
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Model of messages that their producers number: each sequence makes at most one message, and one
// that was answered is there.
#include <algorithm>

#include "core/queue/queue_config.h"
#include "tests/sim/model.h"

namespace pawl::sim {

void Model::name_producer(std::uint32_t id, std::uint32_t producer, std::uint64_t sequence) {
  messages_[id].producer = producer;
  messages_[id].sequence = static_cast<std::uint32_t>(sequence);
}

// The message accepted as `seq` for the same sequence; null: its number was given to another.
ModelMessage* Model::same_message(QueueRow& queue, const ModelMessage& message, Seq seq) {
  const auto at = queue.by_seq.find(seq);
  if (at == queue.by_seq.end()) return nullptr;
  ModelMessage& found = messages_[at->second];
  const bool same = found.producer == message.producer && found.sequence == message.sequence;
  return same ? &found : nullptr;
}

// The client does not send the sequence again; an earlier call with it is then below the floor.
void Model::given_up(QueueRow& queue, const ModelMessage& message, const Turn& turn) {
  if (message.producer == 0) return;
  queue.firsts[{message.producer, message.sequence}].push_back({0, turn.now, turn.step, false});
}

void Model::judge_once(QueueRow& queue, const ModelMessage& message, const SendEntry& entry,
                       const Turn& turn) {
  if (message.producer == 0) {
    if (entry.duplicate) trace_->broken("a duplicate is one", "in a standard queue");
    return;
  }
  std::vector<First>& firsts = queue.firsts[{message.producer, message.sequence}];
  entry.duplicate ? judge_resent(queue, message, firsts, entry, turn)
                  : judge_accepted(queue, message, firsts, entry, turn);
}

// Within the window an earlier message of the sequence was lost in a crash.
void Model::judge_accepted(QueueRow& queue, const ModelMessage& message, std::vector<First>& firsts,
                           const SendEntry& entry, const Turn& turn) {
  for (First& other : firsts) {
    if (other.at + dedup_window <= turn.now) continue;
    const bool purged = message.producer == publisher && queue.purges > 0;
    if (other.sure && !purged)
      return trace_->broken(
          "a message is sent once",
          "queue {}: sequence {} of producer {} is seq {}, was seq {} {} ms before", raw(queue.id),
          message.sequence, message.producer, entry.seq, other.seq, (turn.now - other.at).ms);
    // Its number may have gone with a purge that a crash made doubtful, and the message may have
    // left the queue before.
    if (purged || (message.producer == publisher && other.at <= queue.purged_high)) continue;
    ModelMessage* const lost = same_message(queue, message, other.seq);
    if (lost != nullptr && lost->sent == ModelMessage::Sent::doubtful)
      lose(*lost, "lost in a crash, and sent again");
  }
  // A lost message's number may be this one's.
  std::erase_if(firsts, [&](const First& other) { return other.seq == entry.seq; });
  for (First& other : firsts) other.sure = false;
  firsts.push_back({entry.seq, turn.now, turn.step, true});
}

// The broker knows the message, so it survived each crash. Below the floor, and when there are many
// gaps, its number is not known.
void Model::judge_resent(QueueRow& queue, const ModelMessage& message, std::vector<First>& firsts,
                         const SendEntry& entry, const Turn& turn) {
  const auto first = std::ranges::find_if(
      firsts, [&](const First& f) { return entry.seq == 0 || f.seq == entry.seq; });
  if (first == firsts.end())
    return trace_->broken("a resent message is one", "queue {}: sequence {} of producer {}, seq {}",
                          raw(queue.id), message.sequence, message.producer, entry.seq);
  if (entry.seq == 0) return;
  for (First& other : firsts) other.sure = other.seq == entry.seq;
  ModelMessage* const known = same_message(queue, message, entry.seq);
  if (known == nullptr || known->sent != ModelMessage::Sent::doubtful) return;
  known->sent = ModelMessage::Sent::acked;
  known->acked_step = turn.step;
}

}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/known.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace pawl {

const Known::Queue* Known::find(QueueId id) const {
  const auto it = queues_.find(id);
  return it == queues_.end() ? nullptr : &it->second;
}

bool Known::live(QueueId id) const {
  const auto it = configs_.find(id);
  return it != configs_.end() && !it->second.gone;
}

std::map<QueueId, Known::Given> Known::given() const {
  std::map<QueueId, Given> found;
  for (const auto& [id, queue] : queues_) found[id] = queue;
  return found;
}

void Known::go_on_from(const std::map<QueueId, Given>& given) {
  for (const auto& [id, so_far] : given) static_cast<Given&>(queue(id)) = so_far;
}

Known::Queue& Known::queue(QueueId id) {
  queue_ids_end_ = std::max(queue_ids_end_, raw(id) + 1);
  return queues_[id];
}

void Known::gave_out(Queue& queue, Seq below) {
  CHECK(below > 0, "numbers begin at 1");
  // A startup continues after the numbers that were reserved before it.
  for (const Seq end : {queue.reserved_before, queue.reserved})
    if (queue.latest < end && end <= below) queue.latest = end - 1;
  const bool comparable = queue.latest != 0 || from_the_first_;
  for (Seq seq = queue.latest + 1; damaged_ && comparable && seq < below; ++seq) {
    if (seq >= queue.low) queue.missing.insert(seq);
  }
  queue.latest = std::max(queue.latest, below - 1);
  queue.next = std::max(queue.next, below);
  CHECK(queue.reserved_before <= queue.reserved, "numbers are reserved to {}, before to {}",
        queue.reserved, queue.reserved_before);
}

void Known::gone(Queue& queue, Seq seq) {
  queue.messages.erase(seq);
  queue.missing.erase(seq);
}

void Known::send(const StoredMessage& message, std::size_t offset) {
  if (part_ == Part::checkpoint || message.seq == 0) return;
  Queue& q = queue(message.queue);
  if (message.relocated) return relocate(q, message.seq, records_ + offset);
  gave_out(q, message.seq);
  q.latest = std::max(q.latest, message.seq);
  q.next = std::max(q.next, message.seq + 1);
  q.missing.erase(message.seq);
  CHECK(q.next > message.seq, "message {}, the next number is {}", message.seq, q.next);
  if (message.seq >= q.low) q.messages.emplace(message.seq, records_ + offset);
}

// A relocated message that the checkpoint does not list was deleted; its delete record follows.
void Known::relocate(Queue& queue, Seq seq, LogPos position) {
  queue.next = std::max(queue.next, seq + 1);
  if (seq >= queue.low && (!with_checkpoint_ || queue.messages.contains(seq)))
    queue.messages[seq] = position;
}

void Known::receive(const ReceiveRecord& record) {
  if (part_ == Part::log) gave_out(queue(record.queue), record.seq + 1);
}

void Known::delete_message(const DeleteRecord& record) {
  if (part_ == Part::checkpoint) return;
  Queue& q = queue(record.queue);
  gave_out(q, record.seq + 1);
  gone(q, record.seq);
}

void Known::purge(const PurgeRecord& record) {
  Queue& q = queue(record.queue);
  q.low = std::max(q.low, record.below);
  q.next = std::max(q.next, record.below);
  if (part_ == Part::log) q.latest = std::max(q.latest, record.below == 0 ? 0 : record.below - 1);
  q.messages.erase(q.messages.begin(), q.messages.lower_bound(q.low));
  q.missing.erase(q.missing.begin(), q.missing.lower_bound(q.low));
  CHECK(q.low <= q.next, "purged below {}, the next number is {}", q.low, q.next);
}

void Known::config(const ConfigRecord& record) {
  CHECK(record.config != nullptr, "a record without a config");
  queue_ids_end_ = std::max(queue_ids_end_, raw(record.config->id) + 1);
  ConfigRecord& known = configs_[record.config->id];
  auto config = std::make_shared<QueueConfig>(*record.config);
  if (known.config) config->rows = known.config->rows;  // rows have their own records
  known = {std::move(config), record.gone};
  if (record.gone) queues_.erase(record.config->id);
}

void Known::row(const RowRecord& record) {
  const auto it = configs_.find(record.topic);
  if (it == configs_.end()) return;
  CHECK(it->second.config != nullptr, "queue {} has no config", raw(record.topic));
  auto config = std::make_shared<QueueConfig>(*it->second.config);
  config->apply({Attribute::topic_row, static_cast<std::int64_t>(record.number), record.text});
  it->second.config = std::move(config);
}

// HEADS of a repair begin with an entry of no queue and number 0.
void Known::head(const HeadRecord& record) {
  if (record.queue == QueueId::none) {
    guessed_ |= record.next_seq == 0;
    queue_ids_end_ = std::max(queue_ids_end_, static_cast<std::uint32_t>(record.next_seq));
    return;
  }
  Queue& q = queue(record.queue);
  q.next = std::max(q.next, record.next_seq);
  if (record.reserved) {
    if (record.next_seq > q.reserved)
      q.reserved_before = std::exchange(q.reserved, record.next_seq);
    return;
  }
  if (part_ == Part::log && record.next_seq > 0) {
    if (guessed_) q.latest = std::max(q.latest, record.next_seq - 1);
    gave_out(q, record.next_seq);
  }
}

void Known::task(const TaskRecord& record) {
  Queue& q = queue(record.task.source);
  for (const Seq seq : record.deleted) {
    if (part_ == Part::log) gave_out(q, seq + 1);
    gone(q, seq);
  }
}

void Known::number(const NumberRecord& record) {
  if (part_ == Part::log) gave_out(queue(record.topic), record.seq + 1);
}

void Known::checkpoint(const CheckpointRecord& record) {
  if (part_ == Part::log) return;
  const auto note = [&](QueueId id, const auto& entries) {
    Queue& q = queue(id);
    for (const auto& entry : entries) {
      q.messages[entry.seq] = entry.position;
      q.next = std::max(q.next, entry.seq + 1);
    }
  };
  if (const auto* index_entries = std::get_if<IndexEntriesRecord>(&record))
    note(index_entries->queue, index_entries->entries);
  if (const auto* tracked = std::get_if<TrackedMessagesRecord>(&record))
    note(tracked->queue, tracked->entries);
}

}  // namespace pawl

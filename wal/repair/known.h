// SPDX-License-Identifier: Apache-2.0
// Known: the part of recovery's result that a repair needs: messages and their positions, queues,
// and assigned numbers.
//
// Message numbers are dense: a number that is skipped after damage is one whose SEND is lost,
// unless a later record deletes the message.
//
// Limits: about 60 bytes per message.
// Owner:  values.
// Source: wal/FORMAT.md, "Checkpoints and recovery"; core/shard/state_restorer.cc.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "wal/format/records.h"

namespace pawl {

class Known final : public RecordSink {
 public:
  // Numbers of a queue that were assigned, according to the log without its checkpoints.
  struct Given {
    Seq latest = 0;  // the highest; 0: none
    // Ends of the last two reservations. A startup continues there, so numbers below may be unused.
    Seq reserved = 0, reserved_before = 0;
  };
  struct Queue : Given {
    std::map<Seq, LogPos> messages;
    std::set<Seq> missing;  // assigned numbers whose SEND was not read
    Seq low = 0;            // all messages below are purged
    Seq next = 1;           // above all known numbers
  };
  // The kind of records to read: those of a checkpoint, or all others.
  enum class Part { checkpoint, log };

  void begin(Part part) {
    part_ = part;
    with_checkpoint_ |= part == Part::checkpoint;
    records_ = 0;
  }
  // Sets the position of the next frame's records. Frames of a part are read in ascending order.
  void at(Lsn records) {
    CHECK(records > records_, "records at {} after {}", records, records_);
    records_ = records;
    guessed_ = false;
  }
  // From here on, skipped numbers count as missing.
  void damaged() { damaged_ = true; }
  // The log is read from its beginning, so its numbers begin at 1.
  void from_the_first() { from_the_first_ = true; }

  // The numbers assigned so far; go_on_from() sets them before the next records are read.
  std::map<QueueId, Given> given() const;
  void go_on_from(const std::map<QueueId, Given>& given);

  const std::map<QueueId, Queue>& queues() const { return queues_; }
  const std::map<QueueId, ConfigRecord>& configs() const { return configs_; }
  const Queue* find(QueueId id) const;
  bool live(QueueId id) const;  // it was created and not deleted
  std::uint32_t queue_ids_end() const { return queue_ids_end_; }

  void send(const StoredMessage& message, std::size_t offset) override;
  void receive(const ReceiveRecord& record) override;
  void delete_message(const DeleteRecord& record) override;
  void purge(const PurgeRecord& record) override;
  void config(const ConfigRecord& record) override;
  void row(const RowRecord& record) override;
  void head(const HeadRecord& record) override;
  void task(const TaskRecord& record) override;
  void forget_transfer(const ForgetTransferRecord&) override {}
  void number(const NumberRecord& record) override;
  void replay(const ReplayRecord&) override {}
  void checkpoint(const CheckpointRecord& record) override;
  void segment(const SegmentRecord&) override {}

 private:
  Queue& queue(QueueId id);
  void gave_out(Queue& queue, Seq below);  // all numbers below it are assigned
  void relocate(Queue& queue, Seq seq, LogPos position);
  void gone(Queue& queue, Seq seq);

  Part part_ = Part::log;
  Lsn records_ = 0;
  bool with_checkpoint_ = false;
  bool damaged_ = false;
  bool guessed_ = false;  // HEADS of this frame are estimates by a repair, not assigned numbers
  bool from_the_first_ = false;
  std::uint32_t queue_ids_end_ = 1;
  std::map<QueueId, Queue> queues_;
  std::map<QueueId, ConfigRecord> configs_;
};

}  // namespace pawl

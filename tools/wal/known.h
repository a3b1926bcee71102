// Known: what a start comes to know of a log, as far as a repair must know it too: which messages there are and where,
// the queues, and how far numbers have been given out.
//
// Numbers of messages are dense: a jump behind damage is a number whose SEND is lost, unless something says later
// that the message is gone.
//
// Limits: some 60 bytes a message.
// Owner:  values.
// Source: wal/FORMAT.md, "A checkpoint, and a start"; core/shard_recovery.cc.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/ids.h"
#include "wal/records.h"

namespace pawl {

class Known final : public RecordSink {
 public:
  // How far the log itself, not a checkpoint, has shown that numbers of a queue were given out.
  struct Given {
    Seq latest = 0;  // the highest; 0: none
    // Those below may be left out, when a start has gone on behind them; and those below the one before it.
    Seq reserved = 0, reserved_before = 0;
  };
  struct Queue : Given {
    std::map<Seq, LogPos> messages;
    std::set<Seq> missing;  // numbers that were given out and whose SEND was not read
    Seq low = 0;            // everything below is gone
    Seq next = 1;           // above all that are known
  };
  // What of the records that come is read: those of checkpoints, or all others.
  enum class Part { checkpoint, log };

  void begin(Part part) {
    part_ = part;
    with_checkpoint_ |= part == Part::checkpoint;
  }
  // The first byte of the records that come next.
  void at(Lsn records) {
    records_ = records;
    guessed_ = false;
  }
  // From here on numbers that were left out are missing.
  void damaged() { damaged_ = true; }
  // Nothing of the log comes before: its numbers begin at 1.
  void from_the_first() { from_the_first_ = true; }

  // How far numbers have been given out; and so far they had come before what is read next.
  std::map<QueueId, Given> given() const;
  void go_on_from(const std::map<QueueId, Given>& given);

  const std::map<QueueId, Queue>& queues() const { return queues_; }
  const std::map<QueueId, ConfigRecord>& configs() const { return configs_; }
  const Queue* find(QueueId id) const;
  bool live(QueueId id) const;  // it was made and not deleted
  std::uint32_t queue_ids_end() const { return queue_ids_end_; }

  void send(const StoredMessage& message, std::size_t offset) override;
  void receive(const ReceiveRecord& record) override;
  void remove(const RemoveRecord& record) override;
  void purge(const PurgeRecord& record) override;
  void config(const ConfigRecord& record) override;
  void row(const RowRecord& record) override;
  void head(const HeadRecord& record) override;
  void task(const TaskRecord& record) override;
  void settled(const SettledRecord&) override {}
  void replay(const ReplayRecord&) override {}
  void checkpoint(const CheckpointRecord& record) override;
  void segment(const SegmentRecord&) override {}

 private:
  Queue& queue(QueueId id);
  void gave_out(Queue& queue, Seq below);  // all numbers below this one
  void relocate(Queue& queue, Seq seq, LogPos position);
  void gone(Queue& queue, Seq seq);

  Part part_ = Part::log;
  Lsn records_ = 0;
  bool with_checkpoint_ = false;
  bool damaged_ = false;
  bool guessed_ =
      false;  // HEADS of this frame say what a repair was afraid of, not what was given out
  bool from_the_first_ = false;
  std::uint32_t queue_ids_end_ = 1;
  std::map<QueueId, Queue> queues_;
  std::map<QueueId, ConfigRecord> configs_;
};

}  // namespace pawl

// ShardReplay: what a log has, given to its shard.
//
// Owner: whoever opens the log, for the length of the call.
#pragma once

#include <vector>

#include "core/shard.h"
#include "wal/log.h"

namespace pawl {

class ShardReplay : public Replay {
 public:
  explicit ShardReplay(Shard& shard) : shard_(&shard) {}

  void config(const ConfigRecord& record) override { shard_->restore(record); }
  void head(const HeadRecord& record) override { shard_->restore(record); }
  void checkpoint(const CheckpointRecord& record) override { shard_->restore(record); }
  void receive(const ReceiveRecord& record) override { shard_->restore(record); }
  void settled(const SettledRecord& record) override { shard_->restore(record); }
  void send(const SendRecord& record, std::vector<LogPos>& freed) override {
    shard_->restore(record, freed);
  }
  void remove(const RemoveRecord& record, std::vector<LogPos>& freed) override {
    shard_->restore(record, freed);
  }
  void purge(const PurgeRecord& record, std::vector<LogPos>& freed) override {
    shard_->restore(record, freed);
  }
  void task(const TaskRecord& record, std::vector<LogPos>& freed) override {
    shard_->restore(record, freed);
  }

 private:
  Shard* shard_;
};

}  // namespace pawl

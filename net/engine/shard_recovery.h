// SPDX-License-Identifier: Apache-2.0
// ShardRecovery: applies the records of a log to its shard during recovery.
//
// Owner: the caller of open_log(), for the length of the call.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/shard/shard.h"
#include "wal/recovery/recovery.h"

namespace pawl {

// Progress of recovery, in bytes of the log; any thread may read it. Relaxed: two numbers for an
// estimate, which order nothing; a reader that sees only one of them new bounds them.
struct RecoveryProgress {
  std::atomic<std::uint64_t> read{0}, total{0};
};

class ShardRecovery : public RecoverySink {
 public:
  explicit ShardRecovery(Shard& shard, RecoveryProgress* progress = nullptr)
      : shard_(&shard), progress_(progress) {}

  void config(const ConfigRecord& record) override { shard_->restore(record); }
  void row(const RowRecord& record) override { shard_->restore(record); }
  void head(const HeadRecord& record) override { shard_->restore(record); }
  void checkpoint(const CheckpointRecord& record) override { shard_->restore(record); }
  void receive(const ReceiveRecord& record) override { shard_->restore(record); }
  void forget_transfer(const ForgetTransferRecord& record) override { shard_->restore(record); }
  void number(const NumberRecord& record) override { shard_->restore(record); }
  void send(const SendRecord& record, std::vector<LogPos>& freed) override {
    shard_->restore(record, freed);
  }
  void delete_message(const DeleteRecord& record, std::vector<LogPos>& freed) override {
    shard_->restore(record, freed);
  }
  void purge(const PurgeRecord& record, std::vector<LogPos>& freed) override {
    shard_->restore(record, freed);
  }
  void task(const TaskRecord& record, std::vector<LogPos>& freed) override {
    shard_->restore(record, freed);
  }
  void replay(const ReplayRecord& record) override { shard_->restore(record); }
  void progress(std::uint64_t read, std::uint64_t total) override {
    if (progress_ == nullptr) return;
    progress_->read.store(read, std::memory_order_relaxed);
    progress_->total.store(total, std::memory_order_relaxed);
  }

 private:
  Shard* shard_;
  RecoveryProgress* progress_;
};

}  // namespace pawl

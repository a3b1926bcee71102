// SPDX-License-Identifier: Apache-2.0
// open_log(): opens or creates a log, and hands the recovered records to a RecoverySink.
//
//   nothing --create--> empty log --+
//                                   +-> Log: appends behind the last good frame, in a new epoch
//   files --recover, cut the tail --+
//
// Errors: Errc::corrupt (acknowledged data is damaged), Errc::version (a newer format),
//         Errc::invalid (options out of range), Errc::io; a sentence for the operator goes with it.
// Owner:  one shard; nothing but the Log is kept after the call.
// Source: wal/SPACE.md, "Checkpoints, segments, recovery"; the steps are in recovery_steps.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/queue/effects.h"
#include "wal/format/disk.h"
#include "wal/format/records.h"
#include "wal/log.h"

namespace pawl {

// RecoverySink: receives the records found by recovery. The records of the latest checkpoint come
// first, then all records in log order from its start. Implemented by net/ over core::Shard.
// Messages of a queue may come before its config: a checkpoint begins between other records, and
// its slices follow.
//
// A message passed to send() keeps its memory and its segment until it is released: through
// `freed`, or with release() after open_log() has returned (a deleted queue, a message that existed
// already).
class RecoverySink {
 public:
  virtual ~RecoverySink() = default;
  virtual void config(const ConfigRecord& record) = 0;
  virtual void row(const RowRecord& record) = 0;
  virtual void head(const HeadRecord& record) = 0;
  // Called only for records of the latest checkpoint, before all records that follow its start.
  virtual void checkpoint(const CheckpointRecord& record) = 0;
  virtual void receive(const ReceiveRecord& record) = 0;
  virtual void forget_transfer(const ForgetTransferRecord& record) = 0;
  virtual void number(const NumberRecord& record) = 0;
  // The next four add the positions of obsolete sends to `freed`; a send of an existing message
  // adds its own. The content of a send is valid during the call; its position is set.
  virtual void send(const SendRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void delete_message(const DeleteRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void purge(const PurgeRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void task(const TaskRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void replay(const ReplayRecord& record) = 0;
  // Reports the bytes read so far, of about `total`.
  virtual void progress(std::uint64_t /*read*/, std::uint64_t /*total*/) {}
};

struct RecoveryReport {
  // Segments older than the checkpoint that hold messages but have a damaged header.
  std::vector<std::uint64_t> unreadable_segments;
  std::uint64_t frames = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  Lsn torn_at = 0;                // start of the torn tail that was cut off; 0: none
  Instant newest;                 // time of the newest frame: the clock does not start before it
  std::uint64_t passed_over = 0;  // ignorable parts of records, written by a newer version
  UnknownPart passed_over_latest;
  bool created = false;                   // the log was new
  LogAbsence absence = LogAbsence::none;  // why the log is not the directory's
  std::uint64_t found_stream = 0;         // for another_log: the stream found
  std::uint64_t found_start = 0;          // for another_time: the startup number found
};

// Opens or creates the log in the directory of `disk`: recovers it, cuts off a torn tail and
// starts a new epoch (written to the manifest before this returns). An existing log keeps its
// geometry, whatever the options are. Errc::corrupt with `complaint` naming file and offset when
// acknowledged data is damaged; Errc::version for a newer format; Errc::invalid for options out
// of range.
Result<std::unique_ptr<Log>> open_log(Disk& disk, const LogOptions& options, RecoverySink& sink,
                                      RecoveryReport& report, std::string& complaint);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Replayer: runs the replay tasks of a shard, one after the other. It reads the messages sent to
// the source from the log and sends them again as requests of its own.
//
//   task --begin--> gathering a batch --turn()--> under way --on_response()--> noted in the log
//                     ^--durable-----------------------------------------------/
//
// The first batch leaves when the start of the task is durable, the next when the progress of the
// one before is durable. So a crash sends at most one batch twice.
// To a FIFO queue messages go one by one, in their order, each with a deduplication id that is the
// same every time. Before such a message leaves, the log durably records the part skipped before
// it. Otherwise a task could read that part after a crash and send its messages behind that one.
//
// Units:  Instant ms.
// Limits: replay_batch_max messages and batch_bytes_max in a batch, looks_a_turn messages read in a
//         turn.
// Errors: a temporary refusal is retried after a second. A destination that was deleted, or whose
//         message numbers are used up, ends the task as failed.
// Owner:  the shard loop.
// Source: core/queue/replay_task.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/queue/effects.h"
#include "core/queue/kept_content.h"
#include "core/queue/task_pace.h"
#include "core/shard/shard.h"
#include "wal/log.h"

namespace pawl {

// Selects the messages of a task.
class MessageFilter {
 public:
  virtual ~MessageFilter() = default;
  virtual bool wants(const Content& content) const = 0;
};
// Returns null if the text cannot be parsed.
using MakeMessageFilter = std::unique_ptr<MessageFilter> (*)(std::string_view text);

class Replayer {
 public:
  static constexpr std::size_t batch_bytes_max = 1 << 20;
  static constexpr std::size_t piece_bytes_kept = 64 << 10;
  static constexpr std::size_t looks_a_turn = 256;
  // Log bytes read without a match before the progress is noted.
  static constexpr Lsn note_bytes = 16 << 20;
  static constexpr Duration refused_pause = seconds(1);

  Replayer(Shard& shard, Log& log) : shard_(shard), log_(log) {}
  void filter_with(MakeMessageFilter make) { make_filter_ = make; }

  // The request to submit to target(); null: none now.
  Request* turn(Instant now, Effects& effects);
  ShardId target() const { return target_; }
  bool owns(const Request& request) const { return &request == &request_; }
  void on_response() {
    CHECK(under_way_ && !answered_, "no batch is under way");
    answered_ = true;
  }

  // The next time turn() has work if nothing else happens; Instant{0}: at once.
  Instant next_due() const;
  bool under_way() const { return under_way_; }
  bool active() const { return source_ != QueueId::none || under_way_ || unnoted_; }
  // The server is stopping: no new task or batch begins.
  void stop() { stopping_ = true; }

 private:
  struct Piece : KeptContent {
    std::string dedup_id;
  };

  bool is_current(const ReplayTask* task) const;
  void begin(const ReplayTask& task, Instant now);
  void leave();
  bool noted();
  void gather(const ReplayTask& task, Instant now);
  bool wants(const ReplayTask& task, const StoredMessage& message) const;
  void take(const ReplayTask& task, const FoundSend& found);
  void finish_batch(Instant now, Effects& effects);
  void note(const ReplayTask& task, Lsn position, std::uint64_t sent, Effects& effects);

  Shard& shard_;
  Log& log_;
  MakeMessageFilter make_filter_ = nullptr;

  // the task
  QueueId source_ = QueueId::none;  // none: no task
  std::uint32_t number_ = 0;
  bool fifo_ = false;
  bool unreadable_ = false;  // its filter cannot be parsed
  std::unique_ptr<MessageFilter> filter_;
  TaskPace pace_;
  std::uint64_t passed_over_ = 0;  // skipped bytes already recorded in the task
  Instant not_before_;

  // the batch
  std::vector<Piece> pieces_;
  std::size_t used_ = 0;            // number of used pieces
  LogPos first_at_ = 0;             // position of the first piece
  std::size_t bytes_ = 0;           // bytes in the used pieces
  bool large_ = false;              // a piece has more memory than is kept for the next batch
  std::vector<SendEntry> entries_;  // unsent pieces
  Request request_;
  ShardId target_{};
  bool under_way_ = false;
  bool answered_ = false;

  bool unnoted_ = false;  // its start or progress was noted in this turn
  Lsn noted_at_ = 0;      // the note is durable when this position is

  bool stopping_ = false;
};

}  // namespace pawl

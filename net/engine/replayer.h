// Replayer: goes on with the replay tasks of a shard, one after the other: reads what was sent to the source out of the
// log, and sends it again as requests of its own.
//
//   task --begin--> gathering a batch --turn()--> under way --answered()--> noted in the log --durable--> gathering ...
//
// The first batch leaves when the start of the task is durable, the next when it is durable how far
// the one before came: so after a crash one batch at most is sent twice.
// To a FIFO queue messages go one by one, in their order, each with a deduplication id that is the same every time.
// Before one of them leaves, the log says durably which part was passed over on the way to it.
// Without that a task could read the part after a crash, and send its messages behind that one.
//
// Units:  Instant ms.
// Limits: replay_batch_max messages and batch_bytes_max in a batch, looks_a_turn messages looked at in a turn.
// Errors: what refuses for a while is asked again after a second; a destination that has gone, or whose message
//         numbers are used up, ends the task as failed.
// Owner:  the shard loop.
// Source: core/replay_task.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/effects.h"
#include "core/kept_content.h"
#include "core/pace.h"
#include "core/shard.h"
#include "wal/log.h"

namespace pawl {

// Which messages a task wants.
class MessageFilter {
 public:
  virtual ~MessageFilter() = default;
  virtual bool wants(const Content& content) const = 0;
};
// Null: the text cannot be read.
using MakeMessageFilter = std::unique_ptr<MessageFilter> (*)(std::string_view text);

class Replayer {
 public:
  static constexpr std::size_t batch_bytes_max = 1 << 20;
  static constexpr std::size_t piece_bytes_kept = 64 << 10;
  static constexpr std::size_t looks_a_turn = 256;
  static constexpr Lsn note_bytes = 16
                                    << 20;  // looked at without finding anything before it is noted
  static constexpr Duration refused_pause = seconds(1);

  Replayer(Shard& shard, Log& log) : shard_(shard), log_(log) {}
  void filter_with(MakeMessageFilter make) { make_filter_ = make; }

  // What is to be submitted to target(); null: nothing now.
  Request* turn(Instant now, Effects& effects);
  ShardId target() const { return target_; }
  bool owns(const Request& request) const { return &request == &request_; }
  void answered() { answered_ = true; }

  // When turn() has something to do if nothing else happens; Instant{0}: at once.
  Instant next_due() const;
  bool under_way() const { return under_way_; }
  // The server is stopping: begins nothing any more.
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
  QueueId source_ = QueueId::none;  // none: there is none
  std::uint32_t number_ = 0;
  bool fifo_ = false;
  bool unreadable_ = false;  // its filter
  std::unique_ptr<MessageFilter> filter_;
  Pace pace_;
  std::uint64_t passed_over_ = 0;  // of what the reader has passed over, what the task knows of
  Instant not_before_;

  // the batch
  std::vector<Piece> pieces_;
  std::size_t used_ = 0;            // pieces
  LogPos first_at_ = 0;             // position of the first
  std::size_t bytes_ = 0;           // in them
  bool large_ = false;              // one of them has more memory than is kept for the next batch
  std::vector<SendEntry> entries_;  // of these, what is still to be sent
  Request request_;
  ShardId target_{};
  bool under_way_ = false;
  bool answered_ = false;

  bool unnoted_ = false;  // its start, or how far it is, has been said in this turn
  Lsn noted_at_ = 0;      // when this is durable, so is that

  bool stopping_ = false;
};

}  // namespace pawl

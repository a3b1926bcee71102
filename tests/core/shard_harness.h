// SPDX-License-Identifier: Apache-2.0
// ShardHarness: a broker of one shard over a log in memory, for the tests of core/.
//
//   ask --submit--> turn: expire, apply, match, append, appended --(durable)--> committed --> answered
//
// Transfers between queues travel as in net/engine/shard_loop.cc; recovered ones come first.
//
// The log assigns positions and keeps frames of records. It is durable at once or, after hold(), at
// flush(). crash() discards the other frames and builds a new Shard from the rest. Every turn
// checks that a position is freed once and is not delivered later.
//
// Units:  Instant, ms; the clock starts at 1 000 000.
// Owner:  one test. Failures are reported with ADD_FAILURE.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/queue/transfer.h"
#include "core/shard/shard.h"
#include "tests/core/allocations.h"
#include "tests/core/secret.h"

namespace pawl::test {

// Content of a message to send; a message without a group has a body only.
struct GroupedMessage {
  std::string body, group = {}, dedup_id = {};
};

// A request with all memory it refers to.
struct Ask {
  Request request;
  QueueSpec spec;
  std::vector<AttributeChange> changes;
  std::vector<GroupedMessage> messages;
  std::string text;  // the attempt id of a receive, or the destination of a move task
  std::vector<SendEntry> sends;
  std::vector<ReceiptEntry> receipts;
  std::vector<Delivery> deliveries;
  bool answered = false;
  Instant answered_at;
};

struct StoredSend {
  SendRecord record;
  std::string body, group, dedup_id, origin;
  Content content() const {
    return {.body = body, .group = group, .dedup_id = dedup_id, .origin = origin};
  }
};
using StoredRecord =
    std::variant<ConfigRecord, HeadRecord, StoredSend, ReceiveRecord, DeleteRecord, PurgeRecord,
                 TaskRecord, ForgetTransferRecord, NumberRecord, CheckpointRecord>;

// A shard whose allocations during a call count as BrokerMemory.
class CountedShard {
 public:
  void make(const ShardIdentity& identity, const ShardLimits& limits, Instant start) {
    const BrokerMemory scope;
    shard_ = std::make_unique<Shard>(identity, limits, start);
  }
  struct Call {  // lives until the end of the expression
    Shard* shard;
    BrokerMemory scope;
    Shard* operator->() const { return shard; }
  };
  Call operator->() const { return {.shard = shard_.get(), .scope = {}}; }
  Shard& operator*() const { return *shard_; }
  explicit operator bool() const { return shard_ != nullptr; }

 private:
  std::unique_ptr<Shard> shard_;
};

class ShardHarness {
 public:
  explicit ShardHarness(const ShardLimits& limits = {});

  // --- requests, created and owned here ---
  Ask& create(const std::string& name, std::vector<AttributeChange> changes);
  Ask& create(const std::string& account, const std::string& name,
              std::vector<AttributeChange> changes);
  Ask& set(QueueId queue, std::vector<AttributeChange> changes);
  Ask& send(QueueId queue, const std::vector<std::string>& bodies, Duration delay = queue_default);
  Ask& send_grouped(QueueId queue, std::vector<GroupedMessage> messages,
                    Duration delay = queue_default, Duration time_to_live = {});
  // The bodies have consecutive sequences from `first` on.
  Ask& send_once(QueueId queue, const ProducerParams& producer, std::uint64_t first,
                 const std::vector<std::string>& bodies, Duration delay = queue_default);
  Ask& receive(QueueId queue, const ReceiveParams& params);
  // For remove, change_visibility and undeliver of one handle or several.
  Ask& receipts(Op op, QueueId queue, const std::vector<ReceiptHandle>& handles,
                Duration visibility = {}, const std::string& attempt = {});
  Ask& receipts(Op op, QueueId queue, std::vector<ReceiptEntry> entries,
                const std::string& attempt = {});
  Ask& plain(Op op, QueueId queue);  // purge, count, delete_queue, list_moves
  Ask& start_move(QueueId queue, const std::string& destination, std::uint32_t rate);
  Ask& cancel_move(QueueId queue, std::uint32_t number);

  // --- time and the disk ---
  Instant now() const { return now_; }
  void advance(Duration by);  // wakes at every deadline on the way
  void jump(Duration by);     // wakes only at the end
  void jump_one_turn(Duration by);
  void hold() { holding_ = true; }
  void flush();
  void flush_one();  // completes the oldest frame that is not durable; the others stay held
  void commit();     // makes all appended records durable, without a turn
  void crash(Duration down = {});
  // The next startup is the first of this version: version 1 handles were issued until then.
  void upgrade_at_next_start() { upgraded_ = never; }
  // The body is unreadable: the shard learns it now (set_aside) or when the message is moved
  // (damage).
  void set_aside(QueueId queue, const std::string& body);
  void damage(QueueId queue, const std::string& body);
  void slow(QueueId queue, const std::string& body);  // its body is read later than those behind it
  // Writes a durable checkpoint and discards everything older.
  void rotate();
  // Writes one checkpoint slice, the first of a new one if none is in progress. False: it was the
  // last one, and everything older is discarded.
  bool slice();
  // Requests made from now on wait until go() puts all of them into one turn.
  void gather() { gathering_ = true; }
  void go();
  // Runs turns until nothing is left to do at the current time.
  void turn(Ask* ask);

  Shard& shard() { return *shard_; }
  const StoredSend& sent_at(LogPos position) const { return sends_.at(position); }
  const std::string& body_at(LogPos position) const { return sends_.at(position).body; }
  std::size_t stored() const { return live_.size(); }  // messages the log must keep
  std::size_t records() const;
  // Writes a checkpoint and frees requests and records. No receive may wait, and no Ask may be used
  // again.
  void forget_asks();
  const std::vector<StoredRecord>& last_frame() const { return frames_.back().records; }

 private:
  struct Frame {
    Lsn end = 0;
    std::vector<StoredRecord> records;
  };
  struct Pending {
    Request* request = nullptr;
    Lsn lsn = 0;
  };

  Ask& make(Op op, QueueId queue);
  bool one_turn(std::span<Ask* const> asks);
  void settle(bool more);
  void write(Effects& effects);
  void collect_freed(const std::vector<LogPos>& freed);
  void carry(const std::vector<Transfer*>& transfers);
  void release_answers();
  void pass_on(Transfer& transfer);
  void answer(Request& request);
  void recover();
  void restore(const StoredRecord& stored, std::vector<LogPos>& freed);
  const SendRecord& newest(QueueId queue, const std::string& body) const;

  ShardLimits limits_;
  Instant now_{1'000'000};
  CountedShard shard_;
  std::uint32_t starts_ = 0;
  Instant upgraded_;  // for the next startup; 0: unchanged
  Effects effects_;
  std::deque<Ask> asks_;  // begins with its Request, so that a Reply leads back to it
  std::vector<Pending> pending_;

  std::deque<Frame> frames_;
  Lsn appended_ = 0;
  Lsn durable_ = 0;
  LogPos next_position_ = 1;
  std::map<LogPos, StoredSend> sends_;
  std::deque<Transfer*> travelling_;  // transfers to apply in the next turn
  std::deque<Transfer*> delayed_;     // in the turn after it, because their bodies are read
  std::set<LogPos> slow_;             // of such bodies
  std::multiset<LogPos> live_;
  std::set<LogPos> damaged_;
  std::vector<StoredRecord> checkpoint_, slices_;  // the latest checkpoint; the one in progress
  bool slicing_ = false;
  Lsn slicing_from_ = 0;
  bool holding_ = false;
  bool gathering_ = false;
  std::vector<Ask*> gathered_;
};

}  // namespace pawl::test

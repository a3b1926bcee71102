// SPDX-License-Identifier: Apache-2.0
// Messages of clients that number what they send: a resent message is recognised.
//
//   unknown --accepted--> accepted, in a run --floor rises--> below the floor
//      ^                                                            |
//      +--------- five minutes after the producer's last accepted message
//
// A producer is a client with a random id. It numbers its messages for a queue from 1; a resent
// message keeps its sequence. Its floor rises: below it every sequence is settled at the client,
// and is never sent again. Above the floor the accepted sequences are runs: a run's messages follow
// each other in the queue too, as those of a batch do. A refused message leaves a gap, and is
// accepted when it is sent again.
//
// A purge, a delete or a move of a message does not end the window, and a duplicate does not extend
// it.
//
// Units:  Instant, ms.
// Limits: runs_max a producer, and the caller's limit of bytes. When they are reached, runs are
//         joined and their messages' numbers forgotten; a message that still does not fit is
//         refused. No accepted message is forgotten before its time.
// Owner:  one standard queue of one shard. In the log it lives in the SEND records, and in
//         checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/base/usage.h"
#include "core/queue/queue_config.h"

namespace pawl {

// A message as its producer names it. id 0: none.
struct ProducerKey {
  std::uint64_t id = 0;        // random, chosen by the client
  std::uint64_t sequence = 0;  // from 1
  bool operator==(const ProducerKey&) const = default;
};

// The accepted sequences of one producer.
class AcceptedRuns {
 public:
  struct Run {
    std::uint64_t first = 0, end = 0;  // sequences, without `end`
    Seq seq = 0;                       // number of the first message, the others follow; 0: unknown
    // The number of the message with that sequence, which is in the run; 0: unknown.
    Seq seq_of(std::uint64_t sequence) const { return seq == 0 ? 0 : seq + (sequence - first); }
    bool operator==(const Run&) const = default;
  };

  explicit AcceptedRuns(std::uint64_t floor) : floor_(floor) {}

  std::uint64_t floor() const { return floor_; }
  const std::vector<Run>& runs() const { return runs_; }
  std::size_t bytes() const { return runs_.capacity() * sizeof(Run); }  // besides its own size

  // The number of an accepted message, 0 if it is unknown; none: not accepted.
  std::optional<Seq> find(std::uint64_t sequence) const;
  void raise_floor(std::uint64_t floor);
  // Makes add() possible for the sequence; joins runs if there are `most`. False: it is not.
  bool make_room(std::uint64_t sequence, std::size_t most);
  // Adds a sequence unknown to find(), for which make_room() returned true.
  void add(std::uint64_t sequence, Seq seq);
  // Joins adjacent runs, and forgets the numbers of joined runs that do not follow each other.
  void join();
  // During recovery: adds the next run of a checkpoint; known ones are skipped.
  void restore(const Run& run);

 private:
  std::size_t first_above(std::uint64_t sequence) const;
  bool adjoins(std::uint64_t sequence) const;
  void widen(std::uint64_t sequence, std::size_t above);

  std::uint64_t floor_;
  std::vector<Run> runs_;  // ascending, apart from each other, at or above the floor
};

class Producers {
 public:
  static constexpr std::size_t runs_max = 1024;

  // A producer with one of its runs; the run is empty if it has none.
  struct Entry {
    std::uint64_t id = 0;
    std::uint64_t floor = 0;
    Instant sent;  // last accepted message
    AcceptedRuns::Run run;
    bool operator==(const Entry&) const = default;
  };
  // The position of a copy in slices: behind this sequence of this producer.
  struct Cursor {
    std::uint64_t id = 0;
    std::uint64_t sequence = 0;
  };

  // `bytes_total` is shared by all Producers.
  explicit Producers(std::uint64_t& bytes_total) : bytes_total_(bytes_total), usage_(bytes_total) {}

  // The number of an accepted message, 0 if it is unknown; none: not accepted.
  std::optional<Seq> find(const ProducerKey& key);
  // Raises the floor of a known producer. False: the message, unknown to find(), does not fit while
  // the total is at most `bytes_max`.
  bool make_room(const ProducerKey& key, std::uint64_t floor, std::uint64_t bytes_max);
  // Adds a message for which make_room() returned true; times rise.
  void add(const ProducerKey& key, std::uint64_t floor, Seq seq, Instant sent);

  // Drops producers whose window is over, at most `most`. False: there may be more.
  bool forget_over(Instant now, std::size_t most);
  Instant next_over() const;  // the next expiry, or never
  std::size_t size() const { return by_id_.size(); }

  // Copies at most `most` entries behind `after`, which moves on. True: there are no more.
  bool copy_behind(Cursor& after, std::size_t most, std::vector<Entry>& out) const;
  // During recovery: an entry of a checkpoint, or a message of the log. Without limits: the next
  // floor drops the runs.
  void restore(const Entry& entry);
  void restore(const ProducerKey& key, Seq seq, Instant sent);
  // After recovery: the order of expiry.
  void sort();

  // Bytes of a producer without runs.
  static constexpr std::uint64_t producer_bytes =
      3 * sizeof(std::uint64_t) + sizeof(AcceptedRuns) + 16 + 48 + 2 * heap_block_bytes;

 private:
  struct Producer {
    std::uint64_t id = 0;
    Instant sent;
    AcceptedRuns accepted;
  };
  using Order = std::list<Producer>;

  static bool is_over(const Producer& p, Instant now) { return p.sent + dedup_window <= now; }
  Producer* known(std::uint64_t id);
  Producer& make(std::uint64_t id, std::uint64_t floor);
  void used(Producer& producer, Instant sent);
  // Calls `change` for the runs, and counts their bytes anew.
  template <typename Change>
  auto change_runs(Producer& producer, Change change);

  Order order_;  // the first expires first
  std::map<std::uint64_t, Order::iterator> by_id_;
  Producer* latest_ = nullptr;  // the producer found last
  const std::uint64_t& bytes_total_;
  UsageCounter usage_;
};

}  // namespace pawl

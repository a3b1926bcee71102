// SPDX-License-Identifier: Apache-2.0
// Operations whose cost must not grow with the retained state. The sizes of each row differ by a
// factor of a hundred or more.
//
// Compare the times of one row: they differ only by cache misses, which rise with the state.
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/micro.h"
#include "core/queue/seq_index.h"
#include "core/queue/transfer.h"
#include "core/shard/shard.h"
#include "net/connection/held_bytes.h"
#include "net/connection/memory_sums.h"
#include "net/engine/mesh.h"
#include "net/engine/shard_loop.h"
#include "net/engine/shard_recovery.h"
#include "tests/core/cycle.h"
#include "tests/core/secret.h"
#include "tests/sim/sim_disk.h"

namespace pawl::bench {
namespace {

constexpr Duration for_ever = seconds(1'000'000);

// `range(0)` messages are delayed; two more, one before and one behind them, alternate as ready.
void choose_among_delayed(benchmark::State& state) {
  PagePool pool;
  SeqIndex index(pool);
  const auto last = static_cast<Seq>(state.range(0)) + 2;
  for (Seq seq = 1; seq <= last; ++seq) index.put(seq, IndexEntry::slot(1));
  const auto take = [&](Seq seq) {
    index.make_ready(seq, SeqIndex::Set::fresh);
    const Seq first = index.first_ready(SeqIndex::Set::fresh);
    if (first != seq) state.SkipWithError("another message");
    index.make_unready(first);
  };
  Allocations allocations(state);
  for (auto _ : state) {
    take(1);
    take(last);
  }
  allocations.done(state.iterations() * 2);
}
BENCHMARK(choose_among_delayed)->ArgName("delayed")->Arg(10'000)->Arg(1'000'000)->Arg(8'000'000);

// A waiting receive, with a new attempt id each time.
struct Attempt {
  Request request;
  std::array<char, 20> text{};
  Delivery delivery;
};

// `range(0)` receives wait in a FIFO queue. The first one completes, its message is deleted, and it
// waits again.
void receive_attempts(benchmark::State& state) {
  test::Cycle cycle({
      {Attribute::fifo_queue, 1, {}}
  });
  std::vector<Attempt> attempts(static_cast<std::size_t>(state.range(0)));
  std::uint64_t named = 0;
  const auto wait = [&](Attempt& attempt) {
    attempt.request = Request{.op = Op::receive, .queue = cycle.queue()};
    attempt.request.deliveries = {&attempt.delivery, 1};
    const auto end = std::to_chars(attempt.text.begin(), attempt.text.end(), named++).ptr;
    attempt.request.receive = {
        .wait = for_ever, .attempt = {attempt.text.begin(), end}
    };
    cycle.turn(&attempt.request);
  };
  for (Attempt& attempt : attempts) wait(attempt);
  std::size_t at = 0;
  const auto round = [&] {
    cycle.send_in_groups(1, 1'000'000'000);
    cycle.turn(nullptr);
    Attempt& attempt = attempts[at];
    if (attempt.request.delivered != 1) state.SkipWithError("not delivered");
    ReceiptEntry receipt{.handle = attempt.delivery.handle};
    Request deletion{
        .op = Op::delete_message, .queue = cycle.queue(), .receipts = {&receipt, 1}
    };
    cycle.turn(&deletion);
    wait(attempt);
    at = (at + 1) % attempts.size();
  };
  for (int i = 0; i < 20'000; ++i) round();  // until the table of attempts is full
  Allocations allocations(state);
  for (auto _ : state) round();
  allocations.done(state.iterations());
}
BENCHMARK(receive_attempts)->ArgName("waiting")->Arg(100)->Arg(50'000);

// A connection holds `range(0)` bytes beyond its credit. A frame of 128 bytes is taken, and another
// arrives.
void take_held_frame(benchmark::State& state) {
  const std::string frame(128, 'f');
  HeldBytes held;
  while (held.size() < static_cast<std::size_t>(state.range(0))) held.append(frame);
  const auto round = [&] {
    benchmark::DoNotOptimize(held.view().data());
    held.take(frame.size());
    held.append(frame);
  };
  for (int i = 0; i < 10'000; ++i) round();
  Allocations allocations(state);
  for (auto _ : state) round();
  allocations.done(state.iterations());
}
BENCHMARK(take_held_frame)->ArgName("held")->Arg(2'560)->Arg(256 << 10);

// One connection is touched and counted again; `range(0)` are idle.
void count_connections(benchmark::State& state) {
  const auto idle = static_cast<std::uint32_t>(state.range(0));
  const std::vector<std::size_t> bytes(idle + std::size_t{1}, 100);
  const auto measure = [&](std::uint32_t index) { return MemorySums::Bytes{bytes[index], 0}; };
  MemorySums sums;
  for (std::uint32_t index = 0; index <= idle; ++index) sums.touch(index);
  sums.count(measure);
  Allocations allocations(state);
  for (auto _ : state) {
    sums.touch(idle);
    sums.count(measure);
    benchmark::DoNotOptimize(sums.sums().verified);
  }
  allocations.done(state.iterations());
}
BENCHMARK(count_connections)->ArgName("idle")->Arg(100)->Arg(10'000);

class Nobody final : public RequestOwner {
 public:
  void on_response(Request&) override {}
  void connection(std::uint64_t) override {}
};

// `range(0)` receives are queued for the next turn of the loop; the last of them is cancelled.
void forget_wait(benchmark::State& state) {
  Shard shard({.secret = test::test_secret(), .receipt_key = test::test_receipt_key()}, {},
              Instant{1});
  sim::SimDisk disk;
  ShardRecovery recovery(shard);
  RecoveryReport report;
  std::string complaint;
  LogOptions options;
  options.segment_bytes = 64 << 10;
  options.extent_bytes = 16 << 10;
  const Result<std::unique_ptr<Log>> log = open_log(disk, options, recovery, report, complaint);
  if (!log) return state.SkipWithError("no log");
  Mesh mesh(1);
  MeshPort port(mesh, ShardId{});
  Nobody nobody;
  ShardLoop loop(shard, **log, port, nobody, std::uint64_t{64} << 20);
  std::vector<Request> receives(static_cast<std::size_t>(state.range(0)));
  for (Request& receive : receives) {
    receive.op = Op::receive;
    loop.submit(receive, ShardId{});
  }
  Allocations allocations(state);
  for (auto _ : state) {
    receives.back().receive.wait = for_ever;
    benchmark::DoNotOptimize(loop.cancel(receives.back(), ShardId{}));
  }
  allocations.done(state.iterations());
}
BENCHMARK(forget_wait)->ArgName("queued")->Arg(10)->Arg(10'000);

// A queue that moves a message to the dead-letter queue after one receive. Its log is durable at
// once.
class DeadLetters {
 public:
  DeadLetters() {
    create("dead", {});
    queue_ = create("q", {
                             {Attribute::max_receive_count,  1,  {}      },
                             {Attribute::dead_letter_target, -1, "a/dead"}
    });
    entry_.content.body = "body";
  }

  void turn(Request* request) {
    now_ = now_ + milliseconds(1);
    effects_.clear();
    shard_.expire(now_, now_, effects_);
    if (request != nullptr) shard_.apply(*request, now_, effects_);
    shard_.match(now_, effects_);
    for (SendRecord& record : effects_.sends) record.position = ++position_;
    shard_.appended(effects_, ++lsn_);
    shard_.committed(lsn_, now_);
    for (Transfer* const transfer : effects_.transfers) {
      transfer->sent = now_;
      transfer->keep(entry_.content);
      shard_.address(*transfer);
      moving_ = transfer;
    }
    answered_ = effects_.replies.empty() ? nullptr : effects_.replies.back().request;
  }
  void send() {
    Request request{
        .op = Op::send, .queue = queue_, .sends = {&entry_, 1}
    };
    turn(&request);
  }
  // Runs all stages of the latest move.
  void carry() {
    using enum Transfer::Stage;
    for (const Transfer::Stage next : {commit, forget, done, free}) {
      turn(&moving_->request);
      if (next != free) moving_->stage = next;
    }
  }
  // Deletes a message from the dead-letter queue, which would grow otherwise.
  bool drain_dead() {
    Request receive = request_of(dead_, delivery_, Duration{0});
    turn(&receive);
    return receive.delivered == 1 && delete_message(dead_, delivery_.handle);
  }
  bool delete_message(QueueId queue, const ReceiptHandle& handle) {
    ReceiptEntry receipt{.handle = handle};
    Request request{
        .op = Op::delete_message, .queue = queue, .receipts = {&receipt, 1}
    };
    turn(&request);
    return answered_ == &request;
  }
  // A receive with a visibility timeout of 0.
  Request request_of(QueueId queue, Delivery& delivery, Duration wait) const {
    Request request{.op = Op::receive, .queue = queue};
    request.deliveries = {&delivery, 1};
    request.receive = {.visibility = Duration{0}, .wait = wait};
    return request;
  }
  Shard& shard() { return shard_; }
  QueueId queue() const { return queue_; }
  const Request* answered() const { return answered_; }  // last response of the last turn

 private:
  QueueId create(const std::string& name, std::vector<AttributeChange> changes) {
    const QueueSpec spec{.account = "a", .name = name, .changes = std::move(changes), .tags = {}};
    Request request{.op = Op::create_queue, .spec = &spec};
    turn(&request);
    return request.config->id;
  }
  static ShardLimits limits() {
    ShardLimits limits;
    limits.transfers_max = 20'000;
    return limits;
  }

  Instant now_{1'000'000};
  Shard shard_{
      {.secret = test::test_secret(), .receipt_key = test::test_receipt_key()},
      limits(), now_
  };
  Effects effects_;
  LogPos position_ = 0;
  Lsn lsn_ = 0;
  QueueId dead_{1}, queue_{2};
  SendEntry entry_;
  Delivery delivery_;
  Transfer* moving_ = nullptr;
  const Request* answered_ = nullptr;
};

// `range(0)` long polls wait, and a short poll behind them completes when a dead letter has moved.
// The first long poll has received the message before, and then waits again behind the others.
void settle_behind_long_polls(benchmark::State& state) {
  DeadLetters dead_letters;
  struct Poll {
    Request request;
    Delivery delivery;
  };
  std::vector<Poll> polls(static_cast<std::size_t>(state.range(0)));
  const auto wait = [&](Poll& poll) {
    poll.request = dead_letters.request_of(dead_letters.queue(), poll.delivery, for_ever);
    dead_letters.turn(&poll.request);
  };
  for (Poll& poll : polls) wait(poll);
  std::size_t at = 0;
  Delivery delivery;
  const auto round = [&] {
    dead_letters.send();
    dead_letters.turn(nullptr);
    if (polls[at].request.delivered != 1) return state.SkipWithError("not delivered");
    wait(polls[at]);
    at = (at + 1) % polls.size();
    Request poll = dead_letters.request_of(dead_letters.queue(), delivery, Duration{0});
    dead_letters.turn(&poll);
    if (poll.waiter == 0) return state.SkipWithError("does not wait");
    dead_letters.carry();
    if (poll.waiter != 0) return state.SkipWithError("still waits");
    if (!dead_letters.drain_dead()) state.SkipWithError("not moved");
  };
  for (int i = 0; i < 1'000; ++i) round();
  Allocations allocations(state);
  for (auto _ : state) round();
  allocations.done(state.iterations());
}
BENCHMARK(settle_behind_long_polls)->ArgName("waiting")->Arg(10)->Arg(10'000);

// `range(0)` deletes are held for moving messages. The delete of one more message is held, then
// completes.
void answer_held_delete(benchmark::State& state) {
  DeadLetters dead_letters;
  // Receives a message once and starts its move. False: a receive had an unexpected result.
  const auto move_one = [&](Delivery& delivery) {
    dead_letters.send();
    for (int receive = 0; receive < 2; ++receive) {
      Request request = dead_letters.request_of(dead_letters.queue(), delivery, for_ever);
      dead_letters.turn(&request);
      if (request.delivered == (receive == 0 ? 0u : 1u)) return false;
      dead_letters.shard().cancel(request);  // the second receive found only a dead letter
    }
    return true;
  };
  struct Held {
    Delivery delivery;
    ReceiptEntry receipt;
    Request request;
  };
  const auto hold = [&](Held& held) {
    if (!move_one(held.delivery)) return false;
    held.receipt = {.handle = held.delivery.handle};
    held.request = Request{
        .op = Op::delete_message, .queue = dead_letters.queue(), .receipts = {&held.receipt, 1}
    };
    dead_letters.turn(&held.request);
    return dead_letters.answered() != &held.request;
  };
  std::deque<Held> others(static_cast<std::size_t>(state.range(0)));
  for (Held& held : others)
    if (!hold(held)) return state.SkipWithError("not held");
  Held one;
  const auto round = [&] {
    if (!hold(one)) return state.SkipWithError("not held");
    dead_letters.carry();
    if (dead_letters.answered() != &one.request) state.SkipWithError("not answered");
  };
  for (int i = 0; i < 1'000; ++i) round();
  Allocations allocations(state);
  for (auto _ : state) round();
  allocations.done(state.iterations());
}
BENCHMARK(answer_held_delete)->ArgName("held")->Arg(10)->Arg(10'000);

}  // namespace
}  // namespace pawl::bench

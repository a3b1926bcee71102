// SPDX-License-Identifier: Apache-2.0
// The instructions spent on one message do not grow with other messages, polls or rows.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/queue/seq_index.h"
#include "tests/core/shard_harness.h"
#include "tests/cost/instructions.h"

namespace pawl::test {
namespace {

constexpr std::uint64_t page = SeqIndex::page_entries;

// Instructions to take two messages in turn, one of the first page and one of the last.
std::uint64_t choosing_among_delayed(std::uint64_t pages) {
  PagePool pool;
  SeqIndex index(pool);
  for (std::uint64_t n = 0; n < pages; ++n) index.put(n * page + 1, IndexEntry::slot(1));
  const auto take = [&](Seq seq) {
    index.make_ready(seq, SeqIndex::Set::fresh);
    index.make_unready(index.first_ready(SeqIndex::Set::fresh));
  };
  return instructions([&] {
    for (int i = 0; i < 2; ++i) {
      take(1);
      take((pages - 1) * page + 1);
    }
  });
}

ShardLimits few_timers() {
  ShardLimits limits;
  limits.swept_a_turn = 1;  // the bounded sweep of timers would be counted too
  return limits;
}

// Long polls on one queue. In a FIFO queue each has its own attempt id.
class LongPolls {
 public:
  explicit LongPolls(bool fifo) : world_(few_timers()), fifo_(fifo) {
    const std::string name = fifo ? "q.fifo" : "q";
    queue_ = world_
                 .create(name,
                         {
                             {Attribute::fifo_queue, fifo ? 1 : 0, {}}
    })
                 .request.config->id;
  }
  void add() {
    const std::string attempt = fifo_ ? "attempt" + std::to_string(++number_) : "";
    world_.receive(queue_, {.wait = seconds(20), .attempt = attempt});
  }
  void answer_one() {
    const std::string body = std::to_string(++number_);
    if (fifo_) {
      world_.send_grouped(queue_, {
                                      {.body = body, .group = body, .dedup_id = body}
      });
    } else {
      world_.send(queue_, {body});
    }
  }
  std::size_t size() { return world_.shard().waiting(); }

 private:
  ShardHarness world_;
  bool fifo_;
  QueueId queue_{};
  int number_ = 0;
};

// Instructions to answer one of `count` long polls.
std::uint64_t answering_one_of(std::size_t count, bool fifo) {
  LongPolls polls(fifo);
  for (std::size_t n = 0; n < count; ++n) polls.add();
  polls.answer_one();  // warm-up: first calls resolve function addresses
  EXPECT_EQ(polls.size() + 1, count);
  return instructions([&] { polls.answer_one(); });
}

// Instructions to move a dead letter and to answer the short poll that waits for it behind `count`
// long polls.
std::uint64_t moving_behind(std::size_t count) {
  ShardHarness world(few_timers());
  world.create("dead", {});
  const QueueId queue = world
                            .create("q",
                                    {
                                        {Attribute::max_receive_count,  1,  {}                 },
                                        {Attribute::dead_letter_target, -1, "000000000000/dead"}
  })
                            .request.config->id;
  const auto move_behind = [&](std::size_t polls) {
    world.send(queue, {"body"});
    EXPECT_EQ(world.receive(queue, {.visibility = Duration{0}}).request.delivered, 1u);
    world.hold();
    for (std::size_t n = 0; n < polls; ++n) world.receive(queue, {.wait = seconds(20)});
    return &world.receive(queue, {});
  };
  move_behind(1);  // warm-up: first calls resolve function addresses
  world.flush();
  world.advance(seconds(21));
  const Ask* const poll = move_behind(count);
  EXPECT_FALSE(poll->answered);
  return instructions([&] {
    world.flush();
    if (!poll->answered) std::abort();
  });
}

TEST(Cost, OfChoosingAMessageDoesNotGrowWithDelayedOnes) {
  EXPECT_LT(choosing_among_delayed(1'000), 2 * choosing_among_delayed(4));
}

TEST(Cost, OfAnsweringALongPollDoesNotGrowWithOthersThatWait) {
  EXPECT_LT(answering_one_of(2'000, false), answering_one_of(10, false) + 5'000);
}

TEST(Cost, OfAShortPollThatMovesADeadLetterDoesNotGrowWithLongPolls) {
  EXPECT_LT(moving_behind(2'000), moving_behind(10) + 5'000);
}

TEST(Cost, OfAnsweringALongPollDoesNotGrowWithAttemptsThatWait) {
  EXPECT_LT(answering_one_of(200, true), answering_one_of(10, true) + 5'000);
}

// Instructions for recovery to read one more row of a topic that has `rows`.
std::uint64_t reading_a_row_behind(std::uint64_t rows) {
  ShardHarness world;
  auto topic = std::make_shared<QueueConfig>();
  topic->id = QueueId{1000};
  topic->set_name("sns/0", "topic");
  world.shard().restore(ConfigRecord{std::move(topic), false});
  const auto read = [&](std::uint64_t number) {
    world.shard().restore(RowRecord{QueueId{1000}, number, "{\"id\":\"one\"}"});
  };
  for (std::uint64_t number = 1; number <= rows; ++number) read(number);
  return instructions([&] { read(rows + 1); });
}

TEST(Cost, OfReadingARowOfATopicDoesNotGrowWithItsRows) {
  const std::uint64_t few = reading_a_row_behind(20), many = reading_a_row_behind(900);
  EXPECT_LT(many, few + few / 2) << few << " with 20 rows";
}

}  // namespace
}  // namespace pawl::test

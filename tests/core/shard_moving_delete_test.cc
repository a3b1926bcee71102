// SPDX-License-Identifier: Apache-2.0
// Deletes of messages in transfer to another queue: core/MOVES.md names the three cases.
#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

// The message a of `q` is due for a move to `d`; begin_move() starts it, with nothing durable.
class MovingDelete : public testing::Test {
 protected:
  void SetUp() override {
    begin(
        "queue e | queue d visibility=30 | queue q visibility=30 max_receive=1 dlq=d | send q a | "
        "receive q -> a#1 | advance 30s");
  }
  void begin(std::string_view steps) {
    script = std::make_unique<Script>();
    script->run(steps);
  }
  void begin_move() { script->run("hold | receive q wait=20 as w | w -> pending"); }
  Ask& delete_it() {
    return script->world().receipts(Op::delete_message, script->queue("q"),
                                    {script->handle("a#1")});
  }
  // True: one of the queues delivers a message within a minute.
  bool comes_back() {
    for (int i = 0; i < 60; ++i) {
      script->world().advance(seconds(1));
      for (const char* name : {"q", "d", "e"})
        if (script->world().receive(script->queue(name), {.wait = Duration{0}}).request.delivered >
            0)
          return true;
    }
    return false;
  }

  std::unique_ptr<Script> script;
};

TEST_F(MovingDelete, BeforeTheMoveIsDecidedCancelsIt) {
  script->run("delete q a#1 | receive q -> none | receive d -> none | stored -> 0");
}

TEST_F(MovingDelete, OnTheWayIsAnsweredWhenTheTargetHasDeletedItDurably) {
  begin_move();
  Ask& deletion = delete_it();
  EXPECT_FALSE(deletion.answered);
  int flushes = 0;
  for (; !deletion.answered && flushes < 10; ++flushes) script->world().flush_one();
  ASSERT_TRUE(deletion.answered);
  EXPECT_EQ(flushes, 3) << "sent there, deleted here, deleted there";
  EXPECT_EQ(deletion.receipts[0].error, Errc::ok);
  EXPECT_EQ(script->world().stored(), 0u);
  script->world().crash();
  EXPECT_FALSE(comes_back());
}

TEST_F(MovingDelete, OnTheWayIsNeverUndoneOnceItIsAnswered) {
  int answered = 0;
  for (int flushes = 0; flushes < 6; ++flushes) {
    SCOPED_TRACE(flushes);
    SetUp();
    begin_move();
    Ask& deletion = delete_it();
    for (int i = 0; i < flushes; ++i) script->world().flush_one();
    const bool was_answered = deletion.answered;
    answered += was_answered ? 1 : 0;
    script->world().crash(seconds(1));
    EXPECT_EQ(comes_back(), !was_answered);
  }
  EXPECT_EQ(answered, 3);
}

TEST_F(MovingDelete, OnTheWayTakesTheMessageFromTheConsumerOfTheTarget) {
  begin_move();
  Ask& deletion = delete_it();
  script->world().flush_one();
  script->run("receive d -> a#2 | flush");
  EXPECT_TRUE(deletion.answered);
  script->run("count d -> 0/0/0 | stored -> 0 | change d 5 a#2 -> message_gone | delete d a#2");
  EXPECT_FALSE(comes_back());
}

TEST_F(MovingDelete, AfterTheMoveSucceedsWithoutEffect) {
  script->run("receive q -> none | delete q a#1 | receive d -> a#2");
}

TEST_F(MovingDelete, OfTwoOnTheWayIsAnsweredToBoth) {
  begin_move();
  Ask& first = delete_it();
  script->world().flush_one();
  script->world().flush_one();  // deleted at the source, not yet at the target
  Ask& second = delete_it();
  EXPECT_FALSE(first.answered || second.answered);
  script->world().flush_one();
  EXPECT_TRUE(first.answered && second.answered);
  EXPECT_FALSE(comes_back());
}

TEST_F(MovingDelete, InABatchIsAnsweredWithTheWholeBatch) {
  begin(
      "queue e | queue d | queue q visibility=30 max_receive=1 dlq=d | send q a b c | "
      "receive q max=3 -> a#1 b#1 c#1 | change q 12h c#1 | advance 30s");
  begin_move();
  Ask& deletion = script->world().receipts(
      Op::delete_message, script->queue("q"),
      {script->handle("a#1"), script->handle("b#1"), script->handle("b#1"), script->handle("c#1")});
  script->world().flush_one();
  EXPECT_FALSE(deletion.answered);
  script->run("flush");
  EXPECT_TRUE(deletion.answered);
  for (const ReceiptEntry& entry : deletion.receipts) EXPECT_EQ(entry.error, Errc::ok);
  EXPECT_EQ(script->world().stored(), 0u);
}

TEST_F(MovingDelete, OfAMessageThatItsTargetRefusesDeletesItHere) {
  script->run("hold | gather | receive q wait=20 as w");
  Ask& deletion = delete_it();
  script->run("drop d -> pending | go");
  EXPECT_FALSE(deletion.answered);
  script->run("flush | w -> pending | stored -> 0");
  EXPECT_TRUE(deletion.answered);
}

TEST_F(MovingDelete, OfAMessageThatIsPurgedOnTheWayDeletesItThere) {
  begin_move();
  script->run("purge q -> pending");
  Ask& deletion = delete_it();
  script->run("flush | stored -> 0");
  EXPECT_TRUE(deletion.answered);
  EXPECT_FALSE(comes_back());
}

TEST_F(MovingDelete, FollowsTheMessageNoFurtherThanItsTarget) {
  script->run("set d max_receive=1 dlq=e");
  begin_move();
  Ask& deletion = delete_it();
  script->world().flush_one();
  script->run("receive d -> none | count e -> 0/0/0 | flush | stored -> 0");
  EXPECT_TRUE(deletion.answered);
  EXPECT_FALSE(comes_back());
}

TEST_F(MovingDelete, IsNotNeededForAMessageToGoOnFromItsTarget) {
  script->run("set d max_receive=1 dlq=e | set q max_receive=1 dlq=d");
  begin_move();
  script->world().flush_one();
  script->run(
      "receive d wait=20 as x | flush | w -> pending | receive e -> a#2 | delete e a#2 | "
      "stored -> 0");
}

TEST_F(MovingDelete, OfAMessageThatATaskMovesDeletesItThere) {
  script->run("set q max_receive=0 dlq= | hold | move q to=e -> pending | flush_one");
  Ask& deletion = delete_it();
  EXPECT_FALSE(deletion.answered);
  script->run("flush | moves q -> 1:completed:1/1 | stored -> 0");
  EXPECT_TRUE(deletion.answered);
  EXPECT_FALSE(comes_back());
}

}  // namespace
}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/explanation.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "proto/text/network.h"

namespace pawl {
namespace {

using State = PeekedMessage::State;

constexpr Instant now{1'000'000};

class ExplanationTest : public ::testing::Test {
 protected:
  // The sentence has these words.
  void says(std::string_view words, const PeekedMessage& message,
            const PeekedMessage* blocker = nullptr) {
    const std::string text =
        explanation({.queue = queue_, .message = &message, .blocker = blocker, .now = now});
    EXPECT_TRUE(text.contains(words)) << text;
    EXPECT_TRUE(text.ends_with('.')) << text;
  }
  void allow_receives(std::int64_t most) {
    queue_.apply({Attribute::max_receive_count, most, {}});
    queue_.apply({Attribute::dead_letter_target, -1, "000000000000/dead"});
  }

  QueueConfig queue_;
};

TEST_F(ExplanationTest, HasASentenceForEachState) {
  says("not on the disk yet", {.state = State::not_durable});
  says("return it in 2.5 s", {.state = State::delayed, .until = now + milliseconds(2599)});
  says("It is visible: the next receives return it.", {.state = State::visible});
  says("visible again in 15 min", {.state = State::in_flight, .until = now + seconds(959)});
  says("received 1 time.", {.state = State::in_flight, .until = now, .receive_count = 1});
  says("by a move task or to the dead-letter queue", {.state = State::moving});
  says("`pawl wal verify`", {.state = State::unreadable});
  EXPECT_TRUE(explanation({.queue = queue_, .now = now}).contains("has expired (4 days after"));
}

TEST_F(ExplanationTest, TellsThatAMessageInFlightIsCancelled) {
  allow_receives(1);
  const PeekedMessage message{
      .state = State::in_flight, .until = now + seconds(7), .receive_count = 1, .cancelled = true};
  says(
      "A consumer has received it. It is cancelled: it is deleted when its consumer gives it back "
      "or its visibility timeout ends, in 7.0 s.",
      message);
}

TEST_F(ExplanationTest, NamesTheDeadLetterQueueOfASpentMessage) {
  allow_receives(3);
  says("the next receives return it", {.state = State::visible, .receive_count = 2});
  says("3 of at most 3 times: the next receive moves it to the dead-letter queue dead",
       {.state = State::visible, .receive_count = 3});
  says("The next receive after that moves it to the dead-letter queue dead.",
       {.state = State::in_flight, .until = now, .receive_count = 3});
  says("2 of at most 3 times.", {.state = State::in_flight, .until = now, .receive_count = 2});
  says("being moved to the dead-letter queue dead", {.state = State::moving, .receive_count = 4});
}

TEST_F(ExplanationTest, NamesTheMessageThatHoldsItsGroup) {
  queue_.apply({Attribute::fifo_queue, 1, {}});
  says("no message of its group holds it", {.state = State::visible});
  const PeekedMessage held{.seq = 9, .state = State::visible, .behind = 4};
  says("It waits for message 4 before it in its group, which has just left the queue.", held);
  const struct {
    State state;
    std::string_view words;
  } rows[] = {
      {State::not_durable, "which is not on the disk yet"    },
      {State::delayed,     "which is delayed for another 7"  },
      {State::in_flight,   "in flight for another 7.0 s"     },
      {State::moving,      "being moved to another queue"    },
      {State::unreadable,  "record in the log cannot be read"},
      {State::visible,     "has just become visible"         },
  };
  for (const auto& row : rows) {
    const PeekedMessage blocker{.seq = 4, .state = row.state, .until = now + seconds(7)};
    says(row.words, held, &blocker);
  }
}

TEST_F(ExplanationTest, NamesTheConsumerOfAMessageInFlight) {
  says("A consumer has received it.", {.state = State::in_flight, .until = now});
  says("A consumer at user 33 has received it.",
       {.state = State::in_flight, .until = now, .consumer = user_address(33)});
}

TEST_F(ExplanationTest, NamesWhatGoesFirstOrHoldsAllOfTheQueue) {
  says(
      "its MessageGroupId, has 40 messages in flight, over a tenth of all: receives return the "
      "visible messages of other tenants first.",
      {.state = State::visible, .tenant_in_flight = 40, .tenant_is_noisy = true});
  says("It is visible: the next receives return it.",
       {.state = State::visible, .tenant_in_flight = 40});
  const PeekedMessage message{.state = State::visible};
  const PeekSlice full{.full = true};
  EXPECT_TRUE(explanation({.queue = queue_, .message = &message, .now = now, .slice = &full})
                  .contains("120000 messages of the queue are in flight"));
}

TEST_F(ExplanationTest, TellsUntilWhenASendIsTakenForItsRepetition) {
  const std::string_view words =
      "For another 2.0 s, a send with its MessageDeduplicationId adds no message";
  says(words, {.state = State::visible, .deduplicates_until = now + seconds(2)});
  const PeekedMessage over{.state = State::visible, .deduplicates_until = now};
  EXPECT_FALSE(
      explanation({.queue = queue_, .message = &over, .now = now}).contains("For another"));
  const PeekSlice slice{.newest = 9, .deduplicates_until = now + seconds(2)};
  const Explained gone{.queue = queue_, .now = now, .slice = &slice, .number = 9};
  EXPECT_TRUE(explanation(gone).starts_with("It has left the queue: ")) << explanation(gone);
  EXPECT_TRUE(explanation(gone).contains(words)) << explanation(gone);
  const Explained not_yet{.queue = queue_, .now = now, .slice = &slice, .number = 10};
  EXPECT_EQ(explanation(not_yet),
            "The queue has no such message yet: the last one sent has number 9.");
}

TEST_F(ExplanationTest, TellsWhatFollowsALease) {
  queue_.apply({.attribute = Attribute::retry_backoff, .text = R"({"base":"1s"})"});
  says(
      "It was received 2 times and came back: by x-retry-backoff or a time set for it, receives "
      "return it in 7.0 s.",
      {.state = State::delayed, .until = now + seconds(7), .receive_count = 2});
  says("It is delayed: receives return it in 7.0 s.",
       {.state = State::delayed, .until = now + seconds(7)});
  allow_receives(2);
  const PeekedMessage spent{.state = State::in_flight, .until = now, .receive_count = 2};
  says("The next receive after that moves it to the dead-letter queue dead.", spent);
  says(
      "It was received 2 of at most 2 times and waits: the first receive in 7.0 s or later moves "
      "it to the dead-letter queue dead, and does not return it.",
      {.state = State::delayed, .until = now + seconds(7), .receive_count = 2});
  queue_.apply({.attribute = Attribute::dead_letter_at, .number = 1, .text = {}});
  says("That moves it to the dead-letter queue dead.", spent);
}

TEST_F(ExplanationTest, TellsADeleteAnExpiryAndAPurgeApart) {
  PeekSlice slice{.newest = 90};
  const auto text = [&](Seq number) {
    return explanation({.queue = queue_, .now = now, .slice = &slice, .number = number});
  };
  const std::string deleted =
      "It has left the queue: it was deleted or moved to another queue, or its time to live ended. "
      "It was neither purged nor older than the retention.";
  const std::string expired = "It has left the queue: it expired 4 days after its send, unless ";
  EXPECT_EQ(text(5), deleted);
  slice.gone = {.expired_below = 10, .below = 20, .purged = now - seconds(7)};
  EXPECT_TRUE(text(9).starts_with(expired)) << text(9);
  EXPECT_TRUE(
      text(10).starts_with("It has left the queue: all messages below number 20 have, by "
                           "the purge 7.0 s ago or because they were older than 4 days; "))
      << text(10);
  EXPECT_EQ(text(20), deleted);
  slice.gone.purged = {};
  EXPECT_TRUE(text(19).starts_with(expired)) << "nothing else takes all below a number";
  slice.gone.by_age = true;
  EXPECT_TRUE(
      text(20).contains("or it expired 4 days after its send; a dead letter after its first send"));
}

TEST(Arrival, TellsHowAMessageCameFromAnotherQueue) {
  Delivery delivery;
  EXPECT_EQ(arrival(delivery, now), "");
  delivery.moved = now - seconds(3);
  EXPECT_EQ(arrival(delivery, now), " A move task brought it from another queue 3.0 s ago.");
  delivery.content.origin = "000000000000/orders";
  delivery.moved_receives = 3;
  EXPECT_EQ(arrival(delivery, now),
            " It is a dead letter of the queue orders, which moved it here 3.0 s ago, after 3 "
            "receives.");
  delivery.moved_receives = 1;
  EXPECT_TRUE(arrival(delivery, now).ends_with("after 1 receive."));
  delivery.content.reason = DeadLetterReason::expired;
  EXPECT_TRUE(arrival(delivery, now).ends_with("3.0 s ago, because it expired, after 1 receive."));
}

TEST(RoughText, IsAsExactAsAPersonNeeds) {
  EXPECT_EQ(rough_text(milliseconds(-5)), "0.0 s");
  EXPECT_EQ(rough_text(milliseconds(59'999)), "59.9 s");
  EXPECT_EQ(rough_text(seconds(60)), "1 min");
  EXPECT_EQ(rough_text(seconds(7'199)), "119 min");
  EXPECT_EQ(rough_text(seconds(7'200)), "2 h");
  EXPECT_EQ(rough_text(seconds(9'000)), "3 h");
  EXPECT_EQ(rough_text(seconds(170'999)), "47 h");
  EXPECT_EQ(rough_text(seconds(345'599)), "4 days");
  EXPECT_EQ(rough_text(seconds(172'800)), "2 days");
}

}  // namespace
}  // namespace pawl

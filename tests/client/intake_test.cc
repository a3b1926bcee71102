// SPDX-License-Identifier: Apache-2.0
#include "net/client/intake.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <vector>

namespace pawl::client {
namespace {

using Status = SendResult::Status;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class IntakeTest : public testing::Test {
 protected:
  static Producer::Options options(const char* queue) {
    return {.queue = queue, .memory_limit = 1 << 20};
  }
  bool is_woken() const {
    pollfd entry{.fd = readiness_.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1;
  }
  SendResult send(std::string_view body, std::uint64_t cookie = 0) {
    return intake_.send({.body = body}, cookie);
  }
  MessageList collect() {
    MessageList list;
    intake_.collect(list);
    return list;
  }

  Readiness readiness_;
  Intake intake_{options("q"), readiness_};
  Intake fifo_{options("q.fifo"), readiness_};
};

TEST_F(IntakeTest, NamesTheAttributeItsValueAndTheRangeOfAnInvalidMessage) {
  const std::string large(200'000, 'x');
  const std::string long_name(129, 'g');
  const std::vector<Client::Attribute> eleven(11, {"a", "String", "b"});
  const struct {
    bool fifo;
    Client::Outgoing message;
    std::string text;
  } cases[] = {
      {false, {.body = ""},                                   "MessageBody: 0 bytes; at least 1 byte"                          },
      {false,
       {.body = large},
       "MessageBody and MessageAttributes: 200000 bytes; at most 114688 bytes"                                                 },
      {false, {.body = "b", .attributes = eleven},            "MessageAttributes: 11; at most 10"                              },
      {false, {.body = "b", .delay = -1ms},                   "DelaySeconds: -1 ms; 0 to 4294967294 ms"                        },
      {true,
       {.body = "b", .delay = 4'294'967'295ms, .group = "g"},
       "DelaySeconds: 4294967295 ms; 0 to 4294967294 ms"                                                                       },
      {true,  {.body = "b"},                                  "MessageGroupId: \"\" (0 bytes); 1 to 128 characters from ! to ~"},
      {true,
       {.body = "b", .group = "a b"},
       "MessageGroupId: \"a b\" (3 bytes); 1 to 128 characters from ! to ~"                                                    },
      {true,
       {.body = "b", .group = long_name},
       "MessageGroupId: \"" + long_name.substr(1) +
           "\" (129 bytes); 1 to 128 characters from ! to ~"                                                                   },
      {false,
       {.body = "b", .deduplication_id = "d"},
       "MessageDeduplicationId: \"d\" (1 bytes); only for a FIFO queue"                                                        },
      {true,
       {.body = "b", .group = "g", .deduplication_id = "\n"},
       "MessageDeduplicationId: \"\n\" (1 bytes); at most 128 characters from ! to ~"                                          },
  };
  for (const auto& c : cases) {
    const SendResult result = (c.fifo ? fifo_ : intake_).send(c.message, 1);
    EXPECT_EQ(result.status, Status::invalid);
    EXPECT_EQ(result.text, c.text);
  }
  EXPECT_EQ(intake_.status().accepted, 0u);
}

TEST_F(IntakeTest, NamesTheRangeOfATimeToLive) {
  for (const auto time : {0ms, -1ms, 1'209'600'001ms}) {
    const SendResult result = intake_.send({.body = "b"}, 1, {.time_to_live = time});
    EXPECT_EQ(result.status, Status::invalid);
    EXPECT_EQ(result.text, "x-ttl: " + std::to_string(time.count()) + " ms; 1 to 1209600000 ms");
  }
  ASSERT_TRUE(intake_.send({.body = "b"}, 1, {.time_to_live = 1'209'600'000ms}).accepted());
  ASSERT_TRUE(send("b").accepted());
  const MessageList list = collect();
  EXPECT_GT(intake_.pool().at(list.first).bytes, intake_.pool().at(list.last).bytes);
}

TEST_F(IntakeTest, KeepsTheOrderAndTheCookies) {
  ASSERT_TRUE(send("first", 11).accepted());
  ASSERT_TRUE(send("second", 12).accepted());
  MessageList list = collect();
  ASSERT_EQ(list.count, 2u);
  const auto& first = intake_.pool().at(list.first);
  const auto& second = intake_.pool().at(list.last);
  EXPECT_EQ(first.cookie, 11u);
  EXPECT_EQ(second.cookie, 12u);
  EXPECT_LT(first.number, second.number);
  EXPECT_FALSE(first.needs_deduplication_id);
  EXPECT_EQ(intake_.status().accepted, 2u);
  EXPECT_TRUE(collect().empty());
  ASSERT_TRUE(fifo_.send({.body = "b", .group = "g"}, 1).accepted());
  ASSERT_TRUE(fifo_.send({.body = "b", .group = "g", .deduplication_id = "d"}, 1).accepted());
  MessageList fifo;
  fifo_.collect(fifo);
  EXPECT_TRUE(fifo_.pool().at(fifo.first).needs_deduplication_id);
  EXPECT_FALSE(fifo_.pool().at(fifo.last).needs_deduplication_id);
}

TEST_F(IntakeTest, IsFullAtItsMemoryLimitAndCountsEverything) {
  const std::string body(1000, 'b');
  std::size_t accepted = 0;
  while (send(body).accepted()) ++accepted;
  EXPECT_EQ(send(body).status, Status::full);
  EXPECT_LT(accepted * 1280, std::size_t{1} << 20) << "five blocks of 256 bytes a message";
  EXPECT_GT(accepted * 1280, (std::size_t{1} << 20) * 3 / 8 - 1280);
  MessageList list = collect();
  intake_.release(list);
  EXPECT_TRUE(list.empty());
  EXPECT_TRUE(send(body).accepted());
}

TEST_F(IntakeTest, ThrottlesUntilThatTimeAndClosesForGood) {
  intake_.throttle(Clock::now() + 60s);
  intake_.throttle(Clock::now());
  const SendResult throttled = send("b");
  EXPECT_EQ(throttled.status, Status::throttled);
  EXPECT_GT(throttled.retry_after, 30s);
  EXPECT_LE(throttled.retry_after, 60s);
  intake_.close();
  EXPECT_EQ(send("b").status, Status::closed);
}

TEST_F(IntakeTest, WakesTheDriverOnlyAtItsThreshold) {
  ASSERT_TRUE(send("awake").accepted());
  EXPECT_FALSE(is_woken()) << "nobody sleeps";
  EXPECT_FALSE(intake_.sleep({})) << "a message has arrived";
  collect();
  ASSERT_TRUE(intake_.sleep({.messages = 3}));
  ASSERT_TRUE(send("1").accepted() && send("2").accepted());
  EXPECT_FALSE(is_woken());
  ASSERT_TRUE(send("3").accepted());
  EXPECT_TRUE(is_woken());
  EXPECT_FALSE(intake_.sleep({.messages = 100})) << "the wake-up is not consumed";
  collect();
  EXPECT_FALSE(is_woken());
  ASSERT_TRUE(intake_.sleep({.messages = 100, .bytes = 1000}));
  ASSERT_TRUE(send(std::string(1000, 'b')).accepted());
  EXPECT_TRUE(is_woken());
  collect();
  ASSERT_TRUE(intake_.sleep({.messages = WakeThreshold::never}));
  ASSERT_TRUE(send("b").accepted());
  EXPECT_FALSE(is_woken());
  intake_.interrupt();
  EXPECT_TRUE(is_woken());
}

TEST_F(IntakeTest, EndsAFlushWhenAllEarlierMessagesAreCompleted) {
  ASSERT_TRUE(send("1").accepted() && send("2").accepted());
  EXPECT_FALSE(intake_.wait_flushed(3, Clock::now()));
  const std::uint64_t number = intake_.request_flush();
  MessageList list;
  EXPECT_TRUE(intake_.collect(list)) << "a flush is running";
  ASSERT_TRUE(send("3").accepted());
  intake_.publish(2);
  EXPECT_FALSE(intake_.is_flushed(number));
  intake_.publish(Intake::no_message);
  EXPECT_TRUE(intake_.is_flushed(number)) << "the third came after the request";
  EXPECT_TRUE(intake_.wait_flushed(number, Clock::now()));
  intake_.end_flush();
  EXPECT_FALSE(intake_.collect(list));
  const std::uint64_t later = intake_.request_flush();
  EXPECT_FALSE(intake_.is_flushed(later));
  intake_.end_flush();
}

}  // namespace
}  // namespace pawl::client

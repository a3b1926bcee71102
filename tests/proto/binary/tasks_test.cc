// SPDX-License-Identifier: Apache-2.0
// Replay tasks over the binary protocol: what is asked, what is refused, what is answered.
#include "proto/binary/tasks.h"

#include <array>
#include <memory>

#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

// Besides "q", number 7, on shard 2: "other", "f.fifo" and "g.fifo"; and a topic.
class ReplaySession : public BinarySessionTest {
 protected:
  ReplaySession() {
    add(QueueId{8}, config_.account, "other", false);
    add(QueueId{9}, config_.account, "f.fifo", true);
    add(QueueId{10}, config_.account, "g.fifo", true);
    auto topic = std::make_shared<QueueConfig>();
    topic->id = QueueId{11};
    topic->set_name("sns/" + config_.account, "news");
    topic->apply({Attribute::topic, -1, "{}"});
    directory_.put(topic);
    q_ = greet_and_open();
    fifo_ = opened("f.fifo");
  }

  void add(QueueId id, const std::string& account, const std::string& name, bool fifo) {
    auto queue = std::make_shared<QueueConfig>();
    queue->id = id;
    queue->owner = ShardId{1};
    queue->account = account;
    queue->name = name;
    queue->apply({Attribute::fifo_queue, fifo ? 1 : 0, {}});
    directory_.put(queue);
  }
  std::uint32_t opened(std::string_view name) {
    std::string payload;
    put_short(payload, "");  // account
    put_short(payload, name);
    EXPECT_EQ(begin(BinaryOp::open_queue, payload), Next::respond);
    return answer().header.queue;
  }
  const ReplayParams& asked() {
    EXPECT_NE(call_.request().replay, nullptr);
    return *call_.request().replay;
  }

  std::uint32_t q_ = 0, fifo_ = 0;
};

struct Start {
  std::string_view destination = {};
  std::uint32_t rate = 0;
  std::int64_t from = 0, to = 0;
  std::string_view filter = {};
};

std::string start(const Start& wanted) {
  std::string payload;
  put_short(payload, wanted.destination);
  put(payload, wanted.rate);
  put(payload, wanted.from);
  put(payload, wanted.to);
  put_short(payload, wanted.filter);
  return payload;
}

constexpr std::string_view red = R"({"colour":["red"]})";

TEST_F(ReplaySession, IsStartedWhereItsQueueIs) {
  const Start wanted{"other", 100, 1000, 2000, red};
  ASSERT_EQ(begin(BinaryOp::start_replay, start(wanted), q_), Next::route);
  EXPECT_EQ(call_.target(), ShardId{2}) << "the queue's, not the destination's";
  EXPECT_EQ(call_.request().op, Op::start_replay);
  EXPECT_EQ(call_.request().queue, QueueId{7});
  EXPECT_EQ(asked().destination, config_.account + "/other");
  EXPECT_EQ(asked().rate, 100u);
  EXPECT_EQ(asked().from, Instant{1000});
  EXPECT_EQ(asked().to, Instant{2000});
  EXPECT_EQ(asked().filter, red);
  call_.request().replay->number = 3;
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(answer().payload, std::string("\3\0\0\0", 4));
}

TEST_F(ReplaySession, GoesToTheQueueItselfWhenNoOtherIsNamed) {
  for (const std::string_view destination : {"", "q"}) {
    ASSERT_EQ(begin(BinaryOp::start_replay, start({.destination = destination}), q_), Next::route);
    EXPECT_EQ(asked().destination, config_.account + "/q");
    EXPECT_EQ(asked().filter, "");
    EXPECT_EQ(asked().from, Instant{0});
    EXPECT_EQ(asked().to, Instant{0});
  }
  ASSERT_EQ(begin(BinaryOp::start_replay, start({.destination = "g.fifo"}), fifo_), Next::route);
  EXPECT_EQ(asked().destination, config_.account + "/g.fifo");
}

TEST_F(ReplaySession, TakesTheLimitsThemselves) {
  const std::string widest =
      R"({"a":[")" + std::string(replay_filter_bytes_max - 10, 'x') + R"("]})";
  ASSERT_EQ(widest.size(), replay_filter_bytes_max);
  const Start all[] = {
      {.rate = replay_rate_max},
      {.from = INT64_MAX},
      {.from = INT64_MAX - 1, .to = INT64_MAX},
      {.filter = widest},
  };
  for (const Start& each : all)
    EXPECT_EQ(begin(BinaryOp::start_replay, start(each), q_), Next::route);
}

TEST_F(ReplaySession, RefusesWhatCannotBeDone) {
  const std::string too_wide =
      R"({"a":[")" + std::string(replay_filter_bytes_max - 9, 'x') + R"("]})";
  struct Case {
    const char* what;
    Start start;
    Status want;
  };
  const Case cases[] = {
      {"a rate beyond the limit",         {.rate = replay_rate_max + 1}, Status::invalid      },
      {"from before 1970",                {.from = -1},                  Status::invalid      },
      {"to before 1970",                  {.to = -1},                    Status::invalid      },
      {"no time at all",                  {.from = 5, .to = 5},          Status::invalid      },
      {"backwards",                       {.from = 6, .to = 5},          Status::invalid      },
      {"a filter that is too long",       {.filter = too_wide},          Status::too_large    },
      {"a long filter that is none",
       {.filter = std::string_view(too_wide).substr(1)},
       Status::invalid                                                                        },
      {"a filter that is no JSON",        {.filter = "{"},               Status::invalid      },
      {"a filter that is no policy",      {.filter = R"({"a":"b"})"},    Status::invalid      },
      {"a destination that is not there", {.destination = "nowhere"},    Status::no_such_queue},
      {"a topic",                         {.destination = "news"},       Status::no_such_queue},
      {"a queue of the other kind",       {.destination = "f.fifo"},     Status::invalid      },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(refused(BinaryOp::start_replay, start(c.start), q_), c.want);
  }
  EXPECT_EQ(refused(BinaryOp::start_replay, start({.destination = "q"}), fifo_), Status::invalid);
}

TEST_F(ReplaySession, ATopicIsNoQueue) {
  ASSERT_NE(directory_.find("sns/" + config_.account, "news"), nullptr);
  std::string payload;
  put_short(payload, "sns/" + config_.account);
  put_short(payload, "news");
  EXPECT_EQ(refused(BinaryOp::open_queue, payload), Status::no_such_queue);
  EXPECT_EQ(refused(BinaryOp::start_replay, start({.destination = "news"}), q_),
            Status::no_such_queue);
}

TEST_F(ReplaySession, ADestinationOfAnotherAccountIsNotThere) {
  add(QueueId{13}, "111111111111", "theirs", false);
  for (const std::string_view name : {"theirs", "111111111111/theirs"}) {
    EXPECT_EQ(refused(BinaryOp::start_replay, start({.destination = name}), q_),
              Status::no_such_queue);
  }
}

TEST_F(ReplaySession, WhatTheOwnerRefusesIsAnswered) {
  for (const auto& [error, status] : {
           std::pair(Errc::not_kept, Status::not_kept),
           {Errc::task_running,  Status::task_running },
           {Errc::no_such_queue, Status::no_such_queue}
  }) {
    ASSERT_EQ(begin(BinaryOp::start_replay, start({}), q_), Next::route);
    call_.request().error = error;
    ASSERT_EQ(resume(), Next::respond);
    EXPECT_EQ(answer().status(), status);
  }
}

TEST_F(ReplaySession, IsCancelledByItsNumber) {
  ASSERT_EQ(begin(BinaryOp::cancel_replay, std::string("\7\0\0\0", 4), q_), Next::route);
  EXPECT_EQ(call_.request().op, Op::cancel_replay);
  EXPECT_EQ(call_.target(), ShardId{2});
  EXPECT_EQ(asked().number, 7u);
  call_.request().replay->sent = 258;
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(answer().payload, std::string("\2\1\0\0\0\0\0\0", 8));
  for (const auto& [error, status] : {
           std::pair(Errc::no_such_task, Status::no_such_task),
           {Errc::task_ended, Status::task_ended}
  }) {
    ASSERT_EQ(begin(BinaryOp::cancel_replay, std::string("\7\0\0\0", 4), q_), Next::route);
    call_.request().error = error;
    ASSERT_EQ(resume(), Next::respond);
    EXPECT_EQ(answer().status(), status);
  }
}

TEST_F(ReplaySession, AreListedAsTheyAre) {
  ASSERT_EQ(begin(BinaryOp::list_replays, "", q_), Next::route);
  EXPECT_EQ(call_.request().op, Op::list_replays);
  EXPECT_EQ(call_.target(), ShardId{2});
  ReplayTask failed{.number = 2,
                    .status = ReplayTask::Status::failed,
                    .failure = Errc::no_such_queue,
                    .rate = 7,
                    .from = Instant{8},
                    .to = Instant{9},
                    .started = Instant{10},
                    .sent = 11,
                    .unreadable = 12,
                    .destination = config_.account + "/other",
                    .filter = std::string(red)};
  ReplayTask plain{.number = 1, .destination = config_.account + "/q"};
  call_.request().replay->tasks = {failed, plain};
  ASSERT_EQ(resume(), Next::respond);
  const std::string bytes = answer().payload;
  BinaryReader in(bytes);
  EXPECT_EQ(in.take<std::uint16_t>(), 2u);
  EXPECT_EQ(in.take<std::uint32_t>(), 2u);
  EXPECT_EQ(in.take<std::uint8_t>(), 3u);
  EXPECT_EQ(in.take<std::uint16_t>(), static_cast<std::uint16_t>(Status::no_such_queue));
  EXPECT_EQ(in.take<std::uint32_t>(), 7u);
  EXPECT_EQ(in.take<std::int64_t>(), 8);
  EXPECT_EQ(in.take<std::int64_t>(), 9);
  EXPECT_EQ(in.take<std::int64_t>(), 10);
  EXPECT_EQ(in.take<std::uint64_t>(), 11u);
  EXPECT_EQ(in.take<std::uint64_t>(), 12u);
  EXPECT_EQ(in.take_short(), "other");
  EXPECT_EQ(in.take_short(), red);
  EXPECT_EQ(in.take<std::uint32_t>(), 1u);
  in.take_bytes(1 + 2 + 4 + 8 + 8 + 8 + 8 + 8);
  EXPECT_EQ(in.take_short(), "q");
  EXPECT_EQ(in.take_short(), "");
  EXPECT_TRUE(in.finished());
}

TEST_F(ReplaySession, TakesCopiesWhenTheFlagSaysSo) {
  for (const char flag : {'\0', '\1'}) {
    const std::string payload = start({"other", 1, 2, 3, red}) + flag;
    ASSERT_EQ(begin(BinaryOp::start_replay, payload, q_), Next::route);
    EXPECT_EQ(asked().copies, flag == 1);
    ASSERT_EQ(resume(), Next::respond);
    answer();
  }
}

TEST_F(ReplaySession, NoCallKeepsMemoryForThemOnceItIsAnswered) {
  ASSERT_EQ(begin(BinaryOp::list_replays, "", q_), Next::route);
  ASSERT_EQ(resume(), Next::respond);
  answer();
  EXPECT_EQ(call_.request().replay, nullptr);
  ASSERT_EQ(begin(BinaryOp::stats, "", q_), Next::route);
  EXPECT_EQ(call_.request().replay, nullptr);
}

TEST_F(ReplaySession, RefusesEveryTruncationAndEveryTrailingByte) {
  const std::pair<BinaryOp, std::string> cases[] = {
      {BinaryOp::start_replay, start({"other", 1, 2, 3, red})},
      {BinaryOp::cancel_replay, std::string("\1\0\0\0", 4)},
      {BinaryOp::list_replays, ""},
  };
  for (const auto& [op, payload] : cases) {
    SCOPED_TRACE(static_cast<int>(op));
    EXPECT_EQ(begin(op, payload, q_), Next::route);
    EXPECT_EQ(refused(op, payload + "x", q_), Status::bad_frame);
    for (std::size_t size = 0; size < payload.size(); ++size) {
      EXPECT_EQ(refused(op, payload.substr(0, size), q_), Status::bad_frame) << size;
    }
  }
}

TEST_F(ReplaySession, HowLongMessagesAreKeptIsTakenAndShownByItsNameOnly) {
  const auto set = [](std::string_view value) {
    return queue_attributes({
        {"x-replay-retention", value}
    });
  };
  ASSERT_EQ(begin(BinaryOp::set_attributes, set("3600"), q_), Next::route);
  ASSERT_EQ(call_.request().changes.size(), 1u);
  EXPECT_EQ(call_.request().changes[0].attribute, Attribute::replay_retention);
  EXPECT_EQ(call_.request().changes[0].number, 3600);
  for (const std::string_view bad : {"-1", "31536001", "1 h", ""})
    EXPECT_EQ(refused(BinaryOp::set_attributes, set(bad), q_), Status::bad_attributes) << bad;

  const auto described = [this] {
    EXPECT_EQ(begin(BinaryOp::get_attributes, "", q_), Next::route);
    EXPECT_EQ(resume(), Next::respond);
    return answer().payload;
  };
  EXPECT_EQ(described().find("x-"), std::string::npos) << "what SQS does not know is not there";
  auto kept = std::make_shared<QueueConfig>(**directory_.find(QueueId{7}));
  kept->apply({Attribute::replay_retention, 3600, {}});
  kept->apply({Attribute::durability, static_cast<std::int64_t>(Durability::async), {}});
  directory_.put(kept);
  std::string retention, durability;
  put_short(retention, "x-replay-retention");
  put_long(retention, "3600");
  put_short(durability, "x-durability");
  put_long(durability, "async");
  EXPECT_NE(described().find(retention), std::string::npos);
  EXPECT_NE(described().find(durability), std::string::npos);
}

}  // namespace
}  // namespace pawl

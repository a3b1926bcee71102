// SPDX-License-Identifier: Apache-2.0
// Groups, deduplication, dead letters and tags over the binary protocol.
#include <algorithm>

#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

// A session with the FIFO queue "f.fifo" (number 8), which deduplicates by content, and "dead"
// (number 9), the dead-letter queue of "q".
class GroupSession : public BinarySessionTest {
 protected:
  GroupSession() {
    QueueConfig config = **directory_.find(QueueId{7});
    config.apply({Attribute::dead_letter_target, -1, config.account + "/dead"});
    config.apply({Attribute::max_receive_count, 3, {}});
    directory_.put(std::make_shared<QueueConfig>(config));
    add(QueueId{8}, "f.fifo", true);
    add(QueueId{9}, "dead", false);
    EXPECT_EQ(begin(BinaryOp::hello, hello(binary_major, 0, features_known)), Next::respond);
    EXPECT_EQ(answer().status(), Status::ok);
  }

  void add(QueueId id, const std::string& name, bool fifo) {
    auto queue = std::make_shared<QueueConfig>();
    queue->id = id;
    queue->owner = ShardId{1};
    queue->account = config_.account;
    queue->name = name;
    queue->apply({Attribute::fifo_queue, fifo ? 1 : 0, {}});
    queue->apply({Attribute::content_based_deduplication, fifo ? 1 : 0, {}});
    queue->tags = {
        {"colour", "blue"},
        {"size",   "xl"  }
    };
    directory_.put(queue);
  }
  std::uint32_t opened(std::string_view name) {
    EXPECT_EQ(begin(BinaryOp::open_queue, open(name)), Next::respond);
    return answer().header.queue;
  }
  Status sent(std::uint32_t queue, const std::string& message) {
    if (begin(BinaryOp::send, batch({message}), queue) == Next::respond) {
      const Answer refusal = answer();
      if (refusal.status() != Status::ok) return refusal.status();
      BinaryReader in(refusal.payload);
      in.take<std::uint32_t>();
      return static_cast<Status>(in.take<std::uint16_t>());
    }
    return Status::ok;
  }
};

std::string named(std::string_view body, std::string_view group, std::string_view dedup_id,
                  std::optional<std::uint32_t> delay_ms = {}) {
  std::string out;
  put(out,
      static_cast<std::uint32_t>(body.size()) | entry_has_names | (delay_ms ? entry_has_delay : 0));
  if (delay_ms) put(out, *delay_ms);
  put(out, static_cast<std::uint32_t>(group.size() | dedup_id.size() << 8));
  return out.append(body).append(group).append(dedup_id);
}

TEST_F(GroupSession, AMessageCarriesItsGroupAndWhatItIsDeduplicatedBy) {
  const std::uint32_t fifo = opened("f.fifo");
  ASSERT_EQ(begin(BinaryOp::send, batch({named("a", "g", "d"), named("hello", "g", "")}), fifo),
            Next::route);
  const auto sends = call_.request().sends;
  ASSERT_EQ(sends.size(), 2u);
  EXPECT_EQ(sends[0].content.group, "g");
  EXPECT_EQ(sends[0].content.dedup_id, "d");
  EXPECT_EQ(sends[1].content.dedup_id,
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
}

TEST_F(GroupSession, RefusesNamesThatDoNotFitTheQueue) {
  const std::uint32_t fifo = opened("f.fifo"), standard = opened("q");
  const std::string long_id(129, 'x');
  struct Case {
    const char* what;
    std::uint32_t queue;
    std::string message;
    Status want;
  };
  const Case cases[] = {
      {"no group", fifo, entry("a"), Status::invalid},
      {"a group with a space", fifo, named("a", "g g", "d"), Status::invalid},
      {"a group that is too long", fifo, named("a", long_id, "d"), Status::invalid},
      {"an id that is too long", fifo, named("a", "g", long_id), Status::invalid},
      {"a delay in a FIFO queue", fifo, named("a", "g", "d", 1), Status::invalid},
      {"a delay of nothing", fifo, named("a", "g", "d", 0), Status::ok},
      {"a tenant", standard, named("a", "tenant", ""), Status::ok},
      {"an id in a standard queue", standard, named("a", "tenant", "d"), Status::invalid},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(sent(c.queue, c.message), c.want);
  }
}

TEST_F(GroupSession, AMessageOfAFifoQueueHasADelayWhereTheQueueAllowsIt) {
  const std::uint32_t fifo = opened("f.fifo");
  ASSERT_EQ(begin(BinaryOp::send, batch({named("a", "g", "d", 0)}), fifo), Next::route);
  EXPECT_EQ(call_.request().sends[0].delay, queue_default) << "0 is the queue's own delay";
  QueueConfig lifted = **directory_.find(QueueId{8});
  lifted.apply({Attribute::max_delay, 86'400, {}});
  directory_.put(std::make_shared<QueueConfig>(lifted));
  for (const std::uint32_t delay : {0u, 1u, 86'400'000u}) {
    ASSERT_EQ(begin(BinaryOp::send, batch({named("a", "g", "d", delay)}), fifo), Next::route);
    EXPECT_EQ(call_.request().sends[0].delay, milliseconds(delay));
  }
  EXPECT_EQ(sent(fifo, named("a", "g", "d", 86'400'001)), Status::invalid);
  ASSERT_EQ(begin(BinaryOp::send, batch({named("a", "g", "d")}), fifo), Next::route);
  EXPECT_EQ(call_.request().sends[0].delay, queue_default);
}

TEST_F(GroupSession, AnOriginIsNotTheSendersToSay) {
  std::string message;
  put(message, 1u | entry_has_names);
  put(message, 1u << 16);
  message += "ao";
  EXPECT_EQ(refused(BinaryOp::send, batch({message}), opened("q")), Status::bad_frame);
}

TEST_F(GroupSession, AnAttemptIsForFifoQueues) {
  std::string attempt = receive(1);
  put_short(attempt, "again");
  ASSERT_EQ(begin(BinaryOp::receive, attempt, opened("f.fifo")), Next::route);
  EXPECT_EQ(call_.request().receive.attempt, "again");
  ASSERT_EQ(begin(BinaryOp::receive, attempt, opened("q")), Next::route);
  EXPECT_EQ(call_.request().receive.attempt, "");
}

TEST_F(GroupSession, ADeliverySaysWhereItBelongsAndWhereItComesFrom) {
  std::string payload = receive(1);
  put_short(payload, "");
  ASSERT_EQ(begin(BinaryOp::receive, payload, opened("q")), Next::route);
  Delivery& delivery = call_.request().deliveries[0];
  delivery = {};
  delivery.seq = 5;
  delivery.id = {0x0102030405060708u, 0x090a0b0c0d0e0f10u};
  delivery.content = {.body = "b", .group = "gg", .dedup_id = "ddd", .origin = "acc/src"};
  call_.request().delivered = 1;
  ASSERT_EQ(resume(), Next::respond);
  const std::string bytes = answer().payload;
  BinaryReader in(bytes);
  EXPECT_EQ(in.take<std::uint32_t>(), 1u);
  in.take_bytes(receipt_bytes);
  EXPECT_EQ(in.take_bytes(16), std::string_view("\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", 16));
  in.take_bytes(8 + 8 + 8 + 4);
  EXPECT_EQ(in.take<std::uint32_t>(), 1u | entry_has_names);
  EXPECT_EQ(in.take<std::uint32_t>(), 2u | 3u << 8 | 7u << 16);
  EXPECT_EQ(in.take_bytes(1 + 2 + 3 + 7), "bggdddacc/src");
  EXPECT_TRUE(in.finished());
}

TEST_F(GroupSession, TagsAreReadAndChanged) {
  const std::uint32_t queue = opened("dead");
  ASSERT_EQ(begin(BinaryOp::get_tags, "", queue), Next::respond);
  std::string want;
  put(want, std::uint16_t{2});
  for (const std::string_view text : {"colour", "blue", "size", "xl"}) put_short(want, text);
  EXPECT_EQ(answer().payload, want);

  std::string change;
  put(change, std::uint16_t{1});
  put_short(change, "colour");
  put_short(change, "red");
  put(change, std::uint16_t{1});
  put_short(change, "size");
  ASSERT_EQ(begin(BinaryOp::set_tags, change, queue), Next::route);
  EXPECT_EQ(*call_.request().tags, (Tags{
                                       {"colour", "red"}
  }));
  EXPECT_EQ(call_.request().based_on, *directory_.find(QueueId{9}));
}

TEST_F(GroupSession, AMoveIsStartedFromAQueueOfDeadLettersOnly) {
  const auto start = [](std::string_view destination, std::uint32_t rate) {
    std::string payload;
    put_short(payload, destination);
    put(payload, rate);
    return payload;
  };
  const std::uint32_t dead = opened("dead"), q = opened("q");
  ASSERT_EQ(begin(BinaryOp::start_move, start("", 500), dead), Next::route);
  EXPECT_EQ(call_.request().op, Op::start_move);
  EXPECT_EQ(call_.request().move.rate, 500u);
  ASSERT_EQ(begin(BinaryOp::start_move, start("q", 0), dead), Next::route);
  EXPECT_EQ(call_.request().move.destination, config_.account + "/q");
  EXPECT_EQ(refused(BinaryOp::start_move, start("", 501), dead), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::start_move, start("dead", 0), dead), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::start_move, start("f.fifo", 0), dead), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::start_move, start("nowhere", 0), dead), Status::no_such_queue);
  EXPECT_EQ(refused(BinaryOp::start_move, start("", 0), q), Status::invalid);
}

TEST_F(GroupSession, MovesAreListedAsTheyAre) {
  ASSERT_EQ(begin(BinaryOp::list_moves, "", opened("dead")), Next::route);
  call_.request().move.tasks = {
      {.number = 2,
       .status = MoveTask::Status::failed,
       .failure = Errc::no_such_queue,
       .rate = 7,
       .moved = 8,
       .to_move = 9,
       .started = Instant{10},
       .destination = "acc/there"}
  };
  ASSERT_EQ(resume(), Next::respond);
  const std::string bytes = answer().payload;
  BinaryReader in(bytes);
  EXPECT_EQ(in.take<std::uint16_t>(), 1u);
  EXPECT_EQ(in.take<std::uint32_t>(), 2u);
  EXPECT_EQ(in.take<std::uint8_t>(), 3u);
  EXPECT_EQ(in.take<std::uint16_t>(), static_cast<std::uint16_t>(Status::no_such_queue));
  EXPECT_EQ(in.take<std::uint32_t>(), 7u);
  EXPECT_EQ(in.take<std::uint64_t>(), 8u);
  EXPECT_EQ(in.take<std::uint64_t>(), 9u);
  EXPECT_EQ(in.take<std::int64_t>(), 10);
  EXPECT_EQ(in.take_short(), "there");
  EXPECT_TRUE(in.finished());
}

TEST_F(GroupSession, TheSourcesOfAQueueOfDeadLettersAreListed) {
  std::string payload;
  put_short(payload, "");
  put(payload, std::uint16_t{10});
  ASSERT_EQ(begin(BinaryOp::list_sources, payload, opened("dead")), Next::respond);
  std::string want;
  put(want, std::uint8_t{0});
  put(want, std::uint16_t{1});
  put_short(want, "q");
  EXPECT_EQ(answer().payload, want);
}

TEST_F(GroupSession, TheHandleOfADeletedQueueIsNoQueuesAnyMore) {
  const std::uint32_t dead = opened("dead");
  directory_.drop(QueueId{9});
  add(QueueId{10}, "dead", false);
  EXPECT_EQ(refused(BinaryOp::get_tags, "", dead), Status::no_such_queue);
  EXPECT_EQ(refused(BinaryOp::list_sources, std::string("\0\0\x0A\0", 4), dead),
            Status::no_such_queue);
}

TEST_F(GroupSession, ATagFollowsTheRulesOfSqs) {
  const std::uint32_t dead = opened("dead");
  const auto tag = [](std::string_view key, std::string_view value) {
    std::string payload;
    put(payload, std::uint16_t{1});
    put_short(payload, key);
    put_short(payload, value);
    put(payload, std::uint16_t{0});
    return payload;
  };
  std::string wide;
  for (int i = 0; i < 128; ++i) wide += "\u00e9";
  EXPECT_EQ(begin(BinaryOp::set_tags, tag(wide, wide), dead), Next::route) << "characters count";
  EXPECT_EQ(refused(BinaryOp::set_tags, tag(wide + "x", ""), dead), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::set_tags, tag("aws:x", ""), dead), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::set_tags, tag("a", "<&>"), dead), Status::invalid);
}

TEST_F(GroupSession, AFifoQueueIsMadeWithItsNameAndItsAttribute) {
  const std::string fifo = queue_attributes({
      {"FifoQueue", "true"}
  });
  EXPECT_EQ(begin(BinaryOp::create_queue, create("new.fifo", fifo)), Next::route);
  EXPECT_EQ(refused(BinaryOp::create_queue, create("new.fifo")), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::create_queue, create("new", fifo)), Status::bad_attributes);
}

TEST_F(GroupSession, RefusesEveryTruncationAndEveryTrailingByte) {
  const std::uint32_t dead = opened("dead");
  std::string tags;
  put(tags, std::uint16_t{1});
  put_short(tags, "k");
  put_short(tags, "v");
  put(tags, std::uint16_t{1});
  put_short(tags, "gone");
  struct Case {
    BinaryOp op;
    std::string payload;
  };
  const Case cases[] = {
      {BinaryOp::get_tags, ""},
      {BinaryOp::set_tags, tags},
      {BinaryOp::list_sources, std::string("\0\0\x0A\0", 4)},
      {BinaryOp::start_move, std::string("\0\0\0\0\0\0", 6)},
      {BinaryOp::cancel_move, std::string("\1\0\0\0", 4)},
      {BinaryOp::list_moves, ""},
      {BinaryOp::send, batch({named("body", "tenant", "")})},
      {BinaryOp::receive, receive(5, 0, 0) + std::string("\2\0xy", 4)},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.op));
    begin(c.op, c.payload, dead);
    EXPECT_EQ(refused(c.op, c.payload + "x", dead), Status::bad_frame);
    for (std::size_t size = 0; size < c.payload.size(); ++size) {
      EXPECT_EQ(refused(c.op, c.payload.substr(0, size), dead), Status::bad_frame) << size;
    }
  }
}

// A session with a client of a minor version.
class ReasonSession : public BinarySessionTest {
 protected:
  // The word with the lengths of the names of a delivered dead letter that expired.
  std::uint32_t names_to(std::uint16_t minor) {
    EXPECT_EQ(begin(BinaryOp::hello, hello(binary_major, 0, feature_groups, minor)), Next::respond);
    EXPECT_EQ(begin(BinaryOp::open_queue, open("q")), Next::respond);
    std::string payload = receive(1);
    put_short(payload, "");
    EXPECT_EQ(begin(BinaryOp::receive, payload, answer().header.queue), Next::route);
    Delivery& delivery = call_.request().deliveries[0];
    delivery = {};
    delivery.seq = 5;
    delivery.content = {.body = "b", .origin = "acc/src", .reason = DeadLetterReason::expired};
    call_.request().delivered = 1;
    EXPECT_EQ(resume(), Next::respond);
    const std::string bytes = answer().payload;
    BinaryReader in(bytes);
    in.take_bytes(4 + receipt_bytes + 16 + 8 + 8 + 8 + 4);
    EXPECT_EQ(in.take<std::uint32_t>(), 1u | entry_has_names);
    return in.take<std::uint32_t>();
  }
};

TEST_F(ReasonSession, ADeliverySaysWhyADeadLetterCame) {
  EXPECT_EQ(names_to(reasons_minor), 7u << 16 | 1u << 24);
}

TEST_F(ReasonSession, AnOlderClientGetsNoReason) {
  EXPECT_EQ(names_to(reasons_minor - 1), 7u << 16);
}

}  // namespace
}  // namespace pawl

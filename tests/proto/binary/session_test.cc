// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/session.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

// --- HELLO ---

TEST_F(BinarySessionTest, HelloTellsVersionFeaturesLimitsAndShards) {
  ASSERT_EQ(begin(BinaryOp::hello, hello()), Next::respond);
  EXPECT_TRUE(session_.greeted());
  EXPECT_EQ(session_.client(), "tester");
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::ok);
  EXPECT_EQ(got.header.flags, flag_answer);
  BinaryReader in(got.payload);
  EXPECT_EQ(in.take<std::uint16_t>(), binary_major);
  EXPECT_EQ(in.take<std::uint16_t>(), binary_minor);
  EXPECT_EQ(in.take<std::uint32_t>(), feature_checksum) << "of the bits offered, those known";
  EXPECT_EQ(in.take<std::uint32_t>(), frame_bytes_max);
  EXPECT_EQ(in.take<std::uint32_t>(), 1024u);
  EXPECT_EQ(in.take<std::uint32_t>(), 8u << 20);
  EXPECT_EQ(in.take<std::uint32_t>(), entries_max);
  EXPECT_EQ(in.take<std::uint64_t>(), 0xB007u);
  EXPECT_EQ(in.take<std::uint32_t>(), 3u);
  EXPECT_EQ(in.take<std::uint32_t>(), 4u);
  ASSERT_EQ(in.take<std::uint16_t>(), 4);
  EXPECT_EQ(in.take<std::uint16_t>(), 9001);
  EXPECT_EQ(in.take_bytes(6).size(), 6u);
  EXPECT_EQ(in.take_short(), "") << "no key is asked for";
  EXPECT_TRUE(in.finished());
}

TEST_F(BinarySessionTest, HelloOfALaterMinorMaySayMore) {
  EXPECT_EQ(begin(BinaryOp::hello, hello() + "and more"), Next::respond);
  EXPECT_EQ(answer().status(), Status::ok);
}

TEST_F(BinarySessionTest, IsClosedWhenTheGreetingIsWrong) {
  std::string other_magic = hello();
  other_magic[0] = 'X';
  struct Case {
    const char* name;
    BinaryOp op;
    std::string payload;
    Status status;
  };
  const Case cases[] = {
      {"another protocol", BinaryOp::hello, other_magic, Status::protocol_version},
      {"another major", BinaryOp::hello, hello(2), Status::protocol_version},
      {"only magic and major", BinaryOp::hello, hello().substr(0, 6), Status::bad_frame},
      {"a method we know not", BinaryOp::hello, hello(binary_major, 2), Status::unauthorized},
      {"no greeting at all", BinaryOp::ping, "", Status::out_of_order},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(begin(c.op, c.payload), Next::close);
    EXPECT_EQ(answer().status(), c.status);
    EXPECT_FALSE(session_.greeted());
  }
}

TEST_F(BinarySessionTest, IsClosedByASecondHello) {
  greet_and_open();
  EXPECT_EQ(begin(BinaryOp::hello, hello()), Next::close);
  EXPECT_EQ(answer().status(), Status::out_of_order);
}

// --- frames that are wrong ---

TEST_F(BinarySessionTest, ClosesWhenFramingIsLostAndOnlyThen) {
  greet_and_open();
  std::string good;
  finish_frame(good, begin_frame(good, {.op = 2}));
  std::string checksummed;
  finish_frame(checksummed, begin_frame(checksummed, {.op = 2, .flags = flag_checksum}));
  checksummed.back() ^= 1;
  std::string from_a_server;
  finish_frame(from_a_server, begin_frame(from_a_server, {.op = 2, .flags = flag_answer}));
  std::string unknown_flag;
  finish_frame(unknown_flag, begin_frame(unknown_flag, {.op = 2, .flags = 0x10}));
  struct Case {
    const char* name;
    std::string frame;
    Next next;
    Status status;
  };
  const Case cases[] = {
      {"nothing",       "",             Next::close,   Status::bad_frame   },
      {"half a header", good.substr(8), Next::close,   Status::bad_frame   },
      {"a longer one",  good + "x",     Next::close,   Status::bad_frame   },
      {"bad checksum",  checksummed,    Next::close,   Status::bad_checksum},
      {"an answer",     from_a_server,  Next::respond, Status::bad_frame   },
      {"unknown flag",  unknown_flag,   Next::respond, Status::bad_frame   },
      {"a good one",    good,           Next::respond, Status::ok          },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(begin_frame_bytes(c.frame), c.next);
    EXPECT_EQ(answer().status(), c.status);
  }
}

TEST_F(BinarySessionTest, RefusesEveryTruncationAndEveryTrailingByteOfEveryOperation) {
  const std::uint32_t q = greet_and_open();
  const std::string receipt(receipt_bytes, 'r');
  struct Case {
    BinaryOp op;
    std::string payload;
    Next next;
  };
  const Case cases[] = {
      {BinaryOp::ping, "", Next::respond},
      {BinaryOp::open_queue, open("q"), Next::respond},
      {BinaryOp::create_queue, create("new", queue_attributes({{"DelaySeconds", "5"}})),
       Next::route},
      {BinaryOp::delete_queue, "", Next::route},
      {BinaryOp::set_attributes, queue_attributes({{"DelaySeconds", "5"}}), Next::route},
      {BinaryOp::get_attributes, "", Next::route},
      {BinaryOp::list_queues, std::string("\0\0\0\0\x0A\0", 6), Next::respond},
      {BinaryOp::purge, "", Next::route},
      {BinaryOp::stats, "", Next::route},
      {BinaryOp::send, batch({entry("a", attribute("n", "String", "v"), {}, 5), entry("b")}),
       Next::route},
      {BinaryOp::send_once, producer(7, 5, 3) + batch({entry("a"), entry("b")}), Next::route},
      {BinaryOp::receive, receive(5, 0, 0), Next::route},
      {BinaryOp::delete_message, batch({receipt, receipt}), Next::route},
      {BinaryOp::change, batch({receipt + std::string(4, '\0')}), Next::route},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.op));
    EXPECT_EQ(begin(c.op, c.payload, q), c.next);
    EXPECT_EQ(refused(c.op, c.payload + "x", q), Status::bad_frame);
    for (std::size_t size = 0; size < c.payload.size(); ++size) {
      EXPECT_EQ(refused(c.op, c.payload.substr(0, size), q), Status::bad_frame) << size;
    }
  }
}

TEST_F(BinarySessionTest, RefusesCountsThatPromiseMoreThanThereIs) {
  const std::uint32_t q = greet_and_open();
  for (const BinaryOp op : {BinaryOp::send, BinaryOp::delete_message, BinaryOp::change}) {
    for (const std::uint32_t count : {0u, 1025u, 0xFFFF'FFFFu}) {
      std::string payload;
      put(payload, count);
      EXPECT_EQ(refused(op, payload, q), Status::invalid) << count;
    }
    std::string payload;
    put(payload, 1024u);
    EXPECT_EQ(refused(op, payload, q), Status::bad_frame);
  }
  EXPECT_EQ(refused(BinaryOp::send_once, producer(7, 5, 3) + batch({}), q), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::receive, receive(0), q), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::receive, receive(1025), q), Status::invalid);
}

TEST_F(BinarySessionTest, RefusesOperationsItDoesNotKnow) {
  greet_and_open();
  for (const int op : {0, 14, 27, 31, 255})
    EXPECT_EQ(refused(static_cast<BinaryOp>(op), ""), Status::unknown_op);
}

TEST_F(BinarySessionTest, RefusesHandlesItDidNotGive) {
  const std::uint32_t q = greet_and_open();
  for (const std::uint32_t handle : {0u, q + 1, 0xFFFF'FFFFu}) {
    EXPECT_EQ(refused(BinaryOp::purge, "", handle), Status::bad_handle);
  }
}

// --- queues ---

TEST_F(BinarySessionTest, OpensAQueueUnderTheSameHandleEachTime) {
  const std::uint32_t q = greet_and_open();
  EXPECT_EQ(begin(BinaryOp::open_queue, open("q")), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(got.header.queue, q);
  BinaryReader in(got.payload);
  EXPECT_EQ(in.take<std::uint32_t>(), 7u);
  EXPECT_EQ(in.take<std::uint32_t>(), 2u);
  EXPECT_EQ(in.take<std::uint32_t>(), 1'048'576u);
  EXPECT_EQ(in.take<std::uint32_t>(), 30'000u);
  EXPECT_EQ(in.take<std::uint32_t>(), 0u);
  EXPECT_EQ(in.take<std::uint32_t>(), 0u);
  EXPECT_EQ(in.take<std::uint32_t>(), 345'600'000u);
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(refused(BinaryOp::open_queue, open("absent")), Status::no_such_queue);
}

TEST_F(BinarySessionTest, OpensQueuesOfAnotherAccountByNamingIt) {
  greet_and_open();
  auto other = std::make_shared<QueueConfig>(**directory_.find(QueueId{7}));
  other->id = QueueId{8};
  other->account = "111111111111";
  directory_.put(other);
  std::string payload;
  put_short(payload, "111111111111");
  put_short(payload, "q");
  ASSERT_EQ(begin(BinaryOp::open_queue, payload), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(BinaryReader(got.payload).take<std::uint32_t>(), 8u);
}

TEST_F(BinarySessionTest, CreatesOnTheControlShardAndGivesTheHandleOfWhatCameBack) {
  const std::uint32_t q = greet_and_open();
  const std::string attributes = queue_attributes({
      {"VisibilityTimeout",    "90"   },
      {"SqsManagedSseEnabled", "false"}
  });
  ASSERT_EQ(begin(BinaryOp::create_queue, create("new", attributes)), Next::route);
  EXPECT_EQ(call_.target(), control_shard);
  Request& request = call_.request();
  ASSERT_EQ(request.op, Op::create_queue);
  EXPECT_EQ(request.home, config_.home);
  EXPECT_EQ(request.spec->account, config_.account);
  EXPECT_EQ(request.spec->name, "new");
  ASSERT_EQ(request.spec->changes.size(), 2u);
  EXPECT_EQ(request.spec->changes[0].attribute, Attribute::visibility_timeout);
  EXPECT_EQ(request.spec->changes[0].number, 90);
  EXPECT_EQ(request.spec->changes[1].number, 0);

  auto made = std::make_shared<QueueConfig>();
  made->id = QueueId{9};
  made->owner = ShardId{1};
  request.config = made;
  ASSERT_EQ(resume(), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::ok);
  EXPECT_EQ(got.header.queue, q + 1);

  // This shard's directory may hear of it later than the asker does.
  ASSERT_EQ(begin(BinaryOp::send, batch({entry("early")}), q + 1), Next::route);
  EXPECT_EQ(call_.target(), ShardId{1});
  EXPECT_EQ(call_.request().queue, QueueId{9});
}

TEST_F(BinarySessionTest, NamesTheAttributeThatDiffersWhenAQueueExists) {
  greet_and_open();
  ASSERT_EQ(begin(BinaryOp::create_queue, create("q")), Next::route);
  call_.request().error = Errc::queue_exists;
  call_.request().differing = Attribute::visibility_timeout;
  ASSERT_EQ(resume(), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::queue_exists);
  BinaryReader in(got.payload);
  in.take<std::uint32_t>();
  EXPECT_EQ(in.take<std::uint32_t>(), static_cast<std::uint32_t>(Attribute::visibility_timeout));
}

TEST_F(BinarySessionTest, RefusesQueueNamesAttributesAndTagsThatSqsWould) {
  const std::uint32_t q = greet_and_open();
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a.b"),
                                  std::string(".fifo"), std::string(81, 'a')}) {
    EXPECT_EQ(refused(BinaryOp::create_queue, create(name)), Status::invalid) << name;
  }
  const std::pair<std::string_view, std::string_view> bad[] = {
      {"Unknown",              "1"    },
      {"DelaySeconds",         "901"  },
      {"DelaySeconds",         "-1"   },
      {"DelaySeconds",         ""     },
      {"DelaySeconds",         "1 "   },
      {"MaximumMessageSize",   "1023" },
      {"VisibilityTimeout",    "43201"},
      {"SqsManagedSseEnabled", "yes"  },
      {"Policy",               "\x01" },
      {"RedrivePolicy",        "{}"   },
  };
  for (const auto& one : bad) {
    EXPECT_EQ(refused(BinaryOp::set_attributes, queue_attributes({one}), q), Status::bad_attributes)
        << one.first;
    EXPECT_EQ(refused(BinaryOp::create_queue, create("n", queue_attributes({one}))),
              Status::bad_attributes);
  }
  const std::string named_twice = queue_attributes({
      {"DelaySeconds", "1"},
      {"DelaySeconds", "1"}
  });
  EXPECT_EQ(refused(BinaryOp::set_attributes, named_twice, q), Status::bad_attributes);
  EXPECT_EQ(refused(BinaryOp::create_queue, create("n", named_twice)), Status::bad_attributes);
  EXPECT_EQ(refused(BinaryOp::set_attributes, queue_attributes({}), q), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::create_queue, create("a.fifo")), Status::invalid);

  std::string twice;
  put_short(twice, "n");
  twice += queue_attributes({});
  put(twice, std::uint16_t{2});
  for (const char* tag : {"k", "v", "k", "w"}) put_short(twice, tag);
  EXPECT_EQ(refused(BinaryOp::create_queue, twice), Status::invalid);
}

TEST_F(BinarySessionTest, DescribesAQueueWithItsCounts) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::get_attributes, "", q), Next::route);
  EXPECT_EQ(call_.request().op, Op::count);
  EXPECT_EQ(call_.target(), ShardId{2});
  call_.request().counts = {11, 22, 33};
  ASSERT_EQ(resume(), Next::respond);
  const Answer got = answer();
  BinaryReader in(got.payload);
  EXPECT_EQ(in.take<std::uint64_t>(), 11u);
  EXPECT_EQ(in.take<std::uint64_t>(), 22u);
  EXPECT_EQ(in.take<std::uint64_t>(), 33u);
  in.take_bytes(16);
  std::map<std::string, std::string> attributes;
  const auto count = in.take<std::uint16_t>();
  for (int i = 0; i < count; ++i) {
    const std::string name(in.take_short());
    attributes[name] = in.take_long();
  }
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(attributes["VisibilityTimeout"], "30");
  EXPECT_EQ(attributes["SqsManagedSseEnabled"], "true");
  EXPECT_FALSE(attributes.contains("KmsDataKeyReusePeriodSeconds")) << "not set";
  EXPECT_FALSE(attributes.contains("Policy")) << "not set";

  ASSERT_EQ(begin(BinaryOp::stats, "", q), Next::route);
  call_.request().counts = {1, 2, 3, 4};
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(answer().payload.size(), 32u) << "a client of 1.2 hears of the memory too";
}

TEST_F(BinarySessionTest, ListsQueuesInPages) {
  greet_and_open();
  std::string payload;
  put_short(payload, "");
  put_short(payload, "");
  put(payload, std::uint16_t{1});
  ASSERT_EQ(begin(BinaryOp::list_queues, payload), Next::respond);
  EXPECT_EQ(answer().payload, std::string("\0\x01\0\x01\0q", 6));

  auto another = std::make_shared<QueueConfig>(**directory_.find(QueueId{7}));
  another->id = QueueId{8};
  another->name = "r";
  directory_.put(another);
  ASSERT_EQ(begin(BinaryOp::list_queues, payload), Next::respond);
  EXPECT_EQ(answer().payload, std::string("\x01\x01\0\x01\0q", 6)) << "there are more";
  EXPECT_EQ(refused(BinaryOp::list_queues, std::string(6, '\0')), Status::invalid)
      << "none asked for";
}

TEST_F(BinarySessionTest, LetsTheOwnerSayThatAQueueIsGone) {
  const std::uint32_t q = greet_and_open();
  directory_.drop(QueueId{7});
  for (const auto& [op, payload] :
       {std::pair(BinaryOp::send, batch({entry("a")})), std::pair(BinaryOp::receive, receive(1)),
        std::pair(BinaryOp::purge, std::string())}) {
    ASSERT_EQ(begin(op, payload, q), Next::route);
    EXPECT_EQ(call_.target(), ShardId{2});
    call_.request().error = Errc::no_such_queue;
    ASSERT_EQ(resume(), Next::respond);
    EXPECT_EQ(answer().status(), Status::no_such_queue);
  }
}

TEST_F(BinarySessionTest, KeepsNothingOfQueuesThatHaveGone) {
  const std::uint32_t q = greet_and_open();
  std::vector<std::weak_ptr<const QueueConfig>> configs;
  std::vector<std::uint32_t> handles;
  for (std::uint32_t i = 100; i < 140; ++i) {
    auto queue = std::make_shared<QueueConfig>();
    queue->id = QueueId{i};
    queue->account = config_.account;
    queue->name = "gone" + std::to_string(i);
    directory_.put(queue);
    configs.push_back(queue);
    ASSERT_EQ(begin(BinaryOp::open_queue, open(queue->name)), Next::respond);
    handles.push_back(answer().header.queue);
  }
  for (std::uint32_t i = 100; i < 140; ++i) directory_.drop(QueueId{i});
  EXPECT_FALSE(configs.front().expired());
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(begin(BinaryOp::open_queue, open("q")), Next::respond);
    EXPECT_EQ(answer().header.queue, q);
  }
  for (std::size_t i = 0; i < configs.size(); ++i) {
    EXPECT_TRUE(configs[i].expired()) << i;
    EXPECT_EQ(refused(BinaryOp::purge, "", handles[i]), Status::no_such_queue);
  }
  EXPECT_EQ(begin(BinaryOp::purge, "", q), Next::route);
}

TEST_F(BinarySessionTest, ResumesNoCallThatRoutedNothing) {
  greet_and_open();
  ASSERT_EQ(begin(BinaryOp::ping, ""), Next::respond);
  EXPECT_DEATH(resume(), "a call that routed nothing is resumed");
}

}  // namespace
}  // namespace pawl

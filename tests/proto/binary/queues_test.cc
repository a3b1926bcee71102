// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/queues.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

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

}  // namespace
}  // namespace pawl

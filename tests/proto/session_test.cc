#include "proto/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "proto/attributes.h"

namespace pawl {
namespace {

using Next = WireCall::Next;

std::string hello(std::uint16_t major = wire_major, std::uint8_t auth = 0) {
  std::string payload;
  put(payload, wire_magic);
  put(payload, major);
  put(payload, wire_minor);
  put(payload, feature_checksum | 0x80u);
  put(payload, auth);
  put_short(payload, "tester");
  return payload;
}

std::string open(std::string_view name) {
  std::string payload;
  put_short(payload, "");
  put_short(payload, name);
  return payload;
}

std::string entry(std::string_view body, std::string_view attributes = {},
                  std::string_view system = {}, std::optional<std::uint32_t> delay_ms = {}) {
  std::string out;
  put(out, static_cast<std::uint32_t>(body.size()) |
               (attributes.empty() ? 0 : entry_has_attributes) |
               (system.empty() ? 0 : entry_has_system) | (delay_ms ? entry_has_delay : 0));
  if (!attributes.empty()) put(out, static_cast<std::uint32_t>(attributes.size()));
  if (!system.empty()) put(out, static_cast<std::uint32_t>(system.size()));
  if (delay_ms) put(out, *delay_ms);
  return out.append(body).append(attributes).append(system);
}

std::string batch(std::initializer_list<std::string> entries) {
  std::string out;
  put(out, static_cast<std::uint32_t>(entries.size()));
  for (const std::string& e : entries) out += e;
  return out;
}

std::string receive(std::uint32_t max, std::uint32_t wait = wire_queue_default,
                    std::uint32_t visibility = wire_queue_default, std::uint32_t bytes = 0) {
  std::string out;
  put(out, max);
  put(out, wait);
  put(out, visibility);
  put(out, bytes);
  return out;
}

std::string queue_attributes(
    std::initializer_list<std::pair<std::string_view, std::string_view>> all) {
  std::string out;
  put(out, static_cast<std::uint16_t>(all.size()));
  for (const auto& [name, value] : all) {
    put_short(out, name);
    put_long(out, value);
  }
  return out;
}

std::string create(std::string_view name, const std::string& attributes = queue_attributes({})) {
  std::string out;
  put_short(out, name);
  out += attributes;
  put(out, std::uint16_t{0});
  return out;
}

std::string attribute(std::string_view name, std::string_view type, std::string_view value) {
  std::string out;
  append_attribute(out, {name, type, AttributeKind::text, value});
  return out;
}

struct Answer {
  FrameHeader header;
  std::string payload;
  Status status() const { return static_cast<Status>(header.status); }
};

// One connection of a server that has the queue "q", number 7, on shard 2.
class WireSession : public testing::Test {
 protected:
  WireSession() {
    for (std::size_t i = 0; i < config_.secret.size(); ++i)
      config_.secret[i] = static_cast<std::uint8_t>(i);
    config_.shards = 4;
    config_.home = ShardId{3};
    config_.shard_ports = {9001, 9002, 9003, 9004};
    config_.boot_id = 0xB007;
    auto queue = std::make_shared<QueueConfig>();
    queue->id = QueueId{7};
    queue->owner = ShardId{2};
    queue->account = config_.account;
    queue->name = "q";
    directory_.put(queue);
  }

  Next begin(WireOp op, std::string_view payload, std::uint32_t queue = 0, std::uint8_t flags = 0) {
    std::string frame;
    const FrameHeader header{.op = static_cast<std::uint8_t>(op),
                             .flags = flags,
                             .correlation = ++correlation_,
                             .queue = queue};
    const std::size_t at = begin_frame(frame, header);
    frame.append(payload);
    finish_frame(frame, at);
    return begin_frame_bytes(frame);
  }
  Next begin_frame_bytes(std::string_view frame) {
    return call_.begin(session_, frame, directory_, config_);
  }
  Next resume() { return call_.resume(session_, directory_, config_); }

  Answer answer() {
    std::string out;
    call_.write_response(out);
    const auto header = parse_header(out);
    EXPECT_TRUE(header);
    if (!header) return {};
    const auto payload = payload_of(*header, out);
    EXPECT_TRUE(payload);
    return {*header, std::string(payload.value_or(""))};
  }
  Status refused(WireOp op, std::string_view payload, std::uint32_t queue = 0) {
    EXPECT_EQ(begin(op, payload, queue), Next::respond);
    return answer().status();
  }

  std::uint32_t greet_and_open() {
    EXPECT_EQ(begin(WireOp::hello, hello()), Next::respond);
    EXPECT_EQ(answer().status(), Status::ok);
    EXPECT_EQ(begin(WireOp::open_queue, open("q")), Next::respond);
    const Answer opened = answer();
    EXPECT_EQ(opened.status(), Status::ok);
    return opened.header.queue;
  }

  Directory directory_;
  SessionConfig config_;
  Session session_;
  WireCall call_;
  std::uint32_t correlation_ = 0;
};

// --- HELLO ---

TEST_F(WireSession, HelloTellsVersionFeaturesLimitsAndShards) {
  ASSERT_EQ(begin(WireOp::hello, hello()), Next::respond);
  EXPECT_TRUE(session_.greeted());
  EXPECT_EQ(session_.client(), "tester");
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::ok);
  EXPECT_EQ(got.header.flags, flag_answer);
  WireReader in(got.payload);
  EXPECT_EQ(in.take<std::uint16_t>(), wire_major);
  EXPECT_EQ(in.take<std::uint16_t>(), wire_minor);
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
  EXPECT_TRUE(in.finished());
}

TEST_F(WireSession, HelloOfALaterMinorMaySayMore) {
  EXPECT_EQ(begin(WireOp::hello, hello() + "and more"), Next::respond);
  EXPECT_EQ(answer().status(), Status::ok);
}

TEST_F(WireSession, IsClosedWhenTheGreetingIsWrong) {
  std::string other_magic = hello();
  other_magic[0] = 'X';
  struct Case {
    const char* name;
    WireOp op;
    std::string payload;
    Status status;
  };
  const Case cases[] = {
      {"another protocol", WireOp::hello, other_magic, Status::protocol_version},
      {"another major", WireOp::hello, hello(2), Status::protocol_version},
      {"only magic and major", WireOp::hello, hello().substr(0, 6), Status::bad_frame},
      {"a method we know not", WireOp::hello, hello(wire_major, 1), Status::unauthorized},
      {"no greeting at all", WireOp::ping, "", Status::out_of_order},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(begin(c.op, c.payload), Next::close);
    EXPECT_EQ(answer().status(), c.status);
    EXPECT_FALSE(session_.greeted());
  }
}

TEST_F(WireSession, IsClosedByASecondHello) {
  greet_and_open();
  EXPECT_EQ(begin(WireOp::hello, hello()), Next::close);
  EXPECT_EQ(answer().status(), Status::out_of_order);
}

// --- frames that are wrong ---

TEST_F(WireSession, ClosesWhenFramingIsLostAndOnlyThen) {
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

TEST_F(WireSession, RefusesEveryTruncationAndEveryTrailingByteOfEveryOperation) {
  const std::uint32_t q = greet_and_open();
  const std::string receipt(receipt_bytes, 'r');
  struct Case {
    WireOp op;
    std::string payload;
    Next next;
  };
  const Case cases[] = {
      {WireOp::ping, "", Next::respond},
      {WireOp::open_queue, open("q"), Next::respond},
      {WireOp::create_queue, create("new", queue_attributes({{"DelaySeconds", "5"}})), Next::route},
      {WireOp::delete_queue, "", Next::route},
      {WireOp::set_attributes, queue_attributes({{"DelaySeconds", "5"}}), Next::route},
      {WireOp::get_attributes, "", Next::route},
      {WireOp::list_queues, std::string("\0\0\0\0\x0A\0", 6), Next::respond},
      {WireOp::purge, "", Next::route},
      {WireOp::stats, "", Next::route},
      {WireOp::send, batch({entry("a", attribute("n", "String", "v"), {}, 5), entry("b")}),
       Next::route},
      {WireOp::receive, receive(5, 0, 0), Next::route},
      {WireOp::remove, batch({receipt, receipt}), Next::route},
      {WireOp::change, batch({receipt + std::string(4, '\0')}), Next::route},
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

TEST_F(WireSession, RefusesCountsThatPromiseMoreThanThereIs) {
  const std::uint32_t q = greet_and_open();
  for (const WireOp op : {WireOp::send, WireOp::remove, WireOp::change}) {
    for (const std::uint32_t count : {0u, 1025u, 0xFFFF'FFFFu}) {
      std::string payload;
      put(payload, count);
      EXPECT_EQ(refused(op, payload, q), Status::invalid) << count;
    }
    std::string payload;
    put(payload, 1024u);
    EXPECT_EQ(refused(op, payload, q), Status::bad_frame);
  }
  EXPECT_EQ(refused(WireOp::receive, receive(0), q), Status::invalid);
  EXPECT_EQ(refused(WireOp::receive, receive(1025), q), Status::invalid);
}

TEST_F(WireSession, RefusesOperationsItDoesNotKnow) {
  greet_and_open();
  for (const int op : {0, 11, 15, 20, 255})
    EXPECT_EQ(refused(static_cast<WireOp>(op), ""), Status::unknown_op);
}

TEST_F(WireSession, RefusesHandlesItDidNotGive) {
  const std::uint32_t q = greet_and_open();
  for (const std::uint32_t handle : {0u, q + 1, 0xFFFF'FFFFu}) {
    EXPECT_EQ(refused(WireOp::purge, "", handle), Status::bad_handle);
  }
}

// --- queues ---

TEST_F(WireSession, OpensAQueueUnderTheSameHandleEachTime) {
  const std::uint32_t q = greet_and_open();
  EXPECT_EQ(begin(WireOp::open_queue, open("q")), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(got.header.queue, q);
  WireReader in(got.payload);
  EXPECT_EQ(in.take<std::uint32_t>(), 7u);
  EXPECT_EQ(in.take<std::uint32_t>(), 2u);
  EXPECT_EQ(in.take<std::uint32_t>(), 1'048'576u);
  EXPECT_EQ(in.take<std::uint32_t>(), 30'000u);
  EXPECT_EQ(in.take<std::uint32_t>(), 0u);
  EXPECT_EQ(in.take<std::uint32_t>(), 0u);
  EXPECT_EQ(in.take<std::uint32_t>(), 345'600'000u);
  EXPECT_TRUE(in.finished());
  EXPECT_EQ(refused(WireOp::open_queue, open("absent")), Status::no_such_queue);
}

TEST_F(WireSession, OpensQueuesOfAnotherAccountByNamingIt) {
  greet_and_open();
  auto other = std::make_shared<QueueConfig>(**directory_.find(QueueId{7}));
  other->id = QueueId{8};
  other->account = "111111111111";
  directory_.put(other);
  std::string payload;
  put_short(payload, "111111111111");
  put_short(payload, "q");
  ASSERT_EQ(begin(WireOp::open_queue, payload), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(WireReader(got.payload).take<std::uint32_t>(), 8u);
}

TEST_F(WireSession, CreatesOnTheControlShardAndGivesTheHandleOfWhatCameBack) {
  const std::uint32_t q = greet_and_open();
  const std::string attributes = queue_attributes({
      {"VisibilityTimeout",    "90"   },
      {"SqsManagedSseEnabled", "false"}
  });
  ASSERT_EQ(begin(WireOp::create_queue, create("new", attributes)), Next::route);
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
  ASSERT_EQ(begin(WireOp::send, batch({entry("early")}), q + 1), Next::route);
  EXPECT_EQ(call_.target(), ShardId{1});
  EXPECT_EQ(call_.request().queue, QueueId{9});
}

TEST_F(WireSession, NamesTheAttributeThatDiffersWhenAQueueExists) {
  greet_and_open();
  ASSERT_EQ(begin(WireOp::create_queue, create("q")), Next::route);
  call_.request().error = Errc::queue_exists;
  call_.request().differing = Attribute::visibility_timeout;
  ASSERT_EQ(resume(), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::queue_exists);
  WireReader in(got.payload);
  in.take<std::uint32_t>();
  EXPECT_EQ(in.take<std::uint32_t>(), static_cast<std::uint32_t>(Attribute::visibility_timeout));
}

TEST_F(WireSession, RefusesQueueNamesAttributesAndTagsThatSqsWould) {
  const std::uint32_t q = greet_and_open();
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a.b"),
                                  std::string(".fifo"), std::string(81, 'a')}) {
    EXPECT_EQ(refused(WireOp::create_queue, create(name)), Status::invalid) << name;
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
  };
  for (const auto& one : bad) {
    EXPECT_EQ(refused(WireOp::set_attributes, queue_attributes({one}), q), Status::bad_attributes)
        << one.first;
    EXPECT_EQ(refused(WireOp::create_queue, create("n", queue_attributes({one}))),
              Status::bad_attributes);
  }
  EXPECT_EQ(refused(WireOp::set_attributes, queue_attributes({}), q), Status::invalid);
  EXPECT_EQ(refused(WireOp::create_queue, create("a.fifo")), Status::not_supported);
  const std::string redrive = queue_attributes({
      {"RedrivePolicy", "{}"}
  });
  EXPECT_EQ(refused(WireOp::set_attributes, redrive, q), Status::not_supported);

  std::string twice;
  put_short(twice, "n");
  twice += queue_attributes({});
  put(twice, std::uint16_t{2});
  for (const char* tag : {"k", "v", "k", "w"}) put_short(twice, tag);
  EXPECT_EQ(refused(WireOp::create_queue, twice), Status::invalid);
}

TEST_F(WireSession, DescribesAQueueWithItsCounts) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(WireOp::get_attributes, "", q), Next::route);
  EXPECT_EQ(call_.request().op, Op::count);
  EXPECT_EQ(call_.target(), ShardId{2});
  call_.request().counts = {11, 22, 33};
  ASSERT_EQ(resume(), Next::respond);
  const Answer got = answer();
  WireReader in(got.payload);
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

  ASSERT_EQ(begin(WireOp::stats, "", q), Next::route);
  call_.request().counts = {1, 2, 3};
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(answer().payload.size(), 24u);
}

TEST_F(WireSession, ListsQueuesInPages) {
  greet_and_open();
  std::string payload;
  put_short(payload, "");
  put_short(payload, "");
  put(payload, std::uint16_t{1});
  ASSERT_EQ(begin(WireOp::list_queues, payload), Next::respond);
  EXPECT_EQ(answer().payload, std::string("\0\x01\0\x01\0q", 6));

  auto another = std::make_shared<QueueConfig>(**directory_.find(QueueId{7}));
  another->id = QueueId{8};
  another->name = "r";
  directory_.put(another);
  ASSERT_EQ(begin(WireOp::list_queues, payload), Next::respond);
  EXPECT_EQ(answer().payload, std::string("\x01\x01\0\x01\0q", 6)) << "there are more";
  EXPECT_EQ(refused(WireOp::list_queues, std::string(6, '\0')), Status::invalid)
      << "none asked for";
}

TEST_F(WireSession, LetsTheOwnerSayThatAQueueIsGone) {
  const std::uint32_t q = greet_and_open();
  directory_.drop(QueueId{7});
  for (const auto& [op, payload] :
       {std::pair(WireOp::send, batch({entry("a")})), std::pair(WireOp::receive, receive(1)),
        std::pair(WireOp::purge, std::string())}) {
    ASSERT_EQ(begin(op, payload, q), Next::route);
    EXPECT_EQ(call_.target(), ShardId{2});
    call_.request().error = Errc::no_such_queue;
    ASSERT_EQ(resume(), Next::respond);
    EXPECT_EQ(answer().status(), Status::no_such_queue);
  }
}

// --- messages ---

TEST_F(WireSession, SendsABatchAndAnswersEachEntry) {
  const std::uint32_t q = greet_and_open();
  const std::string attributes = attribute("A", "String", "x") + attribute("B", "Number", "1");
  const std::string trace = attribute("AWSTraceHeader", "String", "Root=1");
  ASSERT_EQ(begin(WireOp::send,
                  batch({entry("one"), entry("two", attributes, trace, 1500), entry("three")}), q),
            Next::route);
  Request& request = call_.request();
  EXPECT_EQ(request.op, Op::send);
  EXPECT_EQ(request.queue, QueueId{7});
  ASSERT_EQ(request.sends.size(), 3u);
  EXPECT_EQ(request.sends[0].content.body, "one");
  EXPECT_EQ(request.sends[0].delay, queue_default);
  EXPECT_EQ(request.sends[1].content.body, "two");
  EXPECT_EQ(request.sends[1].content.attributes, attributes);
  EXPECT_EQ(request.sends[1].content.system, trace);
  EXPECT_EQ(request.sends[1].delay, milliseconds(1500));
  request.sends[0].seq = 5;
  request.sends[1].error = Errc::no_memory;
  request.sends[2].seq = 6;
  ASSERT_EQ(resume(), Next::respond);

  const Answer got = answer();
  WireReader in(got.payload);
  EXPECT_EQ(in.take<std::uint32_t>(), 3u);
  constexpr std::pair<Status, Seq> want[] = {
      {Status::ok,        5},
      {Status::no_memory, 0},
      {Status::ok,        6}
  };
  for (const auto& [status, seq] : want) {
    EXPECT_EQ(in.take<std::uint16_t>(), static_cast<std::uint16_t>(status));
    EXPECT_EQ(in.take<std::uint64_t>(), seq);
    const MessageId id = seq ? message_id(config_.secret, QueueId{7}, seq) : MessageId{};
    EXPECT_EQ(std::byteswap(in.take<std::uint64_t>()), id.high);
    EXPECT_EQ(std::byteswap(in.take<std::uint64_t>()), id.low);
  }
  EXPECT_TRUE(in.finished());
}

TEST_F(WireSession, KeepsWrongMessagesOutOfABatchAndSendsTheOthers) {
  const std::uint32_t q = greet_and_open();
  auto small = std::make_shared<QueueConfig>(**directory_.find(QueueId{7}));
  small->numbers[static_cast<std::size_t>(Attribute::maximum_message_size)] = 1024;
  directory_.put(small);
  const std::string a = attribute("A", "String", "x");
  struct Case {
    std::string entry;
    Status status;
  };
  const Case cases[] = {
      {entry("good"), Status::ok},
      {entry(""), Status::invalid},
      {entry(std::string(1024, 'a')), Status::ok},
      {entry(std::string(1025, 'a')), Status::too_large},
      {entry(std::string(1016, 'a'), a), Status::ok}, // 1 + 6 + 1 more
      {entry(std::string(1017, 'a'), a), Status::too_large},
      {entry(std::string("\0", 1)), Status::bad_text},
      {entry("\xFF"), Status::bad_text},
      {entry("a", a.substr(1)), Status::bad_attributes},
      {entry("a", a + a), Status::bad_attributes},
      {entry("a", {}, a), Status::bad_attributes},
      {entry("a", {}, attribute("AWSTraceHeader", "Number", "1")), Status::bad_attributes},
      {entry("a", {}, {}, 900'000), Status::ok},
      {entry("a", {}, {}, 900'001), Status::invalid},
  };
  std::string payload;
  put(payload, static_cast<std::uint32_t>(std::size(cases)));
  for (const Case& c : cases) payload += c.entry;
  ASSERT_EQ(begin(WireOp::send, payload, q), Next::route);
  const auto good = static_cast<std::size_t>(std::ranges::count(cases, Status::ok, &Case::status));
  ASSERT_EQ(call_.request().sends.size(), good);
  Seq seq = 100;
  for (SendEntry& e : call_.request().sends) e.seq = seq++;
  ASSERT_EQ(resume(), Next::respond);
  const Answer got = answer();
  WireReader in(got.payload);
  in.take<std::uint32_t>();
  seq = 100;
  for (const Case& c : cases) {
    SCOPED_TRACE(&c - cases);
    EXPECT_EQ(static_cast<Status>(in.take<std::uint16_t>()), c.status);
    EXPECT_EQ(in.take<std::uint64_t>(), c.status == Status::ok ? seq++ : 0);
    in.take_bytes(16);
  }
}

TEST_F(WireSession, DoesNotRouteABatchWithNothingGoodInIt) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(WireOp::send, batch({entry("")}), q), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::ok);
  WireReader in(got.payload);
  EXPECT_EQ(in.take<std::uint32_t>(), 1u);
  EXPECT_EQ(static_cast<Status>(in.take<std::uint16_t>()), Status::invalid);
}

TEST_F(WireSession, RefusesEntryBitsItDoesNotKnowAndSaysWhichEntry) {
  const std::uint32_t q = greet_and_open();
  std::string strange = entry("b");
  strange[3] = '\x08';
  ASSERT_EQ(begin(WireOp::send, batch({entry("a"), strange}), q), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::bad_frame);
  WireReader in(got.payload);
  in.take<std::uint32_t>();
  EXPECT_EQ(in.take<std::uint32_t>(), 1u);
}

Delivery delivery(Seq seq, std::string_view body, std::string_view attributes = {},
                  std::string_view system = {}) {
  Delivery made;
  made.seq = seq;
  made.handle.fill(static_cast<std::uint8_t>(seq));
  made.receive_count = 2;
  made.first_received = Instant{1001};
  made.sent = Instant{1000};
  made.content.body = body;
  made.content.attributes = attributes;
  made.content.system = system;
  return made;
}

TEST_F(WireSession, ReceivesWithTheParametersGivenAndDeliversAllOfAMessage) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(WireOp::receive, receive(10, 20'000, 43'200'000), q), Next::route);
  Request& request = call_.request();
  EXPECT_EQ(request.op, Op::receive);
  EXPECT_EQ(request.receive.max, 10u);
  EXPECT_EQ(request.receive.wait, seconds(20));
  EXPECT_EQ(request.receive.visibility, seconds(43'200));
  ASSERT_EQ(request.deliveries.size(), 10u);
  const std::string attributes = attribute("A", "String", "x");
  const std::string trace = attribute("AWSTraceHeader", "String", "Root=1");
  request.deliveries[0] = delivery(1, "first", attributes, trace);
  request.deliveries[1] = delivery(2, "second");
  request.delivered = 2;
  ASSERT_EQ(resume(), Next::respond);

  const Answer got = answer();
  WireReader in(got.payload);
  ASSERT_EQ(in.take<std::uint32_t>(), 2u);
  for (const Seq seq : {Seq{1}, Seq{2}}) {
    EXPECT_EQ(in.take_bytes(receipt_bytes), std::string(receipt_bytes, static_cast<char>(seq)));
    const MessageId id = message_id(config_.secret, QueueId{7}, seq);
    EXPECT_EQ(std::byteswap(in.take<std::uint64_t>()), id.high);
    EXPECT_EQ(std::byteswap(in.take<std::uint64_t>()), id.low);
    EXPECT_EQ(in.take<std::uint64_t>(), seq);
    EXPECT_EQ(in.take<std::int64_t>(), 1000);
    EXPECT_EQ(in.take<std::int64_t>(), 1001);
    EXPECT_EQ(in.take<std::uint32_t>(), 2u);
    if (seq == 1) {
      EXPECT_EQ(in.take<std::uint32_t>(), 5 | entry_has_attributes | entry_has_system);
      EXPECT_EQ(in.take<std::uint32_t>(), attributes.size());
      EXPECT_EQ(in.take<std::uint32_t>(), trace.size());
      EXPECT_EQ(in.take_bytes(5), "first");
      EXPECT_EQ(in.take_bytes(attributes.size()), attributes);
      EXPECT_EQ(in.take_bytes(trace.size()), trace);
    } else {
      EXPECT_EQ(in.take<std::uint32_t>(), 6u);
      EXPECT_EQ(in.take_bytes(6), "second");
    }
  }
  EXPECT_TRUE(in.finished());
}

TEST_F(WireSession, RefusesReceivesOutsideTheirRanges) {
  const std::uint32_t q = greet_and_open();
  EXPECT_EQ(refused(WireOp::receive, receive(1, 20'001), q), Status::invalid);
  EXPECT_EQ(refused(WireOp::receive, receive(1, 0, 43'200'001), q), Status::invalid);
  ASSERT_EQ(begin(WireOp::receive, receive(1), q), Next::route);
  EXPECT_EQ(call_.request().receive.wait, queue_default);
  EXPECT_EQ(call_.request().receive.visibility, queue_default);
}

TEST_F(WireSession, GivesBackWhatDoesNotFitIntoTheAnswer) {
  const std::uint32_t q = greet_and_open();
  constexpr std::uint32_t each = 72;  // bytes around a body
  struct Case {
    std::uint32_t bytes_max;
    std::uint32_t delivered;
  };
  constexpr Case cases[] = {
      {1,                   1}, // one always
      {2 * (each + 10) - 1, 1},
      {2 * (each + 10),     2},
      {3 * (each + 10),     3},
      {0,                   3},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.bytes_max);
    ASSERT_EQ(begin(WireOp::receive, receive(10, 0, 0, c.bytes_max), q), Next::route);
    for (Seq seq = 1; seq <= 3; ++seq)
      call_.request().deliveries[seq - 1] = delivery(seq, "0123456789");
    call_.request().delivered = 3;
    if (c.delivered == 3) {
      ASSERT_EQ(resume(), Next::respond);
    } else {
      ASSERT_EQ(resume(), Next::route);
      EXPECT_EQ(call_.target(), ShardId{2});
      EXPECT_EQ(call_.request().op, Op::undeliver);
      EXPECT_EQ(call_.request().queue, QueueId{7});
      ASSERT_EQ(call_.request().receipts.size(), 3 - c.delivered);
      EXPECT_EQ(call_.request().receipts[0].handle[0], c.delivered + 1);
      ASSERT_EQ(resume(), Next::respond);
    }
    const Answer got = answer();
    EXPECT_EQ(WireReader(got.payload).take<std::uint32_t>(), c.delivered);
    EXPECT_EQ(got.payload.size(), 4 + c.delivered * (each + 10));
  }
}

TEST_F(WireSession, DeletesAndChangesByReceiptAndAnswersEach) {
  const std::uint32_t q = greet_and_open();
  const std::string a(receipt_bytes, 'a');
  const std::string b(receipt_bytes, 'b');
  ASSERT_EQ(begin(WireOp::remove, batch({a, b}), q), Next::route);
  EXPECT_EQ(call_.request().op, Op::remove);
  ASSERT_EQ(call_.request().receipts.size(), 2u);
  EXPECT_EQ(call_.request().receipts[1].handle[0], 'b');
  call_.request().receipts[1].error = Errc::receipt_invalid;
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(answer().payload, std::string("\x02\0\0\0\0\0\x4E\x04", 8)) << "1102 is 0x044E";

  std::string later = b;
  put(later, std::uint32_t{43'200'000});
  std::string too_late = a;
  put(too_late, std::uint32_t{43'200'001});
  ASSERT_EQ(begin(WireOp::change, batch({later, too_late}), q), Next::route);
  EXPECT_EQ(call_.request().op, Op::change_visibility);
  EXPECT_EQ(call_.request().receipts[0].visibility, seconds(43'200));
  EXPECT_EQ(call_.request().receipts[0].error, Errc::ok);
  EXPECT_EQ(call_.request().receipts[1].error, Errc::invalid) << "for the owner to leave alone";
}

TEST_F(WireSession, AnswersWithAChecksumWhenAskedWithOne) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(WireOp::stats, "", q, flag_checksum), Next::route);
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(answer().header.flags, flag_checksum | flag_answer);
  ASSERT_EQ(begin(WireOp::stats, "", q + 1, flag_checksum), Next::respond);
  EXPECT_EQ(answer().header.flags, flag_checksum | flag_answer) << "refusals too";
}

TEST_F(WireSession, PassesOnEveryRefusalOfTheBroker) {
  const std::uint32_t q = greet_and_open();
  for (const Errc code :
       {Errc::overloaded, Errc::no_space, Errc::not_ready, Errc::over_in_flight, Errc::io}) {
    ASSERT_EQ(begin(WireOp::receive, receive(1), q), Next::route);
    call_.request().error = code;
    ASSERT_EQ(resume(), Next::respond);
    EXPECT_EQ(answer().status(), status_of(code));
  }
}

// --- PROTOCOL.md ---

// The bytes of the example with that title: a fenced block of hexadecimal bytes, "#" begins a comment.
std::string example(std::string_view title) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "../../proto/PROTOCOL.md";
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::string line;
  while (std::getline(file, line) && line != "```hex " + std::string(title)) continue;
  std::string bytes;
  while (std::getline(file, line) && line != "```") {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;)
      bytes.push_back(static_cast<char>(std::stoi(word, nullptr, 16)));
  }
  return bytes;
}

TEST_F(WireSession, SpeaksTheWorkedExampleOfTheDocumentByteForByte) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(q, 1u);
  ASSERT_EQ(begin_frame_bytes(example("request")), Next::route);
  ASSERT_EQ(call_.request().sends.size(), 1u);
  EXPECT_EQ(call_.request().sends[0].content.body, "hello");
  EXPECT_EQ(call_.request().sends[0].delay, milliseconds(1500));
  call_.request().sends[0].seq = 42;
  ASSERT_EQ(resume(), Next::respond);
  std::string out;
  call_.write_response(out);
  EXPECT_EQ(out, example("answer"));
}

}  // namespace
}  // namespace pawl

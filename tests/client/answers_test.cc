// SPDX-License-Identifier: Apache-2.0
#include "net/client/answers.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "proto/binary/frames.h"

namespace pawl::client {
namespace {

using Code = Client::Code;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;

std::string text(std::string_view value) {
  std::string out;
  put_short(out, value);
  return out;
}

template <typename... T>
std::string bytes_of(T... values) {
  std::string out;
  put_all(out, values...);
  return out;
}

std::string message_bytes() {
  constexpr std::uint32_t head = 4 | entry_has_attributes | entry_has_system | entry_has_names;
  return bytes_of(std::uint32_t{1}) + std::string(24, 'r') + std::string(16, 'i') +
         bytes_of(std::uint64_t{5}, std::int64_t{10}, std::int64_t{20}, std::uint32_t{2}, head,
                  std::uint32_t{3}, std::uint32_t{2}, std::uint32_t{0x01'01'02'03}) +
         "bodyattsygrpdeo";
}

template <typename Take, typename Into>
std::function<bool(std::string_view)> taker(Take take, Into) {
  return [take](std::string_view payload) {
    Into into{};
    return take(payload, into);
  };
}

TEST(ClientAnswers, EndWithTheirLastFieldAndNowhereElse) {
  constexpr std::uint8_t state = 1;
  constexpr std::uint16_t code = 1100;
  const struct {
    const char* name;
    std::string payload;
    std::function<bool(std::string_view)> take;
  } cases[] = {
      {"queue", std::string(28, '\1'), taker(take_queue, Client::Queue{})},
      {"description",
       bytes_of(std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::int64_t{4},
       std::int64_t{5}, std::uint16_t{1}) +
           text("DelaySeconds") + bytes_of(std::uint32_t{1}) + "9",
       taker(take_description, Client::QueueDescription{})},
      {"names", bytes_of(std::uint8_t{1}, std::uint16_t{2}) + text("a") + text("bc"),
       taker(take_names, Client::QueueList{})},
      {"tags", bytes_of(std::uint16_t{1}) + text("key") + text("value"),
       taker(take_tags, Client::Tags{})},
      {"moves",
       bytes_of(std::uint16_t{1}, std::uint32_t{1}, state, code, std::uint32_t{2}, std::uint64_t{3},
       std::uint64_t{4}, std::int64_t{5}) +
           text("destination"),
       taker(take_moves, std::vector<Client::Move>{})},
      {"replays",
       bytes_of(std::uint16_t{1}, std::uint32_t{1}, state, code, std::uint32_t{2}, std::int64_t{3},
       std::int64_t{4}, std::int64_t{5}, std::uint64_t{6}, std::uint64_t{7}) +
           text("destination") + text("filter"),
       taker(take_replays, std::vector<Client::Replay>{})},
      {"sent", bytes_of(std::uint32_t{1}, code, std::uint64_t{7}) + std::string(16, 'i'),
       taker(take_sent, std::vector<Client::Sent>{})},
      {"messages", message_bytes(), taker(take_messages, std::vector<Client::MessageView>{})},
      {"codes", bytes_of(std::uint32_t{2}, code, code),
       taker(take_codes, std::vector<Client::Code>{})},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_TRUE(c.take(c.payload));
    for (std::size_t size = 0; size < c.payload.size(); ++size)
      EXPECT_FALSE(c.take(c.payload.substr(0, size))) << size << " of " << c.payload.size();
    EXPECT_FALSE(c.take(c.payload + '\0'));
  }
}

TEST(ClientAnswers, HaveTheMemoryOfAQueueSinceVersion2) {
  const std::string old = bytes_of(std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3});
  const std::string payload = old + bytes_of(std::uint64_t{4});
  for (std::size_t size = 0; size <= payload.size() + 1; ++size) {
    Client::Counts counts;
    const bool whole = size == old.size() || size == payload.size();
    EXPECT_EQ(take_counts((payload + '\0').substr(0, size), counts), whole) << size;
    if (!whole) continue;
    EXPECT_EQ(counts.visible, 1u);
    EXPECT_EQ(counts.in_flight, 2u);
    EXPECT_EQ(counts.delayed, 3u);
    EXPECT_EQ(counts.state_bytes, size == old.size() ? 0u : 4u);
  }
}

TEST(ClientAnswers, DescribeAServerOfTheSameMajorVersion) {
  const auto payload = [](std::uint16_t major, std::uint16_t minor) {
    return bytes_of(major, minor, std::uint32_t{3}, frame_bytes_max, std::uint32_t{64},
                    std::uint32_t{1 << 20}, std::uint32_t{1024}, std::uint64_t{99},
                    std::uint32_t{1}, std::uint32_t{2}, std::uint16_t{2}, std::uint16_t{5001},
                    std::uint16_t{5002});
  };
  const auto take = [](const std::string& bytes, Client::Server& server, std::string& challenge) {
    std::uint32_t features = 0;
    std::string_view asked;
    const bool taken = take_server(bytes, server, features, asked);
    challenge = asked;
    return taken && features == 3;
  };
  Client::Server first;
  std::string challenge;
  ASSERT_TRUE(take(payload(binary_major, 0), first, challenge));
  EXPECT_EQ(first.credit_frames, 64u);
  EXPECT_EQ(first.credit_bytes, 1u << 20);
  EXPECT_EQ(first.boot_id, 99u);
  EXPECT_EQ(first.shard, 1u);
  EXPECT_EQ(first.shards, 2u);
  EXPECT_EQ(first.shard_ports, (std::vector<std::uint16_t>{5001, 5002}));
  EXPECT_EQ(challenge, "");

  Client::Server other;
  EXPECT_FALSE(take(payload(binary_major + 1, 0), other, challenge));
  EXPECT_FALSE(take(payload(binary_major, 1), other, challenge)) << "the challenge is missing";
  EXPECT_TRUE(take(payload(binary_major, 1) + text("prove it"), other, challenge));
  EXPECT_EQ(challenge, "prove it");
  EXPECT_TRUE(take(payload(binary_major, 99) + text("") + "later fields", other, challenge));
}

TEST(ClientAnswers, HaveViewsOfEveryPartOfAMessage) {
  const std::string payload = message_bytes();
  std::vector<Client::MessageView> messages;
  ASSERT_TRUE(take_messages(payload, messages));
  ASSERT_EQ(messages.size(), 1u);
  const Client::MessageView& message = messages[0];
  EXPECT_EQ(message.receipt[23], 'r');
  EXPECT_EQ(message.id[15], 'i');
  EXPECT_EQ(message.sequence, 5u);
  EXPECT_EQ(message.sent, 10);
  EXPECT_EQ(message.first_received, 20);
  EXPECT_EQ(message.receive_count, 2u);
  EXPECT_EQ(message.body, "body");
  EXPECT_EQ(message.encoded_attributes, "att");
  EXPECT_EQ(message.encoded_system, "sy");
  EXPECT_EQ(message.group, "grp");
  EXPECT_EQ(message.deduplication_id, "de");
  EXPECT_EQ(message.origin, "o");
  EXPECT_EQ(message.dead_letter_reason, Client::DeadLetterReason::expired);
}

TEST(ClientRequests, EncodeAMessageWithTheWordsOfItsOptionsInOrder) {
  const Client::Attribute attributes[] = {
      {"b", "Binary.x", "22"},
      {"a", "String",   "1" }
  };
  std::string out = "before";
  ASSERT_EQ(put_message(out, {.body = "body",
                              .attributes = attributes,
                              .delay = 5ms,
                              .group = "grp",
                              .deduplication_id = "id"}),
            Code::ok);
  BinaryReader in(std::string_view(out).substr(6));
  EXPECT_EQ(in.take<std::uint32_t>(), 4 | entry_has_attributes | entry_has_delay | entry_has_names);
  const auto encoded = in.take<std::uint32_t>();
  EXPECT_EQ(in.take<std::uint32_t>(), 5u);
  EXPECT_EQ(in.take<std::uint32_t>(), 3u | 2u << 8);
  EXPECT_EQ(in.take_bytes(4), "body");
  const auto decoded = Client::attributes_of(in.take_bytes(encoded));
  ASSERT_EQ(decoded.size(), 2u);
  EXPECT_EQ(decoded[0].name, "a") << "by name";
  EXPECT_EQ(decoded[1].type, "Binary.x");
  EXPECT_EQ(decoded[1].value, "22");
  EXPECT_EQ(in.take_bytes(5), "grpid");
  EXPECT_TRUE(in.finished());

  out.clear();
  ASSERT_EQ(put_message(out, {.body = "b"}), Code::ok);
  EXPECT_EQ(out, bytes_of(std::uint32_t{1}) + "b");
}

TEST(ClientRequests, RefuseAMessageThatHasNoEncoding) {
  const std::string long_name(UINT8_MAX + 1, 'n'), longest_name(UINT8_MAX, 'n');
  const Client::Attribute eleven[11] = {}, ten[10] = {};
  const Client::Attribute long_type[] = {
      {"a", long_name, "v"}
  };
  const std::string longer_name(UINT16_MAX + 1, 'n');
  const Client::Attribute long_attribute[] = {
      {longer_name, "String", "v"}
  };
  const struct {
    const char* name;
    Client::Outgoing message;
    Code code;
  } cases[] = {
      {"ten attributes",       {.body = "b", .attributes = ten},                Code::ok            },
      {"eleven attributes",    {.body = "b", .attributes = eleven},             Code::bad_attributes},
      {"type of an attribute", {.body = "b", .attributes = long_type},          Code::bad_attributes},
      {"name of an attribute", {.body = "b", .attributes = long_attribute},     Code::bad_attributes},
      {"longest group",        {.body = "b", .group = longest_name},            Code::ok            },
      {"group",                {.body = "b", .group = long_name},               Code::invalid       },
      {"deduplication id",     {.body = "b", .deduplication_id = long_name},    Code::invalid       },
      {"longest id",           {.body = "b", .deduplication_id = longest_name}, Code::ok            },
  };
  for (const auto& c : cases) {
    std::string out;
    EXPECT_EQ(put_message(out, c.message), c.code) << c.name;
  }
}

TEST(ClientRequests, CarryATimeToLiveAsASystemAttribute) {
  std::string out;
  ASSERT_EQ(put_message(out, {.body = "b"}, {.time_to_live = 1500ms}), Code::ok);
  BinaryReader in(out);
  EXPECT_EQ(in.take<std::uint32_t>(), 1u | entry_has_system);
  const auto bytes = in.take<std::uint32_t>();
  EXPECT_EQ(in.take_bytes(1), "b");
  EXPECT_EQ(in.left(), bytes);
  EXPECT_EQ(in.take_short(), "x-ttl");
  EXPECT_EQ(in.take<std::uint8_t>(), 6);
  EXPECT_EQ(in.take_bytes(6), "String");
  EXPECT_EQ(in.take<std::uint8_t>(), 1);
  EXPECT_EQ(in.take_long(), "1500ms");
  EXPECT_TRUE(in.finished());
}

TEST(ClientRequests, KeepADurationOutOfRangeOutOfRange) {
  EXPECT_EQ(wire_ms(std::nullopt), binary_queue_default);
  EXPECT_EQ(wire_ms(0ms), 0u);
  EXPECT_EQ(wire_ms(1500ms), 1500u);
  EXPECT_EQ(wire_ms(-1ms), 0u);
  EXPECT_EQ(wire_ms(24h * 365), binary_queue_default - 1) << "not the queue's own setting";
}

TEST(ClientRequests, HaveATimeoutForEachReceiptOnlyToChangeIt) {
  const Client::Receipt receipts[2] = {{1}, {2}};
  std::string change, deletion;
  put_receipts(change, receipts, 250ms);
  put_receipts(deletion, receipts, std::nullopt);
  EXPECT_EQ(change.size(), 4 + 2 * (24 + 4u));
  EXPECT_EQ(deletion.size(), 4 + 2 * 24u);
  BinaryReader in(change);
  EXPECT_EQ(in.take<std::uint32_t>(), 2u);
  EXPECT_EQ(in.take_bytes(24)[0], 1);
  EXPECT_EQ(in.take<std::uint32_t>(), 250u);
  EXPECT_EQ(in.take_bytes(24)[0], 2);
}

TEST(ClientRequests, RefuseMoreQueueAttributesThanTheirCountHolds) {
  std::string out;
  EXPECT_EQ(put_queue_attributes(out, std::vector<Client::QueueAttribute>(UINT16_MAX + 1)),
            Code::too_large);
  EXPECT_EQ(out, "");
  const Client::QueueAttribute one[] = {
      {"DelaySeconds", "9"}
  };
  EXPECT_EQ(put_queue_attributes(out, one), Code::ok);
  BinaryReader in(out);
  EXPECT_EQ(in.take<std::uint16_t>(), 1u);
  EXPECT_EQ(in.take_short(), "DelaySeconds");
  EXPECT_EQ(in.take_long(), "9");
  EXPECT_TRUE(in.finished());
}

}  // namespace
}  // namespace pawl::client

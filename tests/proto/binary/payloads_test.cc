// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/payloads.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace pawl::payload {
namespace {

// Gives each member its own bytes.
template <typename S>
S filled() {
  S s;
  std::uint8_t next = 1;
  static constexpr std::string_view texts[] = {"", "orders", "x", "{\"colour\": [\"red\"]}"};
  S::fields(s, [&next]<typename... T>(T&... field) {
    const auto fill = [&next]<typename F>(F& value) {
      if constexpr (std::is_same_v<F, std::string_view>) {
        value = texts[next++ % std::size(texts)];
      } else if constexpr (std::is_same_v<F, LongText>) {
        value.text = texts[next++ % std::size(texts)];
      } else if constexpr (std::is_integral_v<F>) {
        value = static_cast<F>(0x0102'0304'0506'0708u * next++);
      } else {
        for (std::uint8_t& byte : value) byte = next++;
      }
    };
    (fill(field), ...);
  });
  return s;
}

template <typename S>
class Payload : public ::testing::Test {};
using All =
    ::testing::Types<Hello, HelloResponse, ShardPort, Challenge, Authenticate, QueueAddress, Name,
                     QueueAttribute, Tag, QueueSummary, Counts, StateBytes, QueueTimes, ListQueues,
                     ListSources, NamesResponse, StartMove, StartReplay, ReplayFlags, TaskNumber,
                     TaskCount, Move, Replay, Producer, Sent, Receive, Attempt, Delivery, Deletion,
                     Change, EntryStatus, Subscribe, Unsubscribe, Grant, RefusalPayload>;
TYPED_TEST_SUITE(Payload, All);

TYPED_TEST(Payload, IsDecodedAsItWasEncodedAndFromNoFewerBytes) {
  const auto s = filled<TypeParam>();
  std::string bytes;
  put_struct(bytes, s);
  BinaryReader in(bytes);
  const auto decoded = take_struct<TypeParam>(in);
  EXPECT_TRUE(in.finished());
  TypeParam::fields(s, [&](const auto&... expected) {
    TypeParam::fields(decoded,
                      [&](const auto&... got) { EXPECT_TRUE(((expected == got) && ...)); });
  });
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    BinaryReader cut(std::string_view(bytes).substr(0, size));
    take_struct<TypeParam>(cut);
    EXPECT_FALSE(cut.ok()) << size << " of " << bytes.size() << " bytes";
  }
}

TEST(PayloadRows, AreReadUpToTheirCount) {
  std::string bytes;
  put_count<Tag>(bytes, 2);
  put_struct(bytes, Tag{"colour", "blue"});
  put_struct(bytes, Tag{"size", "xl"});
  EXPECT_EQ(bytes, std::string("\2\0\6\0colour\4\0blue\4\0size\2\0xl", 26));
  const auto keys_in = [](BinaryReader in) {
    std::string keys;
    take_rows<Tag>(in, [&keys](const Tag& tag) { keys.append(tag.key).append(" "); });
    return keys + (in.finished() ? "all" : "cut");
  };
  EXPECT_EQ(keys_in(BinaryReader(bytes)), "colour size all");
  EXPECT_NE(keys_in(BinaryReader(std::string_view(bytes).substr(0, 20))), "colour size all");
}

TEST(PayloadMessage, HasAWordForEachTextThatItHas) {
  for (std::uint32_t parts = 0; parts < 64; ++parts) {
    SCOPED_TRACE(parts);
    const auto text = [parts](std::uint32_t bit, std::string_view value) {
      return (parts & bit) != 0 ? value : std::string_view();
    };
    const MessageTexts texts{.body = "body",
                             .attributes = text(1, "attributes"),
                             .system = text(2, "system"),
                             .group = text(4, "group"),
                             .dedup_id = text(8, "id"),
                             .origin = text(16, "origin"),
                             .reason = (parts & 16) != 0 ? std::uint8_t{1} : std::uint8_t{0}};
    const std::uint32_t delay = (parts & 32) != 0 ? 1500 : binary_queue_default;
    std::string bytes;
    put_message(bytes, texts, delay);
    const bool names = (parts & (4 | 8 | 16)) != 0;
    const std::size_t words = 1u + ((parts & 1) != 0) + ((parts & 2) != 0) + ((parts & 32) != 0);
    BinaryReader in(bytes);
    const auto head = in.take<std::uint32_t>();
    EXPECT_EQ(head & ~entry_bits_known, 0u);
    EXPECT_EQ(names_at(head), 4 * words);
    const MessageWords taken = take_lengths(in, head);
    EXPECT_EQ(in.left() + 4 * (words + (names ? 1 : 0)), bytes.size());
    EXPECT_EQ(taken.delay_ms, delay);
    const MessageTexts got = take_texts(in, taken);
    EXPECT_TRUE(in.finished());
    EXPECT_EQ(got.body, texts.body);
    EXPECT_EQ(got.attributes, texts.attributes);
    EXPECT_EQ(got.system, texts.system);
    EXPECT_EQ(got.group, texts.group);
    EXPECT_EQ(got.dedup_id, texts.dedup_id);
    EXPECT_EQ(got.origin, texts.origin);
    EXPECT_EQ(got.reason, texts.reason);
  }
}

static_assert(struct_bytes<Delivery> == 24 + 16 + 8 + 8 + 8 + 4 + 4);
static_assert(struct_bytes<Sent> == 2 + 8 + 16);

}  // namespace
}  // namespace pawl::payload

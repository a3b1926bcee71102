// SPDX-License-Identifier: Apache-2.0
#include "wal/format/record_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace pawl {
namespace {

constexpr std::uint64_t stream = 0x5eed;

// The body that `write` encodes, without the record's head and padding.
std::vector<std::byte> encoded(const std::function<void(Encoder&)>& write) {
  std::vector<std::byte> bytes(1024, std::byte{0xee});
  Encoder out(bytes.data());
  write(out);
  out.finish(RecordType::purge, 0, stream);
  RecordHead head;
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes.resize(head.length);
  bytes.erase(bytes.begin(), bytes.begin() + head_bytes);
  return bytes;
}

TEST(RecordCodec, NumbersTakeSevenBitsAByte) {
  struct Case {
    std::uint64_t value;
    std::size_t bytes;
  };
  constexpr Case cases[] = {
      {0,                            1               },
      {127,                          1               },
      {128,                          2               },
      {(1 << 14) - 1,                2               },
      {1 << 14,                      3               },
      {(std::uint64_t{1} << 63) - 1, 9               },
      {std::uint64_t{1} << 63,       varint_bytes_max},
      {UINT64_MAX,                   varint_bytes_max},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.value);
    const auto bytes = encoded([&](Encoder& out) { out.varint(c.value); });
    EXPECT_EQ(bytes.size(), c.bytes);
    Decoder in(bytes);
    EXPECT_EQ(in.varint(), c.value);
    EXPECT_TRUE(in.done());
  }
}

TEST(RecordCodec, ANumberBeyond64BitsIsRefused) {
  std::array<std::byte, 11> bytes;
  bytes.fill(std::byte{0xff});
  bytes[9] = std::byte{1};
  Decoder largest(std::span<const std::byte>(bytes).first(10));
  EXPECT_EQ(largest.varint(), UINT64_MAX);
  EXPECT_TRUE(largest.done());
  for (const int tenth : {2, 0x81}) {
    bytes[9] = static_cast<std::byte>(tenth);
    Decoder in(bytes);
    EXPECT_EQ(in.varint(), 0u);
    EXPECT_FALSE(in.ok());
  }
}

TEST(RecordCodec, SmallDifferencesAreSmallWhateverTheirSign) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(std::uint64_t{0} - 1), 1u);
  EXPECT_EQ(zigzag(1), 2u);
  EXPECT_EQ(zigzag(std::uint64_t{0} - 2), 3u);
  for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{1000}, UINT64_MAX}) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{999}, UINT64_MAX, std::uint64_t{1} << 63}) {
      const auto bytes = encoded([&](Encoder& out) { out.delta(value, base); });
      Decoder in(bytes);
      EXPECT_EQ(in.delta(base), value) << "also when the difference wraps";
      EXPECT_TRUE(in.done());
    }
  }
}

TEST(RecordCodec, ValuesOfEveryKindComeBackInTheirOrder) {
  const auto bytes = encoded([](Encoder& out) {
    out.fixed(std::uint16_t{0x1234});
    out.u48((std::uint64_t{1} << 48) - 1);
    out.text<std::uint8_t>("");
    out.text<std::uint32_t>("text");
    out.bytes("the rest");
  });
  EXPECT_EQ(bytes.size(), 2 + 6 + 1 + 4 + 4 + 8u);
  EXPECT_EQ(bytes[0], std::byte{0x34}) << "little endian";
  Decoder in(bytes);
  EXPECT_EQ(in.fixed<std::uint16_t>(), 0x1234);
  EXPECT_EQ(in.u48(), (std::uint64_t{1} << 48) - 1);
  EXPECT_EQ(in.text<std::uint8_t>(), "");
  EXPECT_EQ(in.text<std::uint32_t>(), "text");
  EXPECT_FALSE(in.done());
  EXPECT_EQ(in.rest(), "the rest");
  EXPECT_TRUE(in.done());
}

TEST(RecordCodec, ADecoderStopsForGoodWhereAValueDoesNotFit) {
  const std::array<std::byte, 5> bytes{std::byte{1}, std::byte{2}, std::byte{9}, std::byte{4},
                                       std::byte{5}};
  const std::function<void(Decoder&)> too_long[] = {
      [](Decoder& in) { EXPECT_EQ(in.fixed<std::uint32_t>(), 0u); },
      [](Decoder& in) { EXPECT_EQ(in.u48(), 0u); },
      [](Decoder& in) { EXPECT_EQ(in.text<std::uint8_t>(), ""); },
      [](Decoder& in) { EXPECT_TRUE(in.take(SIZE_MAX).empty()); },
      [](Decoder& in) { in.fail(); },
  };
  for (const auto& read : too_long) {
    Decoder in(bytes);
    EXPECT_EQ(in.fixed<std::uint16_t>(), 0x0201);
    read(in);
    EXPECT_FALSE(in.ok());
    EXPECT_FALSE(in.done());
    EXPECT_EQ(in.fixed<std::uint8_t>(), 0) << "it would fit";
    EXPECT_EQ(in.varint(), 0u);
    EXPECT_EQ(in.rest(), "");
  }
}

TEST(RecordCodec, ARecordIsPaddedWithZerosToEightBytes) {
  for (std::size_t size = 0; size < 17; ++size) {
    std::vector<std::byte> bytes(64, std::byte{0xee});
    Encoder out(bytes.data());
    out.bytes(std::string(size, 'x'));
    const std::size_t padded = out.finish(RecordType::row, 7, stream);
    RecordHead head;
    std::memcpy(&head, bytes.data(), sizeof head);
    EXPECT_EQ(head.type, static_cast<std::uint8_t>(RecordType::row));
    EXPECT_EQ(head.flags, 0);
    EXPECT_EQ(head.fields, 7);
    EXPECT_EQ(head.length, head_bytes + size);
    EXPECT_EQ(head.hash, record_hash(bytes.data(), head.length, stream));
    EXPECT_EQ(padded % 8, 0u);
    EXPECT_LT(padded, head.length + 8);
    for (std::size_t i = head.length; i < padded; ++i) EXPECT_EQ(bytes[i], std::byte{0});
    EXPECT_EQ(bytes[padded], std::byte{0xee}) << "not ours";
  }
}

TEST(RecordCodec, TheHashCoversEveryByteButItsOwnFieldAndTheStream) {
  std::vector<std::byte> bytes(64);
  Encoder out(bytes.data());
  out.bytes("some bytes of a record");
  out.finish(RecordType::row, 0, stream);
  RecordHead head;
  std::memcpy(&head, bytes.data(), sizeof head);
  EXPECT_NE(record_hash(bytes.data(), head.length, stream + 1), head.hash);
  constexpr std::size_t field = offsetof(RecordHead, hash);
  for (std::size_t i = 0; i < head.length; ++i) {
    auto changed = bytes;
    changed[i] ^= std::byte{0x10};
    const bool covered = record_hash(changed.data(), head.length, stream) != head.hash;
    EXPECT_EQ(covered, i < field || i >= field + sizeof head.hash) << "byte " << i;
  }
}

TEST(RecordCodecDeathTest, AValueThatDoesNotFitItsFieldIsOurMistake) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  std::vector<std::byte> bytes(1024);
  Encoder out(bytes.data());
  EXPECT_DEATH(out.u48(std::uint64_t{1} << 48), "281474976710656");
  EXPECT_DEATH(out.text<std::uint8_t>(std::string(256, 'x')), "256");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/frames.h"

#include <gtest/gtest.h>

#include <set>

namespace pawl {
namespace {

std::string frame_of(const FrameHeader& header, std::string_view payload) {
  std::string out;
  const std::size_t begin = begin_frame(out, header);
  out.append(payload);
  finish_frame(out, begin);
  return out;
}

TEST(FrameHeader, IsSixteenLittleEndianBytes) {
  const FrameHeader header{
      .op = 16, .status = 0x0201, .correlation = 0x06050403, .queue = 0x0A090807};
  const std::string bytes = frame_of(header, "x");
  EXPECT_EQ(bytes, std::string("\x11\0\0\0\x10\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0Ax", 17));
  const auto read = parse_header(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->length, 17u);
  EXPECT_EQ(read->op, 16);
  EXPECT_EQ(read->status, 0x0201);
  EXPECT_EQ(read->correlation, 0x06050403u);
  EXPECT_EQ(read->queue, 0x0A090807u);
}

TEST(FrameHeader, IsRefusedWhenItsLengthIsNotOneAFrameCanHave) {
  struct Case {
    std::uint32_t length;
    std::uint8_t flags;
    bool taken;
  };
  constexpr Case cases[] = {
      {0,                   0,             false},
      {15,                  0,             false},
      {16,                  0,             true },
      {frame_bytes_max,     0,             true },
      {frame_bytes_max + 1, 0,             false},
      {0xFFFF'FFFF,         0,             false},
      {23,                  flag_checksum, false},
      {24,                  flag_checksum, true },
  };
  for (const Case& c : cases) {
    std::string bytes(frame_header_bytes, '\0');
    std::memcpy(bytes.data(), &c.length, 4);
    bytes[5] = static_cast<char>(c.flags);
    EXPECT_EQ(parse_header(bytes).has_value(), c.taken) << c.length;
  }
}

TEST(Frame, GivesItsPayloadBack) {
  for (const std::uint8_t flags : {std::uint8_t{0}, flag_checksum}) {
    const std::string bytes = frame_of({.op = 2, .flags = flags}, "payload");
    const auto header = parse_header(bytes);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->length, bytes.size());
    EXPECT_EQ(payload_of(*header, bytes), "payload");
  }
}

TEST(Frame, OfAnotherSizeThanItsHeaderSaysIsRefused) {
  const std::string bytes = frame_of({.op = 2}, "payload");
  const auto header = parse_header(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(payload_of(*header, bytes + "x"), std::unexpected(Status::bad_frame));
  EXPECT_EQ(payload_of(*header, std::string_view(bytes).substr(1)),
            std::unexpected(Status::bad_frame));
}

TEST(Frame, ShowsEveryFlippedBitWhenItHasAChecksum) {
  const std::string good = frame_of({.op = 2, .flags = flag_checksum, .correlation = 7}, "payload");
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const auto header = parse_header(bad);
    if (!header) continue;                           // the length
    if (!(header->flags & flag_checksum)) continue;  // the flag itself
    EXPECT_FALSE(payload_of(*header, bad)) << "bit " << bit;
  }
}

TEST(Refusal, SaysWhenToTryAgainAndKeepsTheCorrelation) {
  std::string out;
  write_refusal(out, {.op = 16, .correlation = 9, .queue = 3}, Status::no_memory, 5);
  const auto header = parse_header(out);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->flags, flag_answer);
  EXPECT_EQ(header->status, 2001);
  EXPECT_EQ(header->correlation, 9u);
  const auto payload = payload_of(*header, out);
  ASSERT_TRUE(payload);
  BinaryReader in(*payload);
  EXPECT_EQ(in.take<std::uint32_t>(), retry_after_ms(Status::no_memory));
  EXPECT_EQ(in.take<std::uint32_t>(), 5u);
  EXPECT_TRUE(in.finished());
}

TEST(BinaryReader, ReadsZeroesPastTheEndAndRemembersIt) {
  BinaryReader in(std::string_view("\x01\x02\x03", 3));
  EXPECT_EQ(in.take<std::uint16_t>(), 0x0201);
  EXPECT_TRUE(in.ok());
  EXPECT_FALSE(in.finished());
  EXPECT_EQ(in.take<std::uint16_t>(), 0);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.take<std::uint8_t>(), 0) << "the byte that was left is not read as something else";
  EXPECT_EQ(in.take_bytes(1), "");
  EXPECT_FALSE(in.finished());
}

TEST(BinaryReader, TakesCountedTexts) {
  std::string bytes;
  put_short(bytes, "ab");
  put_long(bytes, "cde");
  BinaryReader in(bytes);
  EXPECT_EQ(in.take_short(), "ab");
  EXPECT_EQ(in.take_long(), "cde");
  EXPECT_TRUE(in.finished());
  BinaryReader cut(std::string_view(bytes).substr(0, bytes.size() - 1));
  EXPECT_EQ(cut.take_short(), "ab");
  EXPECT_EQ(cut.take_long(), "");
  EXPECT_FALSE(cut.ok());
}

TEST(WriteRefusal, RequiresAReason) {
  std::string out;
  EXPECT_DEATH(write_refusal(out, {}, Status::ok), "a refusal without a reason");
}

TEST(FinishFrame, RequiresItsHeader) {
  std::string out(frame_header_bytes, '\0');
  EXPECT_DEATH(finish_frame(out, 1), "from 1 to 16");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/format/format.h"

#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/queue/effects.h"
#include "wal/format/records.h"

namespace pawl {
namespace {

constexpr std::uint64_t stream = 0x0123456789abcdef;

// The frame of FORMAT.md: one message, "hello", of queue 7.
std::vector<std::byte> example() {
  std::vector<std::byte> frame(block_bytes);
  Content content;
  content.body = "hello";
  content.sender = "me";
  const SendRecord send{QueueId{7}, 1, Instant{1'700'000'000'000}, Instant{1'700'000'060'000},
                        &content};
  const std::size_t records = encode_send(frame.data() + log_frame_header_bytes, send, stream);
  LogFrameHeader header;
  header.length = static_cast<std::uint32_t>(log_frame_header_bytes + records);
  header.lsn = 8192;
  header.stream = stream;
  header.epoch = 3;
  header.prev = 4096;
  header.records = 1;
  header.wall_ms = 1'700'000'000'001;
  header.durable = 8192;
  std::memcpy(frame.data(), &header, sizeof header);
  seal_frame({frame.data(), header.length});
  return frame;
}

// The bytes of the block fenced as ```hex in FORMAT.md; text behind a | is a remark.
std::vector<std::byte> documented() {
  std::ifstream file(PAWL_SOURCES "/wal/FORMAT.md");
  std::vector<std::byte> bytes;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) inside = line == "```hex";
    if (!inside || line.starts_with("```")) continue;
    std::istringstream words(line.substr(0, line.find('|')));
    for (std::string word; words >> word;)
      bytes.push_back(static_cast<std::byte>(std::stoi(word, nullptr, 16)));
  }
  return bytes;
}

TEST(Format, TheWorkedExampleIsWhatTheCodeWrites) {
  const auto want = documented();
  const auto frame = example();
  LogFrameHeader header;
  std::memcpy(&header, frame.data(), sizeof header);
  ASSERT_EQ(want.size(), header.length);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(frame[i], want[i]) << "byte " << i;
}

TEST(Format, AWholeFrameIsAcceptedWithItsHeader) {
  const auto frame = example();
  const FrameCheck check = check_frame(frame, stream, 8192);
  EXPECT_EQ(check.fault, LogFault::none);
  EXPECT_EQ(check.header.epoch, 3u);
  EXPECT_EQ(check.header.prev, 4096u);
  EXPECT_EQ(check.header.durable, 8192u);
}

TEST(Format, EveryFlippedBitOfAFramesBlockIsNoticed) {
  const auto good = example();
  for (std::size_t i = 0; i < block_bytes * 8; ++i) {
    auto bad = good;
    bad[i / 8] ^= static_cast<std::byte>(1u << (i % 8));
    ASSERT_NE(check_frame(bad, stream, 8192).fault, LogFault::none) << "bit " << i;
  }
}

TEST(Format, AFrameIsJudgedByWhereItShouldBe) {
  const auto good = example();
  const auto changed = [&](std::size_t offset, std::uint8_t value, bool sealed) {
    auto bytes = good;
    bytes[offset] = std::byte{value};
    LogFrameHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (sealed) seal_frame({bytes.data(), header.length});
    return bytes;
  };
  struct Case {
    const char* name;
    std::vector<std::byte> bytes;
    std::uint64_t stream;
    Lsn lsn;
    LogFault want;
  };
  const Case cases[] = {
      {"as written", good, stream, 8192, LogFault::none},
      {"zeros", std::vector<std::byte>(4096), stream, 8192, LogFault::magic},
      {"nothing", {}, stream, 8192, LogFault::magic},
      {"half a header", {good.begin(), good.begin() + 63}, stream, 8192, LogFault::magic},
      {"of another log", good, stream + 1, 8192, LogFault::stream},
      {"of another place", good, stream, 12288, LogFault::lsn},
      {"cut off", {good.begin(), good.begin() + 100}, stream, 8192, LogFault::length},
      {"shorter than itself", changed(4, 63, false), stream, 8192, LogFault::length},
      {"of a newer version", changed(36, 2, true), stream, 8192, LogFault::version},
      {"with a flag", changed(37, 1, true), stream, 8192, LogFault::version},
      {"with dirt behind it", changed(4000, 1, false), stream, 8192, LogFault::padding},
      {"with a wrong version", changed(36, 2, false), stream, 8192, LogFault::hash},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(check_frame(c.bytes, c.stream, c.lsn).fault, c.want) << c.name;
  }
}

TEST(Format, ALengthBeyondTheExtentIsNotFollowed) {
  auto bytes = example();
  const std::uint32_t length = UINT32_MAX;
  std::memcpy(bytes.data() + 4, &length, sizeof length);
  EXPECT_EQ(check_frame(bytes, stream, 8192).fault, LogFault::length);
}

TEST(Format, TheBlocksComeBackAndEveryFlippedBitOfThemIsNoticed) {
  std::vector<std::byte> bytes(block_bytes);
  const auto block = [&] { return ConstBlock(bytes.data(), block_bytes); };
  write_segment_header(Block(bytes.data(), block_bytes), {stream, 42, 42 << 20});
  EXPECT_EQ(read_segment_header(block())->number, 42u);
  EXPECT_EQ(read_segment_header(block())->base, 42u << 20);
  EXPECT_EQ(read_manifest(block()).error().code, Errc::corrupt) << "not a manifest";
  for (std::size_t i = 0; i < block_bytes * 8; ++i) {
    bytes[i / 8] ^= static_cast<std::byte>(1u << (i % 8));
    ASSERT_FALSE(read_segment_header(block())) << "bit " << i;
    bytes[i / 8] ^= static_cast<std::byte>(1u << (i % 8));
  }
  const Manifest manifest{stream, 64 << 20, 2 << 20, 9, 8, 7, 6, 5, 0};
  write_manifest(Block(bytes.data(), block_bytes), manifest);
  const auto read = read_manifest(block());
  ASSERT_TRUE(read);
  EXPECT_EQ(std::memcmp(&*read, &manifest, sizeof manifest), 0);
  for (std::size_t i = 0; i < block_bytes * 8; ++i) {
    bytes[i / 8] ^= static_cast<std::byte>(1u << (i % 8));
    ASSERT_FALSE(read_manifest(block())) << "bit " << i;
    bytes[i / 8] ^= static_cast<std::byte>(1u << (i % 8));
  }
}

// From the first frame of a segment of few usable bytes to that of the next, `prev` is nearly a
// whole segment.
TEST(Format, SegmentsAreSoSmallThatPrevHoldsTheDistanceOfNeighbours) {
  constexpr std::uint64_t too_large = std::uint64_t{1} << 32;
  for (const std::size_t extent : {extent_bytes_min, extent_bytes_max}) {
    SCOPED_TRACE(extent);
    const Geometry largest{1, too_large - extent, extent};
    EXPECT_TRUE(largest.valid());
    const Lsn first = largest.frame_position(0);
    const Lsn next = largest.frame_position(largest.segment_base(1));
    LogFrameHeader header;
    header.prev = static_cast<std::uint32_t>(next - first);
    EXPECT_EQ(next - header.prev, first);
    EXPECT_FALSE((Geometry{1, too_large, extent}.valid()));
    EXPECT_FALSE((Geometry{1, 2 * too_large, extent}.valid()));
  }
}

// Whatever instructions the processor has, the hash is that of the header's plain code.
TEST(Format, TheHashDoesNotDependOnTheProcessor) {
  std::vector<std::byte> bytes(3000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const std::span data = std::span(bytes).first(length);
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{length} << 40 | 9})
      ASSERT_EQ(hash_bytes(data, seed), XXH3_64bits_withSeed(data.data(), length, seed)) << length;
  }
}

TEST(Format, ABlockOfANewerVersionIsCalledThat) {
  std::vector<std::byte> bytes(block_bytes);
  write_manifest(Block(bytes.data(), block_bytes), {});
  const std::uint32_t version = block_version + 1;
  std::memcpy(bytes.data() + 4, &version, sizeof version);
  std::memset(bytes.data() + 8, 0, 8);
  const std::uint64_t hash = hash_bytes(bytes, 0);
  std::memcpy(bytes.data() + 8, &hash, sizeof hash);
  EXPECT_EQ(read_manifest(ConstBlock(bytes.data(), block_bytes)).error().code, Errc::version);
}

TEST(Format, OnlyTwelveDigitsAndSegNameASegment) {
  struct Case {
    const char* name;
    std::int64_t want;
  };
  constexpr Case cases[] = {
      {"000000000000.seg",     0           },
      {"000000000042.seg",     42          },
      {"999999999999.seg",     999999999999},
      {"00000000042.seg",      -1          },
      {"0000000000042.seg",    -1          },
      {"-00000000042.seg",     -1          },
      {"+00000000042.seg",     -1          },
      {"00000000004x.seg",     -1          },
      {"000000000042.seg.bak", -1          },
      {"000000000042.sag",     -1          },
      {"MANIFEST.a",           -1          },
      {"",                     -1          },
  };
  for (const Case& c : cases) EXPECT_EQ(segment_number(c.name), c.want) << c.name;
  EXPECT_EQ(segment_name(42), "000000000042.seg");
}

}  // namespace
}  // namespace pawl

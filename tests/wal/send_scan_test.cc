// SPDX-License-Identifier: Apache-2.0
#include "wal/format/send_scan.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "wal/format/records.h"

namespace pawl {
namespace {

constexpr Geometry geometry{0x5eed, 64 << 10, 16 << 10};
constexpr QueueId queue{7};
using Seqs = std::vector<Seq>;

struct FrameSpec {
  Lsn at = 0;
  Seqs seqs;  // its messages; a delete record precedes each
  std::uint32_t epoch = 1;
  std::uint64_t stream = geometry.stream;
};

// Extents 1 and 2 of a log, as read from the disk.
class SendScanTest : public testing::Test {
 protected:
  static constexpr std::uint64_t first_extent = 1;

  std::span<std::byte> extent(std::uint64_t number) {
    return std::span(bytes_).subspan((number - first_extent) * geometry.extent_bytes,
                                     geometry.extent_bytes);
  }
  std::byte* at(Lsn lsn) { return bytes_.data() + (lsn - first_extent * geometry.extent_bytes); }
  static std::string body(Seq seq) { return "body " + std::to_string(seq); }

  // Returns the position behind the frame.
  Lsn put(const FrameSpec& spec) {
    std::byte* const frame = at(spec.at);
    std::byte* end = frame + log_frame_header_bytes;
    for (const Seq seq : spec.seqs) {
      const DeleteRecord deletion{queue, seq};
      end += encode_deletes(end, {&deletion, 1}, spec.stream);
      const std::string text = body(seq);
      const Content content{.body = text};
      end += encode_send(end, {queue, seq, Instant{seconds(1).ms}, {}, &content}, spec.stream);
    }
    LogFrameHeader header;
    header.length = static_cast<std::uint32_t>(end - frame);
    header.lsn = spec.at;
    header.stream = spec.stream;
    header.epoch = spec.epoch;
    header.records = static_cast<std::uint32_t>(2 * spec.seqs.size());
    std::memcpy(frame, &header, sizeof header);
    seal_frame({frame, header.length});
    return align_up(spec.at + header.length, block_bytes);
  }
  Seqs scan(std::uint64_t number) {
    scan_.begin_extent(number, extent(number));
    Seqs seqs;
    FoundSend found;
    while (scan_.next(found)) {
      EXPECT_EQ(found.stored.queue, queue);
      EXPECT_EQ(found.stored.content.body, body(found.stored.seq));
      EXPECT_EQ(found.record.data(), at(found.position));
      seqs.push_back(found.stored.seq);
    }
    EXPECT_EQ(scan_.at(), (number + 1) * geometry.extent_bytes) << "all of it";
    return seqs;
  }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(2 * geometry.extent_bytes);
  SendScan scan_{geometry};
  const Lsn begin_ = first_extent * geometry.extent_bytes;
};

TEST_F(SendScanTest, FindsTheSendsOfAllFramesAndNoOtherRecords) {
  const Lsn second = put({
      begin_, {1, 2, 3}
  });
  const Lsn third = put({second, {}});
  put({third, {4}});
  scan_.begin(0);
  EXPECT_EQ(scan(1), (Seqs{1, 2, 3, 4}));
  EXPECT_EQ(scan_.damaged(), 0u);
}

TEST_F(SendScanTest, FindsNothingInAnEmptyExtent) {
  scan_.begin(0);
  EXPECT_TRUE(scan(1).empty());
  EXPECT_EQ(scan_.damaged(), 0u);
}

TEST_F(SendScanTest, BeginsBehindTheHeaderOfASegment) {
  SendScan scan(geometry);
  scan.begin(0);
  scan.begin_extent(4, extent(1));  // the first of segment 1
  EXPECT_EQ(scan.at(), geometry.segment_bytes + block_bytes);
}

TEST_F(SendScanTest, StandsAtTheNextRecordWhileItIsInAFrame) {
  put({
      begin_, {1, 2}
  });
  scan_.begin(0);
  scan_.begin_extent(1, extent(1));
  EXPECT_EQ(scan_.at(), begin_);
  FoundSend first, second;
  ASSERT_TRUE(scan_.next(first));
  EXPECT_EQ(scan_.at(), first.position + align_record(first.record.size()));
  ASSERT_TRUE(scan_.next(second));
  EXPECT_EQ(scan_.at(), begin_ + block_bytes) << "the frame is read";
}

TEST_F(SendScanTest, LeavesAFrameForAnotherExtent) {
  put({
      begin_, {1, 2}
  });
  put({
      begin_ + geometry.extent_bytes, {3, 4}
  });  // its records lie where those of the first lie
  scan_.begin(0);
  scan_.begin_extent(1, extent(1));
  FoundSend found;
  ASSERT_TRUE(scan_.next(found));
  EXPECT_EQ(scan(2), (Seqs{3, 4}));
}

TEST_F(SendScanTest, SkipsADamagedFrameAndCountsItsBlocks) {
  const Lsn second = put({begin_, {1}});
  const Lsn third = put({second, {2}});
  put({third, {3}});
  at(second)[log_frame_header_bytes + 3] ^= std::byte{1};
  scan_.begin(0);
  EXPECT_EQ(scan(1), (Seqs{1, 3}));
  EXPECT_EQ(scan_.damaged(), block_bytes);
}

TEST_F(SendScanTest, DoesNotCountDamageBeforeItsBegin) {
  const Lsn second = put({begin_, {1}});
  put({second, {2}});
  at(begin_)[log_frame_header_bytes + 3] ^= std::byte{1};
  scan_.begin(second);
  EXPECT_EQ(scan(1), (Seqs{2}));
  EXPECT_EQ(scan_.damaged(), 0u);
}

TEST_F(SendScanTest, SkipsAFrameOfAnOlderEpochThanOneBeforeIt) {
  Lsn next = put({begin_, {1}, 3});
  next = put({next, {2}, 2});
  put({next, {3}, 3});
  const Lsn other = begin_ + geometry.extent_bytes;
  put({put({other, {4}, 2}), {5}, 4});
  scan_.begin(0);
  EXPECT_EQ(scan(1), (Seqs{1, 3}));
  EXPECT_EQ(scan(2), (Seqs{5})) << "the epoch holds in the next extent";
  EXPECT_EQ(scan_.damaged(), 0u);
  scan_.begin(0);
  EXPECT_EQ(scan(2), (Seqs{4, 5})) << "a new scan knows no epoch";
}

TEST_F(SendScanTest, SkipsAFrameOfAnotherLogOrFromAnotherPosition) {
  const Lsn second = put({begin_, {1}, 1, geometry.stream + 1});
  const Lsn third = put({second, {2}});
  std::memcpy(at(third), at(second), block_bytes);
  put({third + block_bytes, {3}});
  scan_.begin(0);
  EXPECT_EQ(scan(1), (Seqs{2, 3}));
  EXPECT_EQ(scan_.damaged(), 0u);
}

}  // namespace
}  // namespace pawl

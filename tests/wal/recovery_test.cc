// SPDX-License-Identifier: Apache-2.0
#include "wal/recovery.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/wal/log_fixture.h"

namespace pawl {
namespace {

constexpr const char* first_segment = "000000000000.seg";

class Recover : public LogTest {
 protected:
  Recover() { options.spare_segments = 3; }  // enough for the few messages of a test
  // Sends messages 1 to n; each is durable in a frame of its own before the next is sent.
  void fill(Seq n, std::size_t bytes = 40) {
    open();
    settle();
    for (Seq seq = 1; seq <= n; ++seq) send(seq, body_of(seq, bytes));
  }
  void damage(const std::string& name, std::uint64_t offset, unsigned bit = 0) {
    disk->content(name).at(offset) ^= static_cast<std::byte>(1u << bit);
  }
  void expect_messages(Seq n, std::size_t bytes = 40) {
    ASSERT_EQ(found.messages.size(), n);
    for (Seq seq = 1; seq <= n; ++seq)
      EXPECT_EQ(found.messages.at({7, seq}).body, body_of(seq, bytes));
  }
  // Sends messages 3 and 4 in two concurrent writes; the second finishes first.
  void send_two(std::string_view third, std::string_view fourth) {
    disk->hold = true;
    for (const auto& [seq, body] : {
             std::pair<Seq, std::string_view>{3, third },
              {4, fourth}
    }) {
      append_send(seq, body);
      log->flush_all();
      pump();
    }
    ASSERT_EQ(disk->under_way(), 2u);
    disk->finish(1);
    disk->finish(0);
    disk->hold = false;
  }
  // The position of frame i (from 0) of a filled log in its first segment.
  static std::uint64_t frame(std::uint64_t i) { return block_bytes * (i + 1); }
  LogFrameHeader header(std::uint64_t offset) {
    LogFrameHeader read;
    std::memcpy(&read, disk->content(first_segment).data() + offset, sizeof read);
    return read;
  }
};

TEST_F(Recover, AnEmptyDirectoryBecomesALog) {
  open();
  EXPECT_TRUE(report.created);
  EXPECT_TRUE(disk->files.contains("MANIFEST.a"));
  EXPECT_TRUE(disk->files.contains("MANIFEST.b"));
  EXPECT_EQ(disk->content(first_segment).size(), options.segment_bytes);
  open();
  EXPECT_FALSE(report.created);
  EXPECT_EQ(report.frames, 0u);
  EXPECT_EQ(report.torn_at, 0u);
}

TEST_F(Recover, EverythingAppendedComesBackInOrder) {
  open();
  settle();
  send(1, "one");
  send(2, "two");
  append_receive(2);
  append_delete(1);
  effects.clear();
  effects.purges.push_back({QueueId{8}, 100, now});
  log->append(effects, now);
  settle();
  const Lsn end = log->durable();
  open();
  ASSERT_EQ(found.messages.size(), 1u);
  EXPECT_EQ(found.messages.at({7, 2}).body, "two");
  EXPECT_EQ(found.received.at({7, 2}).deadline, now + seconds(30));
  EXPECT_EQ(report.newest, now);
  EXPECT_EQ(log->durable(), end);
  EXPECT_EQ(log->appended(), end);
}

TEST_F(Recover, OpeningTwiceFindsTheSame) {
  fill(5);
  open();
  const auto once = found.messages;
  open();
  EXPECT_EQ(found.messages, once);
  expect_messages(5);
}

TEST_F(Recover, WritingGoesOnBehindWhatWasFound) {
  fill(3);
  for (Seq seq = 4; seq <= 8; ++seq) {
    open();
    expect_messages(seq - 1);
    send(seq, body_of(seq, 40));
  }
  open();
  expect_messages(8);
}

TEST_F(Recover, AFlippedBitIsFoundAndNoWrongBodyIsEverRead) {
  constexpr Seq n = 10;
  fill(n);
  const Files good = keep();
  std::set<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i < block_bytes; ++i) offsets.insert(i);
  for (std::uint64_t f = 0; f < n; ++f) {
    for (std::uint64_t i = 0; i < 200; ++i) offsets.insert(frame(f) + i);
    for (std::uint64_t i = 200; i < block_bytes; i += 61) offsets.insert(frame(f) + i);
  }
  for (const std::uint64_t offset : offsets) {
    put_back(good);
    damage(first_segment, offset, static_cast<unsigned>(offset % 8));
    const Errc got = try_open();
    if (offset < frame(n - 1)) {
      ASSERT_EQ(got, Errc::corrupt) << offset;
      ASSERT_NE(complaint.find(first_segment), std::string::npos) << complaint;
    } else {  // nothing proves the last frame: its write may have been in progress
      ASSERT_EQ(got, Errc::ok) << offset << complaint;
      const std::uint64_t i = offset - frame(n - 1);
      const bool ours =
          (i >= 4 && i < 8) || i >= 24;  // magic, lsn and stream identify a frame of this position
      ASSERT_EQ(report.torn_at != 0, ours) << i;
      expect_messages(n - 1);
    }
  }
}

TEST_F(Recover, DamageNamesFileAndOffsetAndTheWitness) {
  fill(4);
  damage(first_segment, frame(1) + 100);
  EXPECT_EQ(try_open(), Errc::corrupt);
  EXPECT_NE(complaint.find("000000000000.seg offset 8192: the frame's checksum does not match"),
            std::string::npos)
      << complaint;
  EXPECT_NE(complaint.find("acknowledged frames follow at 000000000000.seg offset 12288"),
            std::string::npos)
      << complaint;
}

TEST_F(Recover, EveryTruncationOfASegmentIsRefused) {
  fill(10);
  log.reset();
  auto& bytes = disk->content(first_segment);
  for (std::size_t size = bytes.size() - 1; size > 0;
       size -= std::min<std::size_t>(size, size > 9000 ? 509 : 7)) {
    bytes.resize(size);
    ASSERT_EQ(try_open(), Errc::corrupt) << size;
    ASSERT_NE(complaint.find(first_segment), std::string::npos) << complaint;
  }
}

TEST_F(Recover, ATornFrameIsCutOffWhateverPartOfItArrived) {
  fill(3);
  const Files before = keep();
  send(4, body_of(4, 9000));  // three blocks
  const Files after = keep();
  for (unsigned arrived = 0; arrived < 8; ++arrived) {
    SCOPED_TRACE(arrived);
    Files torn = before;
    for (unsigned block = 0; block < 3; ++block) {
      const std::uint64_t at = frame(3) + block * block_bytes;
      if (!(arrived & (1u << block))) continue;
      std::memcpy(torn[first_segment].data() + at, after.at(first_segment).data() + at,
                  block_bytes);
    }
    put_back(torn);
    open();
    if (arrived == 7) {
      EXPECT_EQ(found.messages.size(), 4u);
      EXPECT_EQ(report.torn_at, 0u);
      continue;
    }
    expect_messages(3);
    EXPECT_EQ(report.torn_at, arrived & 1 ? frame(3) : 0);
    send(4, body_of(4, 40));
    open();
    expect_messages(4);
  }
}

// The second of two writes arrives, the first does not. A new frame has the first one's position
// and size, so the second frame's position, hash and prev are valid: only its epoch is not.
TEST_F(Recover, AFrameFromBeforeTheTearIsNeverAcceptedAgain) {
  fill(2);
  const Files before = keep();
  send_two("lost", "stale");
  Files torn = keep();
  std::memcpy(torn[first_segment].data() + frame(2), before.at(first_segment).data() + frame(2),
              block_bytes);
  put_back(torn);
  open();
  expect_messages(2);
  EXPECT_EQ(report.torn_at, frame(2));
  const std::uint32_t old_epoch = header(frame(3)).epoch;
  send(3, "new!");
  EXPECT_GT(header(frame(2)).epoch, old_epoch);
  EXPECT_EQ(header(frame(3)).prev, block_bytes) << "the stale frame would follow";
  open();
  EXPECT_EQ(found.messages.size(), 3u);
  EXPECT_EQ(found.messages.at({7, 3}).body, "new!");
  EXPECT_FALSE(found.messages.contains({7, 4}));
}

// Only trailing zeros of the first of two later writes arrive. They repair the padding that had the
// old frame cut off, and the second write would follow that frame.
TEST_F(Recover, AFrameThatWasCutOffIsNotBelievedWhenItIsWholeAgain) {
  fill(2);
  send(3, "lost");
  const Files whole = keep();
  damage(first_segment, frame(3) - 1);
  open();
  expect_messages(2);
  EXPECT_EQ(report.torn_at, frame(2));
  send_two("new!", "new!");
  Files again = keep();
  std::memcpy(again[first_segment].data() + frame(2), whole.at(first_segment).data() + frame(2),
              block_bytes);
  put_back(again);
  EXPECT_GT(header(frame(3)).epoch, header(frame(2)).epoch);
  EXPECT_EQ(header(frame(3)).prev, block_bytes) << "it would follow";
  open();
  expect_messages(2);
  EXPECT_EQ(report.torn_at, frame(2));
  send(3, body_of(3, 40));
  open();
  expect_messages(3);
}

// The next record does not fit into the extent and begins another one, so that nothing ever
// overwrites the frame that was cut off.
TEST_F(Recover, AFrameThatWasCutOffIsNotBelievedWhenTheLogHasGoneOnBehindIt) {
  fill(2);
  send(3, "lost");
  const Files whole = keep();
  damage(first_segment, frame(3) - 1);
  open();
  log.reset();
  Files again = keep();
  std::memcpy(again[first_segment].data() + frame(2), whole.at(first_segment).data() + frame(2),
              block_bytes);
  put_back(again);
  open();
  expect_messages(2);
  send(3, body_of(3, 9000));
  ASSERT_EQ(header(options.extent_bytes).magic, frame_magic);
  for (int i = 0; i < 3; ++i) {  // from the second startup on the manifest proves it
    open();
    EXPECT_EQ(found.messages.size(), 3u) << complaint;
  }
}

TEST_F(Recover, AFrameMissingBeforeAnExtentsEndIsNoticed) {
  fill(1);
  send(2, body_of(2, 3000));
  send(3, body_of(3, 9000));  // does not fit: it begins the next extent
  send(4, "last");
  ASSERT_EQ(header(options.extent_bytes).magic, frame_magic);
  const Files good = keep();
  std::memset(disk->content(first_segment).data() + frame(1), 0, block_bytes);
  EXPECT_EQ(try_open(), Errc::corrupt);
  put_back(good);
  open();
  EXPECT_EQ(found.messages.size(), 4u);
}

TEST_F(Recover, AFrameOfANewerVersionIsCalledThat) {
  fill(3);
  LogFrameHeader newer = header(frame(2));
  newer.version = frame_version + 1;
  std::byte* at = disk->content(first_segment).data() + frame(2);
  std::memcpy(at, &newer, sizeof newer);
  seal_frame({at, newer.length});
  EXPECT_EQ(try_open(), Errc::version);
  EXPECT_NE(complaint.find("offset 12288"), std::string::npos) << complaint;
}

TEST_F(Recover, AfterACleanCloseTheLastFrameIsVouchedFor) {
  fill(3);
  ASSERT_TRUE(log->close_clean());
  log.reset();
  damage(first_segment, frame(2) + 100);
  EXPECT_EQ(try_open(), Errc::corrupt);
  EXPECT_NE(complaint.find("the manifest says"), std::string::npos) << complaint;
}

TEST_F(Recover, WhatWasFoundAtOneStartIsVouchedForAtTheNext) {
  fill(3);
  open();
  log.reset();
  damage(first_segment, frame(2) + 100);
  EXPECT_EQ(try_open(), Errc::corrupt);
}

TEST_F(Recover, OneDamagedManifestDoesNotMatterAndTwoRefuse) {
  fill(3);
  const Files good = keep();
  for (const std::string name : {"MANIFEST.a", "MANIFEST.b"}) {
    put_back(good);
    damage(name, 30);
    open();
    expect_messages(3);
    send(4, body_of(4, 40));
    open();
    expect_messages(4);
  }
  put_back(good);
  damage("MANIFEST.a", 0);
  damage("MANIFEST.b", 4095);
  EXPECT_EQ(try_open(), Errc::corrupt);
  EXPECT_NE(complaint.find("MANIFEST"), std::string::npos) << complaint;
}

TEST_F(Recover, AnotherLogsFilesAreRefused) {
  fill(1);
  options.stream = 0xbad;
  EXPECT_EQ(try_open(), Errc::corrupt);
  EXPECT_NE(complaint.find("another log"), std::string::npos) << complaint;
}

TEST_F(Recover, ALogKeepsItsGeometryWhateverTheOptionsSay) {
  fill(3);
  options.segment_bytes = 256 << 10;
  options.extent_bytes = 64 << 10;
  open();
  expect_messages(3);
  EXPECT_LT(log->max_record_bytes(), 16u << 10);
}

TEST_F(Recover, AMakingThatWasCutShortStartsAgain) {
  Manifest manifest{.stream = options.stream,
                    .segment_bytes = options.segment_bytes,
                    .extent_bytes = options.extent_bytes,
                    .generation = 1};
  std::vector<std::byte> block(block_bytes);
  write_manifest(Block(block.data(), block_bytes), manifest);
  disk->files["MANIFEST.a"] = std::make_shared<std::vector<std::byte>>(100);
  disk->files["MANIFEST.b"] = std::make_shared<std::vector<std::byte>>(block);
  disk->files[first_segment] = std::make_shared<std::vector<std::byte>>(20'000);
  open();
  EXPECT_TRUE(report.created);
  send(1, body_of(1, 40));
  open();
  expect_messages(1);
}

// --- whole segments ---

class RecoverSegments : public Recover {
 protected:
  // Three segments in use, three spare.
  void SetUp() override {
    open();
    settle();
    for (Seq seq = 1; seq <= n; ++seq) send(seq, body_of(seq, 9000));
    ASSERT_EQ(log->stats().segments, 3u);
    ASSERT_EQ(log->stats().spare_segments, 3u);
    good = keep();
  }
  static std::string name(unsigned i) { return segment_name(i); }

  static constexpr Seq n = 10;
  Files good;
};

TEST_F(RecoverSegments, AllOfThemComeBack) {
  open();
  expect_messages(n, 9000);
  EXPECT_EQ(log->stats().segments, 3u);
  EXPECT_EQ(log->stats().spare_segments, 3u);
}

TEST_F(RecoverSegments, AMissingOneRefuses) {
  for (unsigned i = 0; i < 4; ++i) {
    put_back(good);
    disk->files.erase(name(i));
    EXPECT_EQ(try_open(), Errc::corrupt) << i;
    EXPECT_NE(complaint.find(name(i)), std::string::npos) << complaint;
  }
}

TEST_F(RecoverSegments, TwoThatWereSwappedRefuse) {
  for (unsigned i = 0; i < 3; ++i) {
    for (unsigned j = i + 1; j < 5; ++j) {
      put_back(good);
      std::swap(disk->content(name(i)), disk->content(name(j)));
      EXPECT_EQ(try_open(), Errc::corrupt) << i << j;
    }
  }
}

TEST_F(RecoverSegments, ACopyUnderAnotherNameDoesNoHarmBehindTheEnd) {
  disk->files["000000000001.seg.bak"] = std::make_shared<std::vector<std::byte>>(good.at(name(1)));
  open();
  expect_messages(n, 9000);
}

TEST_F(RecoverSegments, ACopyInPlaceOfAnotherRefuses) {
  for (unsigned i = 0; i < 3; ++i) {
    for (unsigned j = 0; j < 5; ++j) {
      if (i == j) continue;
      put_back(good);
      disk->content(name(i)) = good.at(name(j));
      EXPECT_EQ(try_open(), Errc::corrupt) << i << j;
    }
  }
}

TEST_F(RecoverSegments, TheTailRenamedAwayIsFoundWhereverItLies) {
  put_back(good);
  disk->files.erase(name(3));
  disk->files.erase(name(4));
  disk->files.erase(name(5));
  disk->content(name(2)).swap(*(disk->files[name(9)] = std::make_shared<std::vector<std::byte>>()));
  EXPECT_EQ(try_open(), Errc::corrupt);
  EXPECT_NE(complaint.find("acknowledged frames follow at 000000000009.seg"), std::string::npos)
      << complaint;
}

TEST_F(RecoverSegments, AnUnfinishedSpareIsMadeAgain) {
  put_back(good);
  disk->files.erase(name(4));
  disk->files.erase(name(5));
  disk->content(name(3)).assign(12'000, std::byte{0});
  open();
  expect_messages(n, 9000);
  EXPECT_EQ(log->stats().spare_segments, 1u) << "so that the first message finds space";
  settle();
  EXPECT_EQ(log->stats().spare_segments, 2u);
  EXPECT_EQ(disk->content(name(3)).size(), options.segment_bytes);
  for (Seq seq = n + 1; seq <= n + 8; ++seq) send(seq, body_of(seq, 9000));
  open();
  expect_messages(n + 8, 9000);
}

TEST_F(RecoverSegments, ABlockZeroedDoubledOrSwappedIsNoticed) {
  const std::size_t blocks = options.segment_bytes / block_bytes;
  for (unsigned segment = 0; segment < 2; ++segment) {
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t other = (i + 5) % blocks;
      for (int how = 0; how < 3; ++how) {
        put_back(good);
        auto& bytes = disk->content(name(segment));
        std::byte* a = bytes.data() + i * block_bytes;
        std::byte* b = bytes.data() + other * block_bytes;
        if (how == 0) std::memset(a, 0, block_bytes);
        if (how == 1) std::memcpy(a, b, block_bytes);
        if (how == 2) std::swap_ranges(a, a + block_bytes, b);
        const bool changed = bytes != good.at(name(segment));
        const Errc got = try_open();
        if (got == Errc::ok) {
          // A change is accepted only where no frame lies: in the rest of an extent.
          ASSERT_TRUE(!changed || std::memcmp(good.at(name(segment)).data() + i * block_bytes, a,
                                              block_bytes) != 0);
          expect_messages(n, 9000);
        } else {
          ASSERT_EQ(got, Errc::corrupt);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pawl

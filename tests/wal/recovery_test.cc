// SPDX-License-Identifier: Apache-2.0
#include "wal/recovery/recovery.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/wal/recovery_fixture.h"

namespace pawl {
namespace {

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

}  // namespace
}  // namespace pawl

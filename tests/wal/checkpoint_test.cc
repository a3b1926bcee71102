// SPDX-License-Identifier: Apache-2.0
// The contract of checkpoints: recovery reads no more than necessary and no less than was
// acknowledged, and reports missing data.
#include "core/queue/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/wal/log_fixture.h"
#include "wal/format/checkpoint_records.h"
#include "wal/format/records.h"

namespace pawl {
namespace {

class Checkpoints : public LogTest {
 protected:
  void SetUp() override {
    open();
    settle();
  }
  // Sends messages, each durable in a frame of its own.
  void send_some(std::size_t messages, std::size_t bytes = 40) {
    for (; messages > 0; --messages) {
      ++seq;
      send(seq, body_of(seq, bytes));
    }
  }
  void fill_to(std::uint64_t number) {
    while (appended / options.segment_bytes < number) send_some(1, 9000);
  }
  void delete_all_but(Seq kept) {
    for (Seq s = 1; s <= seq; ++s) {
      if (s != kept && alive.contains(s)) delete_message(s);
    }
  }
  // Writes a checkpoint of one message a slice, each slice durable in a frame of its own.
  void checkpoint_in_frames() {
    log->begin_checkpoint();
    for (Seq s = 1; s <= seq; ++s) {
      append_slice({s});
      settle();
    }
    log->end_checkpoint();
    settle();
  }
  void checkpoint_durably() {
    checkpoint();
    settle();
  }
  Manifest manifest() {
    Manifest newest;
    for (const std::string_view name : manifest_names) {
      const auto& bytes = disk->content(std::string(name));
      const auto read = read_manifest(ConstBlock(bytes.data(), block_bytes));
      if (read && read->generation > newest.generation) newest = *read;
    }
    return newest;
  }
  std::byte* at(Lsn lsn) {
    return disk->content(segment_name(lsn / options.segment_bytes)).data() +
           lsn % options.segment_bytes;
  }
  std::string describe(Lsn lsn) const {
    return segment_name(lsn / options.segment_bytes) + " offset " +
           std::to_string(lsn % options.segment_bytes);
  }
  LogFrameHeader header(Lsn lsn) {
    LogFrameHeader read;
    std::memcpy(&read, at(lsn), sizeof read);
    return read;
  }
  void expect_messages(const std::vector<Seq>& wanted, std::size_t bytes = 40) {
    ASSERT_EQ(found.messages.size(), wanted.size());
    for (const Seq s : wanted) {
      ASSERT_TRUE(found.messages.contains({7, s})) << s;
      EXPECT_EQ(found.messages.at({7, s}).body, body_of(s, bytes));
    }
  }
  // Appends a slice of test_queue; the checkpoint does not end.
  void append_slice(const std::vector<Seq>& named) {
    CheckpointSlice slice;
    slice.heads.push_back({test_queue, seq + 1});
    IndexEntriesRecord index_entries{.queue = test_queue, .entries = {}};
    for (const Seq s : named) index_entries.entries.push_back({s, alive.at(s)});
    slice.records.emplace_back(std::move(index_entries));
    log->append(slice, now);
    appended = log->appended();
  }
  // Pumps and finishes writes until the write of the manifest is in progress.
  void pump_to_manifest() {
    disk->hold = disk->trace = true;
    disk->calls.clear();
    log->flush_all();
    const auto begun = [&] {
      return std::ranges::any_of(
          disk->calls, [](const std::string& call) { return call.starts_with("write MANIFEST"); });
    };
    for (int i = 0; i < 20 && !begun(); ++i) {
      disk->finish_all();
      pump(true);
    }
    ASSERT_TRUE(begun());
  }
  void finish_held() {
    disk->finish_all();
    disk->hold = disk->trace = false;
    settle();
  }
  // The name of the newest manifest, or of the one that is written next.
  std::string newest_manifest_name(bool newest) {
    return std::string(manifest_names[(manifest().generation + (newest ? 0 : 1)) % 2]);
  }

  Seq seq = 0;  // the latest message
};

// --- bytes read ---

TEST_F(Checkpoints, RecoveryReadsFromTheLatestOneOn) {
  send_some(5);
  checkpoint_durably();
  send_some(5);
  checkpoint_durably();
  send_some(2);
  open();
  expect_messages({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(report.frames, 1u + 2) << "its own and the two behind it";
  EXPECT_EQ(found.heads.at(7), 1000u);
  ASSERT_FALSE(found.configs.empty());
  EXPECT_EQ(found.configs[0].config->name, "q");
  open();
  EXPECT_EQ(report.frames, 3u) << "a start alone changes nothing";
}

TEST_F(Checkpoints, WhatIsBeforeItIsNotLookedAt) {
  send_some(5);
  for (Seq s = 1; s <= 5; ++s) delete_message(s);
  settle();
  const Lsn end = log->durable();
  checkpoint_durably();
  send_some(1);
  std::memset(at(block_bytes), 0xee, end - block_bytes);
  open();
  expect_messages({6});
}

// A record before the checkpoint shares an extent with bytes that are read, but is verified on use.
TEST_F(Checkpoints, WhatIsBeforeItIsLookedAtWhenItIsUsed) {
  send_some(1);
  checkpoint_durably();
  send_some(1);
  const LogPos damaged = alive.at(1);
  ASSERT_EQ(damaged / options.extent_bytes, manifest().checkpoint / options.extent_bytes);
  for (const std::size_t byte : {20u, 40u, 60u}) {
    *at(damaged + byte) ^= std::byte{4};
    open();
    EXPECT_EQ(found.messages.at({7, 1}).body, "not to be read") << byte;
    EXPECT_EQ(found.messages.at({7, 2}).body, body_of(2, 40));
    EXPECT_EQ(log->stats().damaged, 1u);
    *at(damaged + byte) ^= std::byte{4};
  }
}

TEST_F(Checkpoints, WhatHappensBetweenItsSlicesIsTrue) {
  send_some(6);
  log->begin_checkpoint();
  append_slice({1, 2, 3});
  delete_message(2);
  append_receive(3);
  send_some(1);       // message 7, also in a later slice
  delete_message(5);  // not in a later slice
  send_some(1);
  delete_message(8);
  append_slice({4, 6, 7});
  delete_message(4);
  log->end_checkpoint();
  send_some(1);
  settle();
  open();
  expect_messages({1, 3, 6, 7, 9});
  EXPECT_TRUE(found.received.contains({7, 3}));
  for (const Seq s : {1, 3, 6, 7, 9}) delete_message(s);
  settle();
  checkpoint_durably();
  EXPECT_EQ(log->stats().segments, 1u);
  open();
  expect_messages({});
}

TEST_F(Checkpoints, OneOfManyFramesIsReadWhole) {
  fill_to(1);
  checkpoint_in_frames();
  std::vector<Seq> all;
  for (Seq s = 1; s <= seq; ++s) all.push_back(s);
  open();
  expect_messages(all, 9000);
  EXPECT_EQ(report.frames, all.size());
}

// --- the previous checkpoint stays in force ---

TEST_F(Checkpoints, OneWithoutAnEndCountsForNothing) {
  send_some(3);
  checkpoint_durably();
  const Lsn before = manifest().checkpoint;
  send_some(2);
  log->begin_checkpoint();
  append_slice({1, 2});
  settle();
  send_some(1);
  EXPECT_EQ(manifest().checkpoint, before);
  open();
  expect_messages({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(report.frames, 1u + 2 + 1 + 1);
  EXPECT_EQ(manifest().checkpoint, before);
  checkpoint_durably();
  EXPECT_GT(manifest().checkpoint, before);
  open();
  expect_messages({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(report.frames, 1u);
}

// The checkpoint is on disk; the manifest that names it is missing or half written.
TEST_F(Checkpoints, OneThatNoWholeManifestNamesCountsForNothing) {
  send_some(3);
  checkpoint_durably();
  const Lsn before = manifest().checkpoint;
  const std::string written = newest_manifest_name(false);
  send_some(2);
  checkpoint();
  pump_to_manifest();
  const Files unwritten = keep();
  finish_held();
  ASSERT_GT(manifest().checkpoint, before);
  Files half = unwritten;
  std::memcpy(half.at(written).data(), disk->content(written).data(), 64);
  for (const Files& files : {unwritten, half}) {
    put_back(files);
    EXPECT_EQ(manifest().checkpoint, before);
    open();
    expect_messages({1, 2, 3, 4, 5});
    EXPECT_EQ(report.frames, 1u + 2 + 1);
    EXPECT_EQ(report.torn_at, 0u);
  }
}

TEST_F(Checkpoints, OneWhoseLastFrameIsTornCountsForNothing) {
  send_some(3);
  checkpoint_durably();
  const Lsn before = manifest().checkpoint;
  send_some(2);
  const Lsn begun = log->appended();
  checkpoint();
  pump_to_manifest();
  const Files unwritten = keep();
  finish_held();
  put_back(unwritten);
  std::memset(at(begun) + log_frame_header_bytes, 0, block_bytes - log_frame_header_bytes);
  open();
  expect_messages({1, 2, 3, 4, 5});
  EXPECT_EQ(report.torn_at, begun);
  EXPECT_EQ(manifest().checkpoint, before);
  send_some(1);
  checkpoint_durably();
  open();
  expect_messages({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(report.frames, 1u);
}

// --- older segments ---

class OlderSegments : public Checkpoints {
 protected:
  // One message is left in segment 2, and the tail is in segment 5.
  void SetUp() override {
    Checkpoints::SetUp();
    fill_to(5);
    for (const auto& [s, position] : alive) {
      if (position / options.segment_bytes == 2) kept = s;
    }
    delete_all_but(kept);
    checkpoint_durably();
  }

  Seq kept = 0;
  const std::string kept_in = segment_name(2);
};

TEST_F(OlderSegments, WithoutAMessageAreUsedAgainAndOneWithASingleMessageStays) {
  EXPECT_EQ(log->stats().segments, 2u) << "its own and the last";
  const std::vector<std::byte> bytes = disk->content(kept_in);
  for (std::uint64_t next : {8, 11, 14}) {
    fill_to(next);
    delete_all_but(kept);
    checkpoint_durably();
    EXPECT_EQ(log->stats().segments, 2u);
    EXPECT_LE(disk->files.size(), 2u + 3 + 3 + 2) << "in use, spare, for the next, manifests";
    EXPECT_EQ(disk->content(kept_in), bytes);
    open();
    expect_messages({kept}, 9000);
    settle();
    EXPECT_EQ(log->stats().segments, 2u);
  }
  delete_message(kept);
  settle();
  EXPECT_EQ(log->stats().segments, 1u);
  fill_to(17);
  EXPECT_FALSE(disk->files.contains(kept_in));
}

TEST_F(OlderSegments, AMessageThatIsDeletedAfterTheCheckpointIsNotMissed) {
  delete_message(kept);
  settle();
  fill_to(7);
  ASSERT_FALSE(disk->files.contains(kept_in)) << "it is used again";
  open();
  EXPECT_FALSE(found.messages.contains({7, kept}));
}

TEST_F(OlderSegments, AMissingOneIsNamedAndNothingIsLost) {
  const Files good = keep();
  const auto lose = [&](Files files, const char* how) {
    SCOPED_TRACE(how);
    put_back(files);
    EXPECT_EQ(try_open(), Errc::corrupt);
    EXPECT_TRUE(complaint.contains(kept_in)) << complaint;
    log.reset();
    disk->files[kept_in] = std::make_shared<std::vector<std::byte>>(good.at(kept_in));
    open();
    expect_messages({kept}, 9000);
  };
  Files files = good;
  files.erase(kept_in);
  lose(files, "missing");
  files = good;
  files.at(kept_in).resize(options.segment_bytes - block_bytes);
  lose(files, "cut off");
  files = good;
  files.at(kept_in).clear();
  lose(files, "empty");
  for (const std::uint64_t other : {1, 3, 99}) {
    files = good;
    files[segment_name(other)] = files.at(kept_in);
    files.erase(kept_in);
    lose(files, "renamed");
  }
}

// A message has its own checksum; its segment's header need not be valid.
TEST_F(OlderSegments, ADamagedHeaderLosesNothing) {
  const Files good = keep();
  for (const std::size_t i : {0, 4, 8, 16, 24, 32, 40, 4095}) {
    SCOPED_TRACE(i);
    put_back(good);
    disk->content(kept_in)[i] ^= std::byte{1};
    if (try_open() == Errc::ok) {
      expect_messages({kept}, 9000);
    } else {
      EXPECT_TRUE(complaint.contains(kept_in)) << complaint;
    }
    log.reset();
    disk->content(kept_in) = good.at(kept_in);
    open();
    expect_messages({kept}, 9000);
  }
}

TEST_F(OlderSegments, AreRefusedByNameOfWhatIsMissingWhenOnlyTheManifestBeforeIsLeft) {
  const std::uint64_t first = manifest().first;
  fill_to(9);
  delete_all_but(kept);
  checkpoint_durably();
  fill_to(12);
  ASSERT_FALSE(disk->files.contains(segment_name(first)));
  const std::string newest = newest_manifest_name(true);
  disk->content(newest)[100] ^= std::byte{1};
  EXPECT_EQ(try_open(), Errc::corrupt);
  EXPECT_TRUE(complaint.contains(segment_name(first))) << complaint;
  disk->content(newest)[100] ^= std::byte{1};
  open();
  EXPECT_TRUE(found.messages.contains({7, kept}));
}

// At the same offset each segment contains a whole message with a correct hash.
TEST_F(Checkpoints, OlderSegmentsThatWereSwappedNeverGiveAnotherMessage) {
  fill_to(5);
  std::map<std::uint64_t, Seq> kept;  // the first message of each segment
  for (const auto& [s, position] : alive) kept.insert({position / options.segment_bytes, s});
  for (Seq s = 1; s <= seq; ++s) {
    if (s != kept.at(2) && s != kept.at(3)) delete_message(s);
  }
  checkpoint_durably();
  ASSERT_EQ(alive.at(kept.at(2)) % options.segment_bytes,
            alive.at(kept.at(3)) % options.segment_bytes);
  log.reset();
  disk->content(segment_name(2)).swap(disk->content(segment_name(3)));
  EXPECT_EQ(try_open(), Errc::corrupt);
  EXPECT_TRUE(complaint.contains(segment_name(2))) << complaint;
  disk->content(segment_name(2)).swap(disk->content(segment_name(3)));
  open();
  expect_messages({kept.at(2), kept.at(3)}, 9000);
}

// --- damage in a checkpoint ---

class DamagedCheckpoint : public Checkpoints {
 protected:
  void expect_refused(Lsn frame) {
    ASSERT_EQ(try_open(), Errc::corrupt);
    ASSERT_TRUE(complaint.contains(describe(frame) + ":")) << complaint;
  }
};

TEST_F(DamagedCheckpoint, IsRefusedByPlaceAndNeverATornEnd) {
  fill_to(1);
  checkpoint_in_frames();
  const Files good = keep();
  const Manifest of = manifest();
  ASSERT_EQ(align_up(of.checkpoint_end, block_bytes), log->durable()) << "nothing is behind it";
  std::size_t frames = 0;
  for (Lsn frame = of.checkpoint; frame < of.checkpoint_end; frame += block_bytes, ++frames) {
    for (const std::size_t i : {4u, 30u, 56u, 64u, header(frame).length, 4095u}) {
      put_back(good);
      at(frame)[i] ^= std::byte{0x10};
      expect_refused(frame);
    }
    // The complaint names the position without a frame, or the last frame before it.
    put_back(good);
    std::memset(at(frame), 0, block_bytes);
    EXPECT_EQ(try_open(), Errc::corrupt);
    EXPECT_TRUE(complaint.contains(describe(frame) + ":") ||
                complaint.contains("follows the one at " + describe(frame - block_bytes)))
        << complaint;
  }
  EXPECT_EQ(frames, seq);
}

TEST_F(DamagedCheckpoint, HasNoBitThatMayBeFlipped) {
  send_some(2);
  checkpoint_durably();
  const Lsn frame = manifest().checkpoint;
  const std::uint32_t length = header(frame).length;
  ASSERT_LT(length, 512u);
  for (std::uint32_t bit = 0; bit < 8 * length; ++bit) {
    SCOPED_TRACE(bit);
    const std::byte mask{static_cast<unsigned char>(1u << bit % 8)};
    at(frame)[bit / 8] ^= mask;
    expect_refused(frame);
    at(frame)[bit / 8] ^= mask;
  }
  open();
  expect_messages({1, 2});
}

TEST_F(DamagedCheckpoint, IsRefusedByNameWhenItsSegmentIsMissing) {
  fill_to(2);
  checkpoint_durably();
  ASSERT_EQ(manifest().first, 2u);
  fill_to(4);
  for (const std::uint64_t number : {2, 3}) {
    const Files good = keep();
    put_back(good);
    disk->files.erase(segment_name(number));
    EXPECT_EQ(try_open(), Errc::corrupt);
    EXPECT_TRUE(complaint.contains(segment_name(number))) << complaint;
    put_back(good);
  }
  open();
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The torn end, stale frames, and segments that are missing, swapped or unfinished.
#include "wal/recovery/recovery_steps.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/wal/recovery_fixture.h"

namespace pawl {
namespace {

using RecoverySteps = Recover;

TEST_F(RecoverySteps, ATornFrameIsCutOffWhateverPartOfItArrived) {
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
TEST_F(RecoverySteps, AFrameFromBeforeTheTearIsNeverAcceptedAgain) {
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
TEST_F(RecoverySteps, AFrameThatWasCutOffIsNotBelievedWhenItIsWholeAgain) {
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
TEST_F(RecoverySteps, AFrameThatWasCutOffIsNotBelievedWhenTheLogHasGoneOnBehindIt) {
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

TEST_F(RecoverySteps, AFrameMissingBeforeAnExtentsEndIsNoticed) {
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

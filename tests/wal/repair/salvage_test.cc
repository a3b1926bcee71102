// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/salvage.h"

#include <gtest/gtest.h>

#include "tests/wal/records_fixture.h"

namespace pawl {
namespace {

using records_test::Seen;
using records_test::stream;

class SalvageFrame : public testing::Test {
 protected:
  // A frame with three SENDs, numbers 1 to 3, padded to a block.
  SalvageFrame() : frame(block_bytes) {
    Content content;
    content.body = "a body of some bytes";
    for (Seq seq = 1; seq <= 3; ++seq) {
      begins.push_back(used);
      used += encode_send(frame.data() + used,
                          {QueueId{7}, seq, Instant{1000}, Instant{1000}, &content}, stream);
    }
  }
  Salvage salvage(std::size_t told, bool exact, const Believe& believe) {
    return salvage_frame(frame, told, exact, stream, believe);
  }
  static bool all(std::span<const std::byte>) { return true; }
  std::vector<Seq> kept(const Salvage& salvage) {
    Seen seen;
    EXPECT_TRUE(decode_records(std::span(salvage.frame).subspan(log_frame_header_bytes),
                               salvage.records, stream, seen));
    std::vector<Seq> seqs;
    for (const auto& send : seen.sends) {
      EXPECT_EQ(send.offset + log_frame_header_bytes, begins[send.head.seq - 1])
          << "a kept record keeps its place";
      seqs.push_back(send.head.seq);
    }
    return seqs;
  }

  std::vector<std::byte> frame;
  std::vector<std::size_t> begins;
  std::size_t used = log_frame_header_bytes;
};

TEST_F(SalvageFrame, AWholeFrameIsKept) {
  const Salvage whole = salvage(used, false, all);
  EXPECT_EQ(kept(whole), (std::vector<Seq>{1, 2, 3}));
  EXPECT_EQ(whole.kept, 3u);
  EXPECT_EQ(whole.frame.size(), used);
  EXPECT_EQ(whole.lost_bytes, 0u);
  EXPECT_TRUE(whole.lost.empty());
}

TEST_F(SalvageFrame, ADamagedRecordIsReplacedByRecordsWithoutEffect) {
  frame[begins[2] - 1 - 7] ^= std::byte{1};  // in the body of message 2
  for (const bool exact : {false, true}) {
    const Salvage damaged = salvage(used, exact, all);
    EXPECT_EQ(kept(damaged), (std::vector<Seq>{1, 3}));
    EXPECT_EQ(damaged.kept, 2u);
    EXPECT_EQ(damaged.lost_bytes, begins[2] - begins[1]);
    EXPECT_EQ(damaged.lost.messages.at("send").at(QueueId{7}), std::set<Seq>{2});
    EXPECT_EQ(damaged.lost.unrecognized_bytes, 0u);
  }
}

TEST_F(SalvageFrame, ARecordThatIsNotBelievedIsLost) {
  const Salvage doubted = salvage(used, false, [&](std::span<const std::byte> record) {
    return decode_send(record, stream)->seq != 1;
  });
  EXPECT_EQ(kept(doubted), (std::vector<Seq>{2, 3}));
}

TEST_F(SalvageFrame, TheSpaceOfAnUntrustedHeaderIsFilledExactly) {
  frame.resize(2 * block_bytes);
  const Salvage exact = salvage(0, true, all);
  EXPECT_EQ(exact.frame.size(), frame.size());
  EXPECT_EQ(kept(exact), (std::vector<Seq>{1, 2, 3}));
  EXPECT_GT(exact.records, 3u);
  EXPECT_EQ(exact.lost_bytes, 0u) << "zeros are padding";
}

TEST_F(SalvageFrame, BytesWithoutARecordAreUnrecognized) {
  std::fill(frame.begin(), frame.end(), std::byte{0xee});
  const Salvage nothing = salvage(0, true, all);
  EXPECT_EQ(nothing.kept, 0u);
  EXPECT_EQ(nothing.lost_bytes, frame.size() - log_frame_header_bytes);
  EXPECT_EQ(nothing.lost.unrecognized_bytes, nothing.lost_bytes);
  EXPECT_TRUE(kept(nothing).empty());
}

TEST_F(SalvageFrame, GuessesAreAddedUp) {
  Guess sum, other;
  sum.records["send"] = 1;
  sum.messages["send"][QueueId{7}] = {1};
  other.records["send"] = 2;
  other.messages["send"][QueueId{7}] = {2, 3};
  other.settings = {"queue 3"};
  other.unrecognized_bytes = 5;
  EXPECT_TRUE(Guess{}.empty());
  sum.add(other);
  EXPECT_EQ(sum.records["send"], 3u);
  EXPECT_EQ(sum.messages["send"][QueueId{7}], (std::set<Seq>{1, 2, 3}));
  EXPECT_EQ(sum.settings, std::set<std::string>{"queue 3"});
  EXPECT_EQ(sum.unrecognized_bytes, 5u);
}

}  // namespace
}  // namespace pawl

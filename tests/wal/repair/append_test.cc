// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/append.h"

#include "tests/wal/records_fixture.h"
#include "tests/wal/repair/repair_fixture.h"
#include "wal/repair/frames.h"

namespace pawl {
namespace {

class Append : public RepairTest {
 protected:
  // The records of all frames that `appendix` added to the log.
  void read(LogContent& content, const Appendix& appendix) {
    const auto frames = whole_frames(content);
    ASSERT_TRUE(frames);
    for (const LogFrameHeader& frame : *frames) {
      if (frame.lsn < appendix.begin()) continue;
      added.push_back(frame);
      ASSERT_TRUE(decode_records(records_of(*content.from(frame.lsn), frame), frame.records,
                                 options.stream, seen));
    }
  }
  std::vector<LogFrameHeader> added;
  records_test::Seen seen;
};

TEST_F(Append, RecordsShareAFrameThatFollowsTheEnd) {
  fill(2);
  LogContent content = this->content();
  Appendix appendix(content, {.tail = frame(2), .last = frame(1), .epoch = 9, .wall_ms = 77});
  EXPECT_EQ(appendix.begin(), 0u);
  const HeadRecord heads[] = {
      {test_queue, 500}
  };
  appendix.heads(heads);
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{9};
  appendix.config({config, true});
  appendix.deletes(test_queue, {1, 2});
  appendix.finish();
  read(content, appendix);
  ASSERT_EQ(added.size(), 1u);
  EXPECT_EQ(added[0].lsn, frame(2));
  EXPECT_EQ(added[0].prev, block_bytes);
  EXPECT_EQ(added[0].epoch, 9u);
  EXPECT_EQ(added[0].wall_ms, 77);
  EXPECT_EQ(added[0].durable, frame(2));
  EXPECT_EQ(appendix.end(), frame(3));
  ASSERT_EQ(seen.heads.size(), 1u);
  EXPECT_EQ(seen.heads[0].next_seq, 500u);
  ASSERT_EQ(seen.configs.size(), 1u);
  EXPECT_TRUE(seen.configs[0].gone);
  EXPECT_EQ(seen.deletes.size(), 2u);
}

TEST_F(Append, LongBatchesAreSplitAndLongRecordsTakeTheNextExtent) {
  fill(2);
  LogContent content = this->content();
  Appendix appendix(content, {.tail = frame(2), .last = frame(1), .epoch = 9});
  std::set<Seq> seqs;
  for (Seq seq = 1; seq <= 2 * batch_max + 1; ++seq) seqs.insert(seq);
  appendix.deletes(test_queue, seqs);
  Content text;
  const std::string body(9000, 'b');
  text.body = body;
  const SendRecord message{.queue = test_queue, .seq = 3, .sent = now, .content = &text};
  std::vector<std::byte> record(send_bytes(message));
  encode_send(record.data(), message, options.stream);
  appendix.copy(record);
  appendix.copy(record);
  appendix.finish();
  read(content, appendix);
  EXPECT_EQ(seen.deletes.size(), seqs.size());
  ASSERT_EQ(seen.sends.size(), 2u);
  EXPECT_EQ(seen.sends[0].body, body);
  ASSERT_EQ(added.size(), 3u);
  EXPECT_EQ(added[1].lsn, options.extent_bytes);
  EXPECT_EQ(added[2].lsn, 2 * options.extent_bytes);
  for (std::size_t i = 1; i < added.size(); ++i)
    EXPECT_EQ(added[i].lsn - added[i].prev, added[i - 1].lsn);
}

TEST_F(Append, GoesOnInANewSegment) {
  fill(2);
  LogContent content = this->content();
  const Lsn end = geometry().segment_base(20);
  Appendix appendix(content, {.tail = end, .last = end - block_bytes, .epoch = 9});
  appendix.deletes(test_queue, {1});
  appendix.finish();
  EXPECT_EQ(appendix.begin(), end + block_bytes) << "behind the segment's header";
  EXPECT_TRUE(content.made_whole().contains(20));
}

TEST_F(Append, NothingIsAppendedWithoutRecords) {
  fill(1);
  LogContent content = this->content();
  Appendix appendix(content, {.tail = frame(1), .last = frame(0), .epoch = 9});
  appendix.deletes(test_queue, {});
  appendix.finish();
  EXPECT_EQ(appendix.begin(), 0u);
  EXPECT_TRUE(content.changes().empty());
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// SendReader: deleted messages are retained for a while and can be read again.
#include "wal/send_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/wal/log_fixture.h"

namespace pawl {
namespace {

constexpr Lsn no_position = UINT64_MAX;

class SendReaderTest : public LogTest {
 protected:
  static constexpr std::size_t body_bytes = 12'000;  // one an extent, four a segment

  void SetUp() override {
    options.dead_bytes_max = 0;
    open();
    settle();
  }
  // Sends one message a second; each is deleted before the next.
  void send_and_delete(Seq first, Seq count) {
    for (Seq seq = first; seq < first + count; ++seq) {
      now = now + seconds(1);
      send(seq, body_of(seq, body_bytes));
      delete_message(seq);
    }
    settle();
  }
  // The numbers of all messages between two positions; with `error` the first read fails.
  std::vector<Seq> read(Lsn from, Lsn end, int error = 0) {
    log->send_reader().begin(from, end, test_queue);
    std::vector<Seq> seqs;
    FoundSend next;
    for (int i = 0; i < 1000 && !log->send_reader().at_end(); ++i) {
      disk->hold = error != 0;
      pump(true);
      if (error != 0 && disk->under_way() > 0) disk->finish(0, -std::exchange(error, 0));
      disk->finish_all();
      while (log->send_reader().next(next)) {
        EXPECT_EQ(next.stored.content.body, body_of(next.stored.seq, body_bytes));
        EXPECT_EQ(next.stored.queue, test_queue);
        seqs.push_back(next.stored.seq);
      }
    }
    EXPECT_TRUE(log->send_reader().at_end());
    return seqs;
  }
  std::vector<Seq> read_since(Instant since) { return read(log->first_since(since), appended); }
  static std::vector<Seq> numbers(Seq first, Seq last) {
    std::vector<Seq> all;
    for (Seq seq = first; seq <= last; ++seq) all.push_back(seq);
    return all;
  }
  // Expects all messages from `first` to 60, and before them at most those of one segment.
  void expect_from(Seq first, const std::vector<Seq>& seqs) {
    ASSERT_FALSE(seqs.empty());
    EXPECT_LE(seqs.front(), first);
    EXPECT_GE(seqs.front() + 4, first);
    EXPECT_EQ(seqs, numbers(seqs.front(), 60));
  }
};

TEST_F(SendReaderTest, FindsWhatWasSentAndHasGone) {
  send_and_delete(1, 20);
  EXPECT_EQ(read(0, appended), numbers(1, 20));
}

TEST_F(SendReaderTest, WithoutARetentionItGoes) {
  send_and_delete(1, 60);
  checkpoint();
  settle();
  EXPECT_LT(log->stats().segments, 4u);
  EXPECT_EQ(log->stats().replay_bytes, 0u);
  for (const Seq seq : read(0, appended)) EXPECT_GT(seq, 50u);
}

TEST_F(SendReaderTest, WhatIsYoungEnoughIsKeptThoughNothingIsLeftInIt) {
  send_and_delete(1, 60);
  const Instant since = now - seconds(30);  // number 30 was sent then
  log->keep_for_replay(since, no_position);
  checkpoint();
  settle();
  EXPECT_LT(log->stats().segments, 11u);
  EXPECT_GT(log->stats().replay_bytes, 5u * options.segment_bytes);
  expect_from(30, read_since(since));
}

TEST_F(SendReaderTest, ReadsTheSameMessagesAfterRecovery) {
  send_and_delete(1, 60);
  const Instant since = now - seconds(30);
  log->keep_for_replay(since, no_position);
  checkpoint();
  settle();
  for (int i = 0; i < 2; ++i) {
    open();
    appended = log->appended();
    log->keep_for_replay(since, no_position);
    settle();
    expect_from(30, read_since(since));
  }
  // The retained messages expire.
  log->keep_for_replay(now - seconds(10), no_position);
  settle();
  EXPECT_LT(log->stats().segments, 6u);
  expect_from(50, read_since(now - seconds(10)));
  open();
  appended = log->appended();
  settle();
  EXPECT_LT(log->stats().segments, 4u) << "nobody said that anything is to be kept";
}

TEST_F(SendReaderTest, APositionIsKeptWhateverItsAge) {
  send_and_delete(1, 60);
  const Lsn position = log->first_since(now - seconds(40));
  log->keep_for_replay(never, position);
  checkpoint();
  settle();
  expect_from(20, read(position, appended));
  log->keep_for_replay(never, no_position);
  settle();
  EXPECT_LT(log->stats().segments, 4u);
}

TEST_F(SendReaderTest, BeginsAndEndsAtARecord) {
  send_and_delete(1, 20);
  std::vector<LogPos> positions{0};
  log->send_reader().begin(0, appended, test_queue);
  FoundSend next;
  while (!log->send_reader().at_end()) {
    pump(true);
    disk->finish_all();
    while (log->send_reader().next(next)) positions.push_back(next.position);
  }
  ASSERT_EQ(positions.size(), 21u);
  for (const auto& [from, end] : std::vector<std::pair<Seq, Seq>>{
           {3,  9 },
           {1,  2 },
           {5,  5 },
           {19, 20}
  }) {
    EXPECT_EQ(read(positions[from], positions[end]), numbers(from, end - 1));
  }
}

TEST_F(SendReaderTest, GoesOnBehindARecordThatEndsWithItsExtent) {
  const auto bytes_with = [&](std::size_t size) {
    const std::string body(size, 'x');
    const Content content{.body = body};
    return send_bytes({test_queue, 2, now, now, &content});
  };
  const std::size_t space =
      options.extent_bytes - log_frame_header_bytes - bytes_with(options.extent_bytes / 2);
  std::size_t exact = 1;
  while (bytes_with(exact + 1) <= space) ++exact;
  const LogPos first = send(1, body_of(1, body_bytes));
  const LogPos second = append_send(2, std::string(options.extent_bytes / 2, 'x'));
  append_send(3, std::string(exact, 'x'));  // in one frame with the message before
  settle();
  const LogPos last = send(4, body_of(4, body_bytes));
  ASSERT_EQ(second / options.extent_bytes, first / options.extent_bytes + 1);
  ASSERT_EQ(last,
            (second / options.extent_bytes + 1) * options.extent_bytes + log_frame_header_bytes);
  log->send_reader().begin(0, appended, test_queue);
  std::vector<Seq> seqs;
  FoundSend next;
  while (!log->send_reader().at_end()) {
    pump(true);
    while (log->send_reader().next(next)) seqs.push_back(next.stored.seq);
  }
  EXPECT_EQ(seqs, numbers(1, 4));
}

TEST_F(SendReaderTest, WaitsForWhatIsNotDurable) {
  send_and_delete(1, 3);
  append_send(4, body_of(4, body_bytes));
  disk->hold = true;
  log->send_reader().begin(0, appended, test_queue);
  FoundSend next;
  std::vector<Seq> seqs;
  const auto turns = [&] {
    for (int i = 0; i < 50; ++i) {
      pump(true);
      for (std::size_t n = disk->under_way(); n-- > 0;)
        if (disk->op(n).kind == MemoryDisk::Kind::read) disk->finish(n);
      while (log->send_reader().next(next)) seqs.push_back(next.stored.seq);
    }
  };
  turns();
  EXPECT_GE(seqs.size(), 2u);
  EXPECT_LE(seqs.size(), 3u);
  EXPECT_FALSE(log->send_reader().at_end());
  disk->hold = false;
  settle();
  turns();
  EXPECT_EQ(seqs, numbers(1, 4));
  EXPECT_TRUE(log->send_reader().at_end());
}

TEST_F(SendReaderTest, PassesOverWhatIsDamaged) {
  const LogPos position = send(1, body_of(1, body_bytes));
  send_and_delete(2, 19);
  const Lsn first = log->first_since(Instant{0});
  EXPECT_EQ(read(first, appended), numbers(1, 20));
  EXPECT_EQ(log->send_reader().passed_over(), 0u);
  disk->content(segment_name(position / options.segment_bytes))
      .at(position % options.segment_bytes + 5000) ^= std::byte{1};
  EXPECT_EQ(read(first, appended), numbers(2, 20));
  const std::uint64_t damaged = log->send_reader().passed_over();
  EXPECT_GE(damaged, body_bytes);
  EXPECT_LE(damaged, body_bytes + 2 * block_bytes);
  // A reader that begins behind the damage does not meet it again.
  EXPECT_EQ(read(position + body_bytes, appended), numbers(2, 20));
  EXPECT_EQ(log->send_reader().passed_over(), 0u);
}

TEST_F(SendReaderTest, CountsWhatCannotBeReadAndWhatIsNotThere) {
  send_and_delete(1, 60);
  const Lsn first = log->first_since(Instant{0});
  EXPECT_EQ(read(first, appended, EIO), numbers(2, 60));
  EXPECT_EQ(log->send_reader().passed_over(), options.extent_bytes);
  EXPECT_EQ(log->send_reader().damaged(), 1u);

  const Instant since = now - seconds(30);
  log->keep_for_replay(since, no_position);
  checkpoint();
  settle();
  expect_from(30, read(first, appended));
  EXPECT_EQ(log->send_reader().passed_over(), log->first_since(since) - first);
}

TEST_F(SendReaderTest, HoldsTheSegmentOfAReadThatIsNotWantedAnyMore) {
  send_and_delete(1, 60);
  const Lsn position = log->first_since(now - seconds(40));
  log->keep_for_replay(never, position);
  checkpoint();
  settle();
  log->send_reader().begin(position, appended, test_queue);
  disk->hold = true;
  pump(true);
  ASSERT_TRUE(log->send_reader().reading());
  log->send_reader().stop();
  log->keep_for_replay(never, no_position);
  for (int i = 0; i < 20; ++i) pump(true);
  EXPECT_TRUE(log->send_reader().reading());
  const std::uint64_t with_it = log->stats().segments;
  disk->hold = false;
  settle();
  EXPECT_FALSE(log->send_reader().reading());
  EXPECT_EQ(log->stats().segments, with_it - 1);
}

}  // namespace
}  // namespace pawl

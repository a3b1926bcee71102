// SPDX-License-Identifier: Apache-2.0
// The contract of BodyReader: every wanted message arrives, whole or empty, with as few reads as
// its neighbours allow. Damage costs only the messages it lies in.
#include "wal/body_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/random.h"
#include "tests/sim/sim_disk.h"
#include "wal/format/records.h"

namespace pawl {
namespace {

constexpr std::uint64_t extent_bytes = 64 << 10;
constexpr std::uint64_t segments = 4;
constexpr Geometry geometry{0x5eed, 4 * extent_bytes, extent_bytes};

class BodyReaderTest : public testing::Test {
 protected:
  struct WantedMessage {
    std::string body;
    LogPos position = 0;
  };
  struct Come {
    std::size_t message = 0;
    std::optional<std::string> body;
  };

  void SetUp() override { open(16); }
  void TearDown() override { EXPECT_TRUE(reader->idle()); }

  void open(std::uint64_t extents_max) {
    reader.reset();
    pool.reset();
    disk = std::make_unique<sim::SimDisk>();
    image = std::make_unique<Image>(extent_bytes, extents_max * extent_bytes);
    pool = std::make_unique<SegmentPool>(*disk, geometry, 1);
    reader = std::make_unique<BodyReader>(*disk, geometry, *image, *pool);
    pool->start(0);
    for (std::uint64_t i = 0; i < segments; ++i) ASSERT_TRUE(pool->create_now());
    pool->enter(segments - 1);
    image->start(0);
    image->skip_to(segments * geometry.segment_bytes / extent_bytes);
    messages.clear();
    come.clear();
    end = 0;
  }

  // --- the medium ---
  // Puts a message on the disk only, behind the one before.
  void put(std::size_t bytes) {
    std::string body = "body " + std::to_string(messages.size()) + " ";
    while (body.size() < bytes) body += static_cast<char>('a' + (body.size() * 7) % 26);
    Content content;
    content.body = body;
    const SendRecord record{QueueId{7}, messages.size() + 1, now, now, &content};
    std::vector<std::byte> encoded(send_bytes(record));
    if (geometry.extent_end(end) - end < encoded.size()) end = geometry.extent_end(end);
    end = geometry.frame_position(end);
    encoded.resize(encode_send(encoded.data(), record, geometry.stream));
    disk->overwrite(segment_name(geometry.segment_of(end)), geometry.offset_of(end), encoded);
    image->hold(end);
    pool->add_live(geometry.segment_of(end));
    messages.push_back({body, end});
    end += encoded.size();
  }
  void put_many(std::size_t count, std::size_t bytes) {
    for (; count > 0; --count) put(bytes);
  }
  // Puts `count` messages into each of `extents` extents: number i of extent e is e * count + i.
  void put_extents(std::uint64_t extents, std::size_t count) {
    for (std::uint64_t e = 0; e < extents; ++e) {
      end = e * extent_bytes;
      put_many(count, 2000);
    }
  }
  void flip(std::size_t message, std::uint64_t byte, unsigned bit) {
    const LogPos position = messages[message].position + byte;
    disk->flip_bit(segment_name(geometry.segment_of(position)), geometry.offset_of(position), bit);
  }

  // --- the reader ---
  void want(std::size_t message) {
    reader->want(
        {.position = messages[message].position, .delivery = static_cast<std::uint32_t>(message)});
  }
  void want_range(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) want(i);
  }
  void take() {
    WantedBody wanted;
    std::span<const std::byte> record;
    while (reader->next(wanted, record)) {
      EXPECT_EQ(wanted.position, messages[wanted.delivery].position);
      come.push_back({wanted.delivery, std::nullopt});
      if (!record.empty()) come.back().body = trusted_send(record.data()).content.body;
    }
  }
  void run() {
    for (int i = 0; i < 1000; ++i) {
      reader->pump();
      take();
      disk->settle();
      if (reader->idle() && disk->in_flight() == 0) break;
    }
    ASSERT_TRUE(reader->idle());
  }
  void release(std::size_t message) {
    image->release(messages[message].position);
    pool->release(geometry.segment_of(messages[message].position), 0);
  }
  // Numbers of the whole messages that arrived since the last call; each body is checked.
  std::vector<std::size_t> whole() {
    std::vector<std::size_t> numbers;
    for (const Come& one : come) {
      if (!one.body) continue;
      EXPECT_EQ(*one.body, messages[one.message].body) << one.message;
      numbers.push_back(one.message);
    }
    std::ranges::sort(numbers);
    come.clear();
    return numbers;
  }
  std::vector<std::size_t> range(std::size_t from, std::size_t to) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = from; i < to; ++i) numbers.push_back(i);
    return numbers;
  }
  std::uint64_t reads() const { return disk->stats().reads + disk->stats().faults; }

  std::unique_ptr<sim::SimDisk> disk;
  std::unique_ptr<Image> image;
  std::unique_ptr<SegmentPool> pool;
  std::unique_ptr<BodyReader> reader;
  std::vector<WantedMessage> messages;
  std::vector<Come> come;
  Lsn end = 0;
  Instant now{1'700'000'000'000};
};

// --- bytes read ---

TEST_F(BodyReaderTest, AFewMessagesOfAnExtentAreReadInPieces) {
  put_extents(2, 20);
  for (const std::size_t message : {0, 5, 12, 25}) want(message);
  run();
  EXPECT_EQ(whole(), (std::vector<std::size_t>{0, 5, 12, 25}));
  EXPECT_EQ(reads(), 4u);
  EXPECT_EQ(reader->bytes_read(), 4 * BodyReader::piece_bytes);
  EXPECT_EQ(image->bytes(), 0u);
  EXPECT_EQ(reader->damaged(), 0u);
}

TEST_F(BodyReaderTest, APieceEndsWhereTheExtentDoes) {
  put_extents(1, 30);
  want(29);
  run();
  EXPECT_EQ(whole(), range(29, 30));
  EXPECT_LT(reader->bytes_read(), BodyReader::piece_bytes);
}

TEST_F(BodyReaderTest, ARecordLongerThanAPieceIsReadInTwo) {
  put(100);
  put(40'000);
  put(BodyReader::piece_bytes - 100);  // slightly more than a piece, counted from its block
  put(100);
  for (const std::size_t message : {1, 3, 2}) want(message);
  run();
  EXPECT_EQ(whole(), range(1, 4));
  EXPECT_EQ(reads(), 5u);
  want(0);
  run();
  EXPECT_EQ(whole(), range(0, 1));
  EXPECT_EQ(reads(), 6u);
}

TEST_F(BodyReaderTest, WhenMoreAndMoreOfAnExtentIsWantedAllOfItIsRead) {
  put_extents(1, 20);
  for (std::size_t i = 0; i + 1 < BodyReader::whole_after; ++i) {
    want(i);
    run();
    EXPECT_FALSE(image->has(0));
  }
  want(10);
  run();
  EXPECT_TRUE(image->has(0));
  EXPECT_EQ(reads(), std::uint64_t{BodyReader::whole_after});
  want_range(11, 20);  // the test does not check the image first
  run();
  EXPECT_EQ(reads(), std::uint64_t{BodyReader::whole_after});
  EXPECT_EQ(whole().size(), BodyReader::whole_after + 9);
}

TEST_F(BodyReaderTest, ManyWantedAtOnceAreReadTogether) {
  put_extents(2, 20);
  want_range(0, 40);
  run();
  EXPECT_EQ(whole(), range(0, 40));
  EXPECT_TRUE(image->has(0));
  EXPECT_TRUE(image->has(1));
  EXPECT_EQ(reader->bytes_read(), 2 * extent_bytes);
}

TEST_F(BodyReaderTest, AnExtentBehindOneThatIsThereBringsTheNextAlong) {
  put_extents(6, 10);
  want_range(10, 20);
  run();
  EXPECT_TRUE(image->has(1));
  EXPECT_FALSE(image->has(2)) << "nobody goes in order yet";
  want_range(20, 30);
  run();
  EXPECT_TRUE(image->has(3)) << "ahead";
  EXPECT_FALSE(image->has(4));
  EXPECT_EQ(whole(), range(10, 30));

  const LogPos first = messages[30].position;
  EXPECT_TRUE(image->touch(first));
  reader->read_ahead(geometry.extent_of(first) + 1);
  run();
  EXPECT_TRUE(image->has(4)) << "as soon as that is used";
  EXPECT_FALSE(image->touch(first));
  EXPECT_EQ(reads(), 4u);
}

TEST_F(BodyReaderTest, NothingIsReadAheadInVain) {
  put_extents(3, 10);
  want_range(0, 10);
  run();
  ASSERT_TRUE(image->has(0));
  struct Case {
    const char* name;
    std::uint64_t extent;
  };
  const Case cases[] = {
      {"in memory",        0                                               },
      {"without messages", 8                                               },
      {"not settled",      segments * geometry.segment_bytes / extent_bytes},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    reader->read_ahead(c.extent);
    run();
    EXPECT_EQ(reads(), 1u);
  }
  reader->read_ahead(2);
  run();
  EXPECT_EQ(reads(), 2u);
}

TEST_F(BodyReaderTest, WhoWantsWhatIsBeingReadAheadWaitsForThat) {
  put_extents(2, 10);
  reader->read_ahead(1);
  reader->pump();
  want(15);
  run();
  EXPECT_EQ(whole(), range(15, 16));
  EXPECT_EQ(reads(), 1u);
}

// --- limits ---

TEST_F(BodyReaderTest, ReadsBeyondTheMostThereMayBeWaitForTheirTurn) {
  open(0);
  put_extents(4, 20);
  want_range(0, 80);
  reader->pump();
  EXPECT_EQ(disk->in_flight(), BodyReader::reads_max);
  reader->pump();
  EXPECT_EQ(disk->in_flight(), BodyReader::reads_max);
  EXPECT_FALSE(reader->due()) << "nothing to do until one is done";
  run();
  EXPECT_EQ(whole(), range(0, 80));
  EXPECT_EQ(image->bytes(), 0u) << "no memory: all in pieces";
}

TEST_F(BodyReaderTest, AllComeHoweverLittleMemoryThereIs) {
  for (std::uint64_t memory = 1; memory <= 3; ++memory) {
    SCOPED_TRACE(memory);
    open(memory);
    put_extents(12, 20);
    std::vector<std::size_t> order = range(0, messages.size());
    sim::Random(memory).shuffle(std::span(order));
    for (const std::size_t message : order) {
      want(message);
      if (message % 16 != 0) continue;
      reader->pump();
      disk->settle();
      reader->pump();
      take();
      EXPECT_LE(image->bytes(), memory * extent_bytes);
    }
    run();
    EXPECT_EQ(whole(), range(0, messages.size()));
    EXPECT_LE(image->bytes(), memory * extent_bytes);
    EXPECT_EQ(reader->damaged(), 0u);
  }
}

TEST_F(BodyReaderTest, WhatLeavesTheMemoryBeforeItIsTakenIsReadAgain) {
  open(1);
  put_extents(2, 10);
  want_range(0, 10);
  run();
  whole();
  ASSERT_TRUE(image->has(0));
  want(3);
  reader->pump();
  ASSERT_EQ(reads(), 1u) << "it is there";
  ASSERT_TRUE(image->make_space());
  ASSERT_FALSE(image->has(0));
  run();
  EXPECT_EQ(whole(), range(3, 4));
  EXPECT_EQ(reads(), 2u);
}

// --- damage ---

TEST_F(BodyReaderTest, AnExtentThatCannotBeReadAsAWholeIsReadInPieces) {
  put_extents(1, 20);
  disk->fail_next_read(EIO);
  want_range(0, 20);
  run();
  EXPECT_EQ(whole(), range(0, 20));
  EXPECT_EQ(reads(), 1u + 20);
  EXPECT_EQ(reader->damaged(), 0u);
  EXPECT_EQ(image->bytes(), 0u);
  want_range(0, 20);
  run();
  EXPECT_EQ(whole(), range(0, 20));
  EXPECT_EQ(reads(), 1u + 20 + 20) << "the whole was not tried again";
}

TEST_F(BodyReaderTest, APieceThatCannotBeReadCostsItsMessageAlone) {
  for (const bool cut_short : {false, true}) {
    SCOPED_TRACE(cut_short);
    open(16);
    put_extents(1, 3);
    cut_short ? disk->short_next_read(block_bytes) : disk->fail_next_read(EIO);
    want_range(0, 3);
    run();
    EXPECT_EQ(come.size(), 3u);
    EXPECT_EQ(whole().size(), 2u);
    EXPECT_EQ(reader->damaged(), 1u);
    want_range(0, 3);
    run();
    EXPECT_EQ(whole(), range(0, 3)) << "it was the disk's mood";
    EXPECT_EQ(reader->damaged(), 1u);
  }
}

TEST_F(BodyReaderTest, TheSecondReadOfALongRecordMayFailToo) {
  put(40'000);
  disk->fail(sim::IoKind::read, EIO, 1);
  want(0);
  run();
  ASSERT_EQ(come.size(), 1u);
  EXPECT_FALSE(come[0].body);
  EXPECT_EQ(reader->damaged(), 1u);
}

TEST_F(BodyReaderTest, EverythingFailsAndAllAreToldSo) {
  put_extents(3, 20);
  disk->fail(sim::IoKind::read, EIO, 0, true);
  want_range(0, 60);
  run();
  EXPECT_EQ(come.size(), 60u);
  EXPECT_EQ(reader->damaged(), 60u);
  EXPECT_EQ(whole().size(), 0u);
  EXPECT_EQ(image->bytes(), 0u);
}

TEST_F(BodyReaderTest, AFlippedBitOfAnExtentCostsTheMessageItLiesIn) {
  put_extents(1, 20);
  flip(7, 500, 3);
  want_range(0, 20);
  run();
  EXPECT_EQ(come.size(), 20u);
  std::vector<std::size_t> rest = range(0, 20);
  rest.erase(rest.begin() + 7);
  EXPECT_EQ(whole(), rest);
  EXPECT_EQ(reader->damaged(), 1u);
}

TEST_F(BodyReaderTest, EveryFlippedBitOfAHeadIsNoticed) {
  put_extents(1, 20);
  disk->fail_next_read(EIO);
  want_range(0, 20);
  run();
  ASSERT_TRUE(image->unreadable(0)) << "in pieces from here on";
  whole();
  for (std::uint64_t byte = 0; byte < 16; ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      flip(4, byte, bit);
      want_range(3, 6);
      run();
      EXPECT_EQ(whole(), (std::vector<std::size_t>{3, 5})) << "byte " << byte << " bit " << bit;
      flip(4, byte, bit);
    }
  }
  EXPECT_EQ(reader->damaged(), 16u * 8);
}

// --- messages released meanwhile ---

TEST_F(BodyReaderTest, WhatWasReleasedMeanwhileComesAndHoldsItsSegmentUntilThen) {
  for (const std::size_t count : {1, 3, 10}) {  // pieces, or the whole extent
    SCOPED_TRACE(count);
    open(16);
    put_extents(1, count);
    want_range(0, count);
    for (std::size_t i = 0; i < count; ++i) release(i);
    pool->retire(segments - 1, UINT64_MAX);
    ASSERT_TRUE(pool->ready(0));
    reader->pump();
    pool->retire(segments - 1, UINT64_MAX);
    ASSERT_TRUE(pool->ready(0));
    run();
    EXPECT_EQ(whole(), range(0, count));
    pool->retire(segments - 1, UINT64_MAX);
    EXPECT_FALSE(pool->ready(0));
    EXPECT_EQ(image->bytes(), 0u);
    image->forget(4);
  }
}

TEST_F(BodyReaderTest, WhatIsReadAheadHoldsItsSegmentWhileItIsRead) {
  put_extents(2, 1);
  release(0);
  reader->read_ahead(1);
  reader->pump();
  release(1);
  pool->retire(segments - 1, UINT64_MAX);
  EXPECT_TRUE(pool->ready(0));
  run();
  pool->retire(segments - 1, UINT64_MAX);
  EXPECT_FALSE(pool->ready(0));
  EXPECT_EQ(image->bytes(), 0u);
}

TEST_F(BodyReaderTest, OneMessageMayBeWantedTwice) {
  put_extents(1, 1);
  want(0);
  want(0);
  release(0);
  run();
  EXPECT_EQ(whole(), (std::vector<std::size_t>{0, 0}));
  pool->retire(segments - 1, UINT64_MAX);
  EXPECT_FALSE(pool->ready(0));
}

}  // namespace
}  // namespace pawl

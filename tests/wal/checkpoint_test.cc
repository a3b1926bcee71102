// What a user of Log relies on from checkpoints: a start reads no more than it has to, never less than was
// acknowledged, and says what is missing.
#include "core/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/wal/log_fixture.h"
#include "wal/checkpoint_records.h"
#include "wal/records.h"

namespace pawl {
namespace {

class Checkpoints : public LogTest {
 protected:
  using Files = std::map<std::string, std::vector<std::byte>>;

  void SetUp() override {
    open();
    settle();
  }
  // Each durable in a frame of its own.
  void send_some(std::size_t messages, std::size_t bytes = 40) {
    for (; messages > 0; --messages) {
      ++seq;
      send(seq, body_of(seq, bytes));
    }
  }
  void fill_to(std::uint64_t number) {
    while (appended / options.segment_bytes < number) send_some(1, 9000);
  }
  void remove(Seq s) {
    const LogPos position = alive.at(s);
    append_remove(s);
    log->release(position);
  }
  void remove_all_but(Seq kept) {
    for (Seq s = 1; s <= seq; ++s) {
      if (s != kept && alive.contains(s)) remove(s);
    }
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
  std::string place(Lsn lsn) const {
    return segment_name(lsn / options.segment_bytes) + " offset " +
           std::to_string(lsn % options.segment_bytes);
  }
  LogFrameHeader header(Lsn lsn) {
    LogFrameHeader read;
    std::memcpy(&read, at(lsn), sizeof read);
    return read;
  }
  Files keep() const {
    Files files;
    for (const auto& [name, bytes] : disk->files) files[name] = *bytes;
    return files;
  }
  void put_back(const Files& files) {
    log.reset();
    disk->files.clear();
    for (const auto& [name, bytes] : files)
      disk->files[name] = std::make_shared<std::vector<std::byte>>(bytes);
  }
  void expect_messages(const std::vector<Seq>& wanted, std::size_t bytes = 40) {
    ASSERT_EQ(found.messages.size(), wanted.size());
    for (const Seq s : wanted) {
      ASSERT_TRUE(found.messages.contains({7, s})) << s;
      EXPECT_EQ(found.messages.at({7, s}).body, body_of(s, bytes));
    }
  }
  // Of test_queue; without an end.
  void append_slice(const std::vector<Seq>& named) {
    CheckpointSlice slice;
    slice.heads.push_back({test_queue, seq + 1});
    PlacesRecord places{.queue = test_queue, .entries = {}};
    for (const Seq s : named) places.entries.push_back({s, alive.at(s)});
    slice.records.emplace_back(std::move(places));
    log->append(slice, now);
    appended = log->appended();
  }
  // Pumps with finished writes until the manifest's is under way, and leaves it so.
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
  void let_go() {
    disk->finish_all();
    disk->hold = disk->trace = false;
    settle();
  }
  // Or the one that is written next.
  std::string newest_manifest_name(bool newest) {
    return std::string(manifest_names[(manifest().generation + (newest ? 0 : 1)) % 2]);
  }

  Seq seq = 0;  // the latest
};

// --- what is read ---

TEST_F(Checkpoints, AStartReadsFromTheLatestOneOn) {
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
  for (Seq s = 1; s <= 5; ++s) remove(s);
  settle();
  const Lsn end = log->durable();
  checkpoint_durably();
  send_some(1);
  std::memset(at(block_bytes), 0xee, end - block_bytes);
  open();
  expect_messages({6});
}

TEST_F(Checkpoints, WhatHappensBetweenItsSlicesIsTrue) {
  send_some(6);
  log->begin_checkpoint();
  append_slice({1, 2, 3});
  remove(2);
  append_receive(3);
  send_some(1);  // 7, in a later slice too
  remove(5);     // not named any more
  send_some(1);
  remove(8);
  append_slice({4, 6, 7});
  remove(4);
  log->end_checkpoint();
  send_some(1);
  settle();
  open();
  expect_messages({1, 3, 6, 7, 9});
  EXPECT_TRUE(found.received.contains({7, 3}));
  for (const Seq s : {1, 3, 6, 7, 9}) remove(s);
  settle();
  checkpoint_durably();
  EXPECT_EQ(log->stats().segments, 1u);
  open();
  expect_messages({});
}

TEST_F(Checkpoints, OneOfManyFramesIsReadWhole) {
  fill_to(1);
  log->begin_checkpoint();
  for (Seq s = 1; s <= seq; ++s) {
    append_slice({s});
    settle();
  }
  log->end_checkpoint();
  settle();
  std::vector<Seq> all;
  for (Seq s = 1; s <= seq; ++s) all.push_back(s);
  open();
  expect_messages(all, 9000);
  EXPECT_EQ(report.frames, all.size());
}

// --- the one before stays in force ---

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

// All of it is on disk; the manifest that names it is not, or half.
TEST_F(Checkpoints, OneThatNoWholeManifestNamesCountsForNothing) {
  send_some(3);
  checkpoint_durably();
  const Lsn before = manifest().checkpoint;
  const std::string written = newest_manifest_name(false);
  send_some(2);
  checkpoint();
  pump_to_manifest();
  const Files unwritten = keep();
  let_go();
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
  let_go();
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
  // The one message left of segment 2, and the tail in segment 5.
  void SetUp() override {
    Checkpoints::SetUp();
    fill_to(5);
    for (const auto& [s, position] : alive) {
      if (position / options.segment_bytes == 2) kept = s;
    }
    remove_all_but(kept);
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
    remove_all_but(kept);
    checkpoint_durably();
    EXPECT_EQ(log->stats().segments, 2u);
    EXPECT_LE(disk->files.size(), 2u + 2 + 2 + 2) << "in use, spare, for the next, manifests";
    EXPECT_EQ(disk->content(kept_in), bytes);
    open();
    expect_messages({kept}, 9000);
    settle();
    EXPECT_EQ(log->stats().segments, 2u);
  }
  remove(kept);
  settle();
  EXPECT_EQ(log->stats().segments, 1u);
  fill_to(17);
  EXPECT_FALSE(disk->files.contains(kept_in));
}

TEST_F(OlderSegments, AMessageThatIsDeletedAfterTheCheckpointIsNotMissed) {
  remove(kept);
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

// A message answers for itself; its segment's header may be believed or not.
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
  remove_all_but(kept);
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

// At the same place in each there is a whole message, with a hash that is right.
TEST_F(Checkpoints, OlderSegmentsThatWereSwappedNeverGiveAnotherMessage) {
  fill_to(5);
  std::map<std::uint64_t, Seq> kept;  // the first message of each segment
  for (const auto& [s, position] : alive) kept.insert({position / options.segment_bytes, s});
  for (Seq s = 1; s <= seq; ++s) {
    if (s != kept.at(2) && s != kept.at(3)) remove(s);
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

// --- damage in it ---

class DamagedCheckpoint : public Checkpoints {
 protected:
  void expect_refused(Lsn frame) {
    ASSERT_EQ(try_open(), Errc::corrupt);
    ASSERT_TRUE(complaint.contains(place(frame) + ":")) << complaint;
  }
};

TEST_F(DamagedCheckpoint, IsRefusedByPlaceAndNeverATornEnd) {
  fill_to(1);
  log->begin_checkpoint();
  for (Seq s = 1; s <= seq; ++s) {
    append_slice({s});
    settle();
  }
  log->end_checkpoint();
  settle();
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
    // What does not look like a frame at all is named, or the last one before it.
    put_back(good);
    std::memset(at(frame), 0, block_bytes);
    EXPECT_EQ(try_open(), Errc::corrupt);
    EXPECT_TRUE(complaint.contains(place(frame) + ":") ||
                complaint.contains("follows the one at " + place(frame - block_bytes)))
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

// --- its records alone ---

constexpr std::uint64_t stream = 0x1122'3344'5566'7788;
constexpr std::size_t length_at = 4, hash_at = 8, body_at = 12, count_at = 16;

struct Nothing final : RecordSink {
  void send(const StoredMessage&, std::size_t) override { ++seen; }
  void receive(const ReceiveRecord&) override { ++seen; }
  void remove(const RemoveRecord&) override { ++seen; }
  void purge(const PurgeRecord&) override { ++seen; }
  void config(const ConfigRecord&) override { ++seen; }
  void head(const HeadRecord&) override { ++seen; }
  void task(const TaskRecord&) override { ++seen; }
  void settled(const SettledRecord&) override { ++seen; }
  void checkpoint(const CheckpointRecord&) override { ++seen; }
  int seen = 0;
};

// One record, with its hash as it should be.
Errc decoded(std::vector<std::byte> record, std::size_t length) {
  record.resize(align_record(length), std::byte{0});
  const auto stored = static_cast<std::uint32_t>(length);
  std::memcpy(record.data() + length_at, &stored, sizeof stored);
  std::uint64_t first;
  std::memcpy(&first, record.data(), sizeof first);
  const auto hash = static_cast<std::uint32_t>(
      hash_bytes({record.data() + body_at, length - body_at}, stream ^ first));
  std::memcpy(record.data() + hash_at, &hash, sizeof hash);
  Nothing sink;
  const auto read = decode_records(record, 1, stream, sink);
  EXPECT_EQ(sink.seen, read ? 1 : 0) << "half a record was given out";
  return read ? Errc::ok : read.error().code;
}

struct Sample {
  const char* name;
  std::function<void(std::byte*)> encode;
  std::vector<std::size_t> counts;  // where they are

  std::vector<std::byte> record() const {
    std::vector<std::byte> bytes(4096);
    encode(bytes.data());
    std::uint32_t length;
    std::memcpy(&length, bytes.data() + length_at, sizeof length);
    bytes.resize(length);
    return bytes;
  }
};

const std::vector<Sample> samples = {
    {"places",
     [](std::byte* out) {
       const PlacesRecord::Entry entries[] = {
           {                   1,                           4096}, {                     2, 8192}, {                     900,                     1 << 20}};
       encode_places(out, QueueId{1}, entries, stream);
     }, {count_at}},
    {"states",
     [](std::byte* out) {
       const StatesRecord::Entry entries[] = {
           {1, 4096, Instant{5000}, Instant{4000}, 10, 1, 77, {}},
           {9, 8192, Instant{6000}, Instant{4500}, 20, 2, 78, {1, 2}},
           {10, 9000, Instant{6000}, Instant{4500}, 20, 2, 78, {1, 2}}};
       encode_states(out, QueueId{1}, true, entries, stream);
     }, {count_at}},
    {"times",
     [](std::byte* out) {
       encode_times(
           out,
           {
               .queue = QueueId{1},
               .first = true,
               .end = 12,
               .buckets = {{1, Instant{1000}, Instant{2000}}, {7, Instant{3000}, Instant{3500}}},
               .aged = {{1500, 3}, {1700, 5}}},
           stream);
     }, {count_at, count_at + 4}},
    {"dedup",
     [](std::byte* out) {
       const Dedup::Entry entries[] = {
           {{1, 2}, 1, Instant{1000}}, {{3, 4}, 2, Instant{2000}}};
       encode_dedup(out, QueueId{1}, entries, stream);
     }, {count_at}},
    {"unsettled",
     [](std::byte* out) {
       encode_unsettled(out,
                        {
                            .from = {ShardId{1}, QueueId{2}, 3}, .queue = QueueId{4}, .task = 5},
                        stream);
     }, {}},
};

TEST(CheckpointRecords, OfAnyOtherLengthAreRefused) {
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    const auto record = sample.record();
    ASSERT_EQ(decoded(record, record.size()), Errc::ok);
    for (std::size_t length = body_at; length < record.size() + 20; ++length) {
      if (length == record.size()) continue;
      EXPECT_EQ(decoded(record, length), Errc::corrupt) << length;
    }
  }
}

TEST(CheckpointRecords, WithAnyOtherCountAreRefused) {
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    for (const std::size_t where : sample.counts) {
      const auto good = sample.record();
      std::uint32_t count;
      std::memcpy(&count, good.data() + where, sizeof count);
      for (const std::uint32_t other :
           {0u, count - 1, count + 1, 2 * count, 1u << 16, UINT32_MAX}) {
        auto record = good;
        std::memcpy(record.data() + where, &other, sizeof other);
        EXPECT_EQ(decoded(record, record.size()), Errc::corrupt) << other << " of " << count;
      }
    }
  }
}

TEST(CheckpointRecords, WithANumberOrAPositionOutOfRangeAreRefused) {
  const auto places = [](Seq seq, LogPos position) {
    std::vector<std::byte> bytes(256);
    const PlacesRecord::Entry entries[] = {
        {1,   4096    },
        {seq, position}
    };
    bytes.resize(encode_places(bytes.data(), QueueId{1}, entries, stream));
    return bytes;
  };
  const auto states = [](Seq seq, LogPos position) {
    std::vector<std::byte> bytes(256);
    const StatesRecord::Entry entries[] = {
        {.seq = 1,   .position = 4096    },
        {.seq = seq, .position = position}
    };
    bytes.resize(encode_states(bytes.data(), QueueId{1}, false, entries, stream));
    return bytes;
  };
  constexpr struct {
    const char* name;
    Seq seq;
    LogPos position;
    Errc want;
  } cases[] = {
      {"the last of both",  seq_max,     log_pos_max,     Errc::ok     },
      {"number",            seq_max + 1, 8192,            Errc::corrupt},
      {"largest number",    UINT64_MAX,  8192,            Errc::corrupt},
      {"position",          2,           log_pos_max + 1, Errc::corrupt},
      {"largest position",  2,           UINT64_MAX,      Errc::corrupt},
      {"the same position", 2,           4096,            Errc::ok     },
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    for (const auto& record : {places(c.seq, c.position), states(c.seq, c.position)}) {
      Nothing sink;
      const auto read = decode_records(record, 1, stream, sink);
      EXPECT_EQ(read ? Errc::ok : read.error().code, c.want);
    }
  }
}

TEST(CheckpointRecords, WithAValueThatNoVersionWroteAreRefused) {
  constexpr struct {
    const char* name;
    std::size_t sample, at;
    unsigned char value;
  } cases[] = {
      {"places: the same number again", 0, 23, 0},
      {"states: FIFO is 0 or 1",        1, 20, 2},
      {"states: grouped is 0 or 1",     1, 34, 2},
      {"times: first or not is 0 or 1", 2, 24, 2},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto record = samples[c.sample].record();
    EXPECT_LE(record[c.at], std::byte{1});
    record[c.at] = std::byte{c.value};
    EXPECT_EQ(decoded(record, record.size()), Errc::corrupt);
  }
}

}  // namespace
}  // namespace pawl

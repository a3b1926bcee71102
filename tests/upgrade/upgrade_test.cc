// SPDX-License-Identifier: Apache-2.0
// Logs of older versions: all their content is there at the first startup and at the next one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <tuple>

#include "proto/aws/message_attributes.h"
#include "proto/sns/topic.h"
#include "tests/upgrade/one_shard_broker.h"
#include "tests/upgrade/story.h"
#include "wal/format/format.h"
#include "wal/format/records.h"

namespace pawl::upgrade {
namespace {

namespace fs = std::filesystem;

// The N of v<N>.
int version_of(const fs::path& directory) {
  return std::stoi(directory.filename().string().substr(1));
}

// The fixtures in numeric order: v1, v2 ... v10.
std::vector<fs::path> directories() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(PAWL_FIXTURES)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with('v'))
      found.push_back(entry.path());
  }
  std::ranges::sort(found, {}, version_of);
  return found;
}

void load(const fs::path& directory, Fixture& fixture) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const std::string name = entry.path().filename();
    if (entry.path().extension() == receipt_suffix) {
      ReceiptHandle& handle = fixture.receipts[entry.path().stem()];
      ASSERT_EQ(bytes.size(), handle.size());
      std::memcpy(handle.data(), bytes.data(), bytes.size());
    } else {
      auto& file = fixture.disk.files[name];
      file = std::make_shared<std::vector<std::byte>>(bytes.size());
      std::memcpy(file->data(), bytes.data(), bytes.size());
    }
  }
}

using Bodies = std::vector<std::string_view>;
using Deliveries = std::map<std::string_view, Delivery>;  // by body

struct Start {
  fs::path directory;
  bool second = false;  // the log was opened before, and has entered new segments

  friend void PrintTo(const Start& start, std::ostream* out) {
    *out << start.directory.filename().string() << (start.second ? "_again" : "");
  }
};

class Upgrade : public testing::TestWithParam<Start> {
 protected:
  void SetUp() override {
    load(GetParam().directory, fixture);
    if (GetParam().second) {
      start(opened - milliseconds(500), 2);
      if (HasFatalFailure()) return;
      broker->wear_out(broker->create({std::string(account), "more", {}, {}})->id, 8);
    }
    start(opened, 3);
  }
  void start(Instant now, std::uint32_t nonce_seed) {
    broker.reset();
    broker = std::make_unique<OneShardBroker>(fixture.disk, now, nonce_seed);
    ASSERT_EQ(broker->open(), "");
  }
  int version() const { return version_of(GetParam().directory); }
  QueueId id(std::string_view name) {
    const ConfigPtr config = broker->config(account, name);
    EXPECT_NE(config, nullptr) << name;
    return config == nullptr ? QueueId::none : config->id;
  }
  // Checks visible, in-flight and delayed messages.
  void expect_counts(std::string_view queue, QueueCounts want) {
    const QueueCounts got = broker->count(id(queue));
    EXPECT_TRUE(got.visible == want.visible && got.in_flight == want.in_flight &&
                got.delayed == want.delayed)
        << queue << " " << got.visible << "/" << got.in_flight << "/" << got.delayed;
  }
  // All visible messages, by body.
  Deliveries receive(std::string_view queue) {
    Deliveries all;
    for (const Delivery& received : broker->receive(id(queue), 10, hidden))
      all.emplace(received.content.body, received);
    return all;
  }
  static Bodies bodies(const Deliveries& all) {
    Bodies found;
    for (const auto& [body, received] : all) found.push_back(body);
    return found;
  }
  static void expect_sent(const Delivery& received, const Content& want) {
    const Content& got = received.content;
    const auto texts = [](const Content& c) {
      return std::tie(c.body, c.attributes, c.system, c.sender, c.group, c.dedup_id);
    };
    EXPECT_EQ(texts(got), texts(want));
    ASSERT_EQ(got.body_md5 != nullptr, want.body_md5 != nullptr);
    EXPECT_TRUE(got.body_md5 == nullptr || *got.body_md5 == *want.body_md5);
    EXPECT_TRUE(received.sent > begun && received.sent < ended) << received.sent.ms;
  }

  Fixture fixture;
  std::unique_ptr<OneShardBroker> broker;
};

TEST_P(Upgrade, TheEndIsTornOnceAndTimeGoesOn) {
  EXPECT_EQ(broker->report().torn_at != 0, !GetParam().second);
  EXPECT_FALSE(broker->report().created);
  EXPECT_GT(newest_manifest(fixture.disk).first, 0u) << "segments were used again";
  EXPECT_GT(broker->report().newest, begun);
  EXPECT_LT(broker->report().newest, opened);
}

TEST_P(Upgrade, QueuesAreAsTheyWereSet) {
  std::uint32_t number = 0;
  for (const QueueSpec& spec : queues(version())) {
    SCOPED_TRACE(spec.name);
    ++number;
    const ConfigPtr config = broker->config(spec.account, spec.name);
    ASSERT_EQ(config == nullptr, spec.name == churn || spec.name == last);
    if (config == nullptr) continue;
    EXPECT_EQ(config->id, QueueId{number});
    EXPECT_TRUE(config->created > begun && config->created < ended);
    if (spec.name == mail || spec.name == played || spec.name == news) continue;
    EXPECT_EQ(config->modified, config->created);
    for (const AttributeChange& change : spec.changes) EXPECT_TRUE(config->has(change));
    EXPECT_TRUE(config->tags.empty());
  }
  const ConfigPtr config = broker->config(account, mail);
  for (const AttributeChange& change : mail_changes()) EXPECT_TRUE(config->has(change));
  EXPECT_EQ(config->tags, mail_tags);
  EXPECT_GT(config->modified, config->created);
  if (version() < 5) return;
  EXPECT_EQ(broker->config(account, played)->replay_retention(),
            seconds(play_retention(version())));
}

TEST_P(Upgrade, ATopicHasItsSubscription) {
  const ConfigPtr row = broker->config(topics, news);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->kind, ConfigKind::topic);
  EXPECT_EQ(broker->config(account, mail)->kind, ConfigKind::queue);
  const SnsTopic topic = SnsTopic::from(*row);
  EXPECT_EQ(value_of(topic.attributes, "DisplayName"), "d");
  ASSERT_EQ(topic.subscriptions.size(), version() < 6 ? 1u : 2u);
  EXPECT_EQ(value_of(topic.subscriptions[0].attributes, "RawMessageDelivery"), "true");
  if (version() < 6) return;
  EXPECT_EQ(topic.subscriptions[1].id, "2");
  EXPECT_EQ(topic.subscriptions[1].row, 1u);
}

TEST_P(Upgrade, NumbersOfQueuesAndMessagesAreNotUsedAgain) {
  const ConfigPtr again = broker->create({std::string(account), std::string(churn), {}, {}});
  EXPECT_GT(raw(again->id), queues(version()).size());
  expect_counts(churn, {0, 0, 0});
  EXPECT_EQ(broker->send(id(quiet), plain).seq, 2u);
}

TEST_P(Upgrade, NumbersThatWereReservedAreLeftOut) {
  if (version() < 4) return;  // no earlier fixture has reserved numbers
  EXPECT_GT(broker->send(id(hasty), plain).seq, 100'000u);
}

TEST_P(Upgrade, MessagesAreAsTheyWereSent) {
  expect_counts(mail, {2, 2, 1});
  const auto visible = receive(mail);
  ASSERT_EQ(bodies(visible), (Bodies{"full", "plain"}));
  for (const SendEntry& entry : {plain, full}) {
    const Delivery& received = visible.at(entry.content.body);
    expect_sent(received, entry.content);
    EXPECT_EQ(received.receive_count, 1u);
  }
  EXPECT_EQ(check_attributes(full.content.attributes), Errc::ok);
  EXPECT_EQ(check_attributes(full.content.system), Errc::ok);
}

TEST_P(Upgrade, WhatIsHiddenComesBackInTime) {
  for (const auto& [body, received] : receive(mail))
    broker->delete_message(id(mail), received.handle);
  broker->run(hidden);
  const auto back = receive(mail);
  ASSERT_EQ(bodies(back), (Bodies{returns}));
  EXPECT_EQ(back.begin()->second.receive_count, 2u);
  broker->delete_message(id(mail), back.begin()->second.handle);
  expect_counts(mail, {0, 1, 1});
  broker->run(delayed.delay);
  const auto last = receive(mail);
  ASSERT_EQ(bodies(last), (Bodies{"delayed", twice}));
  EXPECT_EQ(last.at(twice).receive_count, 3u);
  EXPECT_LT(last.at(twice).first_received - last.at(twice).sent, soon);
  EXPECT_EQ(last.at("delayed").receive_count, 1u);
}

TEST_P(Upgrade, AHandleOfThenDeletes) {
  for (const std::string_view body : {twice, returns}) {
    ASSERT_TRUE(fixture.receipts.contains(body));
    EXPECT_EQ(broker->delete_message(id(mail), fixture.receipts.find(body)->second), Errc::ok);
  }
  expect_counts(mail, {2, 0, 1});
}

TEST_P(Upgrade, WhatWasPurgedIsGoneAndTheNextPurgeHasToWait) {
  const auto visible = receive(cleared);
  ASSERT_EQ(bodies(visible), (Bodies{after_purge.content.body}));
  EXPECT_EQ(visible.begin()->second.seq, 2u);
  Request purge{.op = Op::purge, .queue = id(cleared)};
  EXPECT_EQ(broker->ask(purge), Errc::purge_in_progress);
}

TEST_P(Upgrade, AGroupIsInOrderAndADuplicateIsOne) {
  expect_counts(orders, {2, 1, 0});
  for (Seq seq = 1; seq <= std::size(ordered); ++seq) {
    const SendEntry sent = broker->send(id(orders), ordered[seq - 1]);
    EXPECT_TRUE(sent.duplicate);
    EXPECT_EQ(sent.seq, seq);
  }
  const auto others = receive(orders);
  ASSERT_EQ(bodies(others), (Bodies{"b1"}));
  expect_sent(others.at("b1"), ordered[2].content);
  const ReceiptHandle& handle = fixture.receipts.at("a1");
  EXPECT_EQ(broker->delete_message(id(orders), handle), Errc::ok);
  const auto next = receive(orders);
  ASSERT_EQ(bodies(next), (Bodies{"a2"}));
  expect_sent(next.at("a2"), ordered[1].content);
  EXPECT_EQ(broker->send(id(orders), ordered[0]).seq, 1u);
  SendEntry fresh = ordered[0];
  fresh.content.dedup_id = "new";
  EXPECT_EQ(broker->send(id(orders), fresh).seq, std::size(ordered) + 1) << "numbers go on";
}

TEST_P(Upgrade, DeadLettersAreInOneQueueAndSayWhereTheyComeFrom) {
  EXPECT_EQ(broker->shard().unsettled_transfers().size(), GetParam().second ? 0u : 1u);
  expect_counts(source, {0, 0, 0});
  expect_counts(dead_letters, {2, 0, 0});
  const auto visible = receive(dead_letters);
  ASSERT_EQ(bodies(visible), (Bodies{"dead", "landing"}));
  Seq seq = 0;
  for (const SendEntry& entry : {dead, landing}) {
    const Delivery& dead_letter = visible.at(entry.content.body);
    expect_sent(dead_letter, entry.content);
    EXPECT_EQ(dead_letter.content.origin, std::string(account) + "/" + std::string(source));
    EXPECT_EQ(dead_letter.id, message_id(test::test_secret(), id(source), ++seq));
    EXPECT_EQ(dead_letter.receive_count, 3u);
    EXPECT_LT(dead_letter.first_received - dead_letter.sent, soon);
  }
  broker->run(milliseconds(100));
  EXPECT_TRUE(broker->shard().unsettled_transfers().empty());
}

TEST_P(Upgrade, AMoveTaskGoesOnAndTheOldOnesAreKnown) {
  std::vector<MoveTask> tasks = broker->moves(id(moving));
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[2].status, MoveTask::Status::completed);
  EXPECT_EQ(tasks[2].moved, completed_before);
  EXPECT_EQ(tasks[2].destination, arrivals_path);
  EXPECT_EQ(tasks[1].status, MoveTask::Status::failed);
  EXPECT_EQ(tasks[1].failure, Errc::source_unknown);
  EXPECT_EQ(tasks[1].destination, "");
  EXPECT_EQ(tasks[0].number, 3u);
  EXPECT_EQ(tasks[0].status, MoveTask::Status::running);
  EXPECT_EQ(tasks[0].rate, move_rate);
  EXPECT_EQ(tasks[0].to_move, std::size(travellers));
  EXPECT_EQ(tasks[0].moved, moved_before(version()) + (GetParam().second ? 1 : 0));
  EXPECT_TRUE(tasks[0].started > begun && tasks[0].started < ended);
  EXPECT_EQ(broker->start_move(id(moving), arrivals_path, 0), Errc::task_running);
  broker->run(seconds(6));
  tasks = broker->moves(id(moving));
  EXPECT_EQ(tasks[0].status, MoveTask::Status::completed);
  EXPECT_EQ(tasks[0].moved, std::size(travellers));
  expect_counts(moving, {0, 0, 0});
  EXPECT_EQ(bodies(receive(arrivals)), Bodies(std::begin(travellers), std::end(travellers)));
}

TEST_P(Upgrade, AReplayTaskGoesOn) {
  if (version() < 5) return;
  std::vector<ReplayTask> tasks = broker->replays(id(played));
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].status, ReplayTask::Status::running);
  EXPECT_EQ(tasks[0].rate, play_rate);
  EXPECT_EQ(tasks[0].filter, play_filter);
  EXPECT_EQ(tasks[0].destination, played_path);
  EXPECT_TRUE(tasks[0].started > begun && tasks[0].started < ended);
  EXPECT_GE(tasks[0].sent, played_before);
  broker->run(seconds(6));
  tasks = broker->replays(id(played));
  EXPECT_EQ(tasks[0].status, ReplayTask::Status::completed);
  EXPECT_EQ(tasks[0].sent, std::size(tunes));
  EXPECT_EQ(bodies(receive(played)), Bodies(std::begin(tunes), std::end(tunes)));
}

TEST_P(Upgrade, RecoveryBeginsAtACheckpointAndOlderSegmentsHaveGaps) {
  if (version() < 2) return;  // no earlier fixture has checkpoints
  const Manifest manifest = newest_manifest(fixture.disk);
  EXPECT_EQ(manifest.first, manifest.checkpoint / manifest.segment_bytes);
  EXPECT_LE(manifest.checkpoint_end, manifest.durable);
  std::vector<std::uint64_t> numbers;
  for (const auto& [name, bytes] : fixture.disk.files) {
    if (const std::int64_t number = segment_number(name); number >= 0)
      numbers.push_back(static_cast<std::uint64_t>(number));
  }
  ASSERT_LT(numbers.front(), manifest.first) << "it holds messages";
  EXPECT_GT(numbers.back() + 1 - numbers.front(), numbers.size()) << "there is a gap";
  expect_counts(mill, {sacks - 1, 0, 1});
  const std::string sack(sack_bytes, 's');
  for (const Delivery& received : broker->receive(id(mill), sacks, hidden))
    EXPECT_EQ(received.content.body, sack);
  broker->run(delayed.delay);
  expect_counts(mill, {sacks, 0, 0});
}

// The first segment that is small and has a frame, or -1.
std::int64_t small_segment(const MemoryDisk& disk) {
  for (const auto& [name, bytes] : disk.files) {
    if (segment_number(name) < 0 || bytes->size() < 2 * block_bytes) continue;
    const auto header = read_segment_header(ConstBlock(bytes->data(), block_bytes));
    const bool has_frame = std::memcmp(bytes->data() + block_bytes, &frame_magic, 4) == 0;
    if (header && header->usable != 0 && has_frame) return segment_number(name);
  }
  return -1;
}

TEST_P(Upgrade, ASmallSegmentHasItsMessage) {
  if (version() < 7) return;  // no earlier fixture has a small segment
  EXPECT_GE(small_segment(fixture.disk), 0);
  const auto all = receive(early);
  EXPECT_EQ(bodies(all), (Bodies{std::string(early_bytes, 'e')}));
}

TEST_P(Upgrade, AProducersMessagesAreKnown) {
  if (version() < 8) return;  // no earlier fixture has a producer
  const QueueId queue = id(numbered);
  Seq number = 0;
  for (const std::uint64_t sequence : sequences) {
    const SendEntry again = broker->send_once(queue, producer, sequence);
    EXPECT_TRUE(again.duplicate) << sequence;
    EXPECT_EQ(again.seq, ++number);
  }
  EXPECT_FALSE(broker->send_once(queue, producer, 2).duplicate);
  expect_counts(numbered, {std::size(sequences) + 1, 0, 0});
}

TEST_P(Upgrade, MessagesThatShareABodyAreInTheirQueues) {
  if (version() < 9) return;  // no earlier fixture has such messages
  const auto raw = receive(twin), in_envelopes = receive(other_twin);
  EXPECT_EQ(bodies(raw), (Bodies{shared_bodies[1]}));
  ASSERT_EQ(bodies(in_envelopes), (Bodies{shared_bodies[0], shared_bodies[1]}));
  for (const auto& [body, received] : raw) {
    EXPECT_EQ(received.content.subscription, MessageId{});
    EXPECT_EQ(received.content.notification, "");
  }
  for (const auto& [body, received] : in_envelopes) {
    EXPECT_EQ(received.content.subscription, subscription);
    EXPECT_EQ(received.content.notification, shared_note);
    EXPECT_EQ(broker->delete_message(id(other_twin), received.handle), Errc::ok);
  }
  expect_counts(other_twin, {0, 0, 0});
}

TEST_P(Upgrade, ATopicKnowsTheNumbersThatItGave) {
  if (version() < 9) return;  // no earlier fixture has any
  const QueueId topic = broker->config(topics, news)->id;
  for (const Seq number : {1u, 2u}) {
    const SendEntry again = broker->take_number(topic, published[number - 1]);
    EXPECT_TRUE(again.duplicate) << number;
    EXPECT_EQ(again.seq, number);
  }
  EXPECT_GT(broker->take_number(topic, "another").seq, 2u);
}

std::vector<Start> starts() {
  std::vector<Start> all;
  for (const fs::path& directory : directories()) {
    all.push_back({directory, false});
    all.push_back({directory, true});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(, Upgrade, testing::ValuesIn(starts()), testing::PrintToStringParamName());

// The record types and fields that occur in a log.
struct Seen final : RecordSink {
  std::set<RecordType> types;
  std::uint16_t fields = 0;
  bool gone = false, deleted = false, reserved = false, progress = false;
  bool producer = false, in_envelope = false;
  std::span<const std::byte> records;  // of the current frame

  void send(const StoredMessage& message, std::size_t offset) override {
    types.insert(static_cast<RecordType>(records[offset]));
    producer |= message.producer.id != 0;
    in_envelope |= message.content.subscription != MessageId{};
    std::uint16_t of_this = 0;
    std::memcpy(&of_this, records.data() + offset + 2, sizeof of_this);
    fields |= of_this;
  }
  void receive(const ReceiveRecord&) override { types.insert(RecordType::receive); }
  void delete_message(const DeleteRecord&) override { types.insert(RecordType::delete_message); }
  void purge(const PurgeRecord&) override { types.insert(RecordType::purge); }
  void row(const RowRecord&) override { types.insert(RecordType::row); }
  void config(const ConfigRecord& record) override {
    types.insert(RecordType::config);
    gone |= record.gone;
  }
  void head(const HeadRecord& record) override {
    types.insert(RecordType::heads);
    reserved |= record.reserved;
  }
  void task(const TaskRecord& record) override {
    types.insert(RecordType::task);
    deleted |= !record.deleted.empty();
  }
  void forget_transfer(const ForgetTransferRecord&) override {
    types.insert(RecordType::forget_transfer);
  }
  void number(const NumberRecord&) override { types.insert(RecordType::number); }
  void replay(const ReplayRecord& record) override {
    types.insert(RecordType::replay);
    progress |= record.progress;
  }
  void checkpoint(const CheckpointRecord& record) override {
    if (std::holds_alternative<ProducersRecord>(record)) {
      types.insert(RecordType::producers);
      return;
    }
    if (std::holds_alternative<FiresRecord>(record)) {
      types.insert(RecordType::fires);
      return;
    }
    types.insert(static_cast<RecordType>(static_cast<std::size_t>(RecordType::index_entries) +
                                         record.index()));
  }
  void segment(const SegmentRecord&) override { types.insert(RecordType::segments); }
};

// Fails when the format is extended: write_fixture must use the new type or field, and a new
// fixture is due (README.md).
TEST(UpgradeFixture, TheNewestHasEveryTypeAndFieldOfThisVersion) {
  Fixture fixture;
  ASSERT_FALSE(directories().empty());
  load(directories().back(), fixture);
  const Manifest manifest = newest_manifest(fixture.disk);
  EXPECT_EQ(manifest.clean, 0u);
  Seen seen;
  for (const auto& [name, bytes] : fixture.disk.files) {
    if (bytes->empty()) continue;  // a segment being created
    std::uint32_t version = 0;
    std::memcpy(&version, bytes->data() + 4, sizeof version);
    EXPECT_EQ(version, block_version) << name;
    const std::int64_t number = segment_number(name);
    if (number < static_cast<std::int64_t>(manifest.first)) continue;
    const Lsn base = static_cast<std::uint64_t>(number) * manifest.segment_bytes;
    for (std::size_t at = block_bytes; at < bytes->size(); at += block_bytes) {
      const std::span<const std::byte> rest =
          std::span(*bytes).subspan(at, manifest.extent_bytes - at % manifest.extent_bytes);
      const FrameCheck check = check_frame(rest, manifest.stream, base + at);
      if (check.fault != LogFault::none) continue;
      EXPECT_EQ(check.header.version, frame_version);
      seen.records = rest.first(check.header.length).subspan(log_frame_header_bytes);
      ASSERT_TRUE(decode_records(seen.records, check.header.records, manifest.stream, seen));
    }
  }
  using enum RecordType;
  EXPECT_EQ(seen.types,
            (std::set{send, delete_message, receive, purge, config, heads, task, forget_transfer,
                      index_entries, tracked_messages, times, dedup, unsettled_transfer, segments,
                      replay, row, producers, fan_out, number}));
  EXPECT_EQ(seen.fields, known_fields);
  EXPECT_TRUE(seen.gone && seen.deleted && seen.reserved && seen.progress && seen.producer &&
              seen.in_envelope);
}

}  // namespace
}  // namespace pawl::upgrade

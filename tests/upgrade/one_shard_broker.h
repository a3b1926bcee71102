// SPDX-License-Identifier: Apache-2.0
// OneShardBroker: one shard with its log and turns, over files in memory and a clock of the test.
// Every call runs turns until its request is answered.
//
// Errors: a violated expectation is a CHECK; open() returns the reason why a log is not opened.
// Owner:  one thread. Its destruction simulates a crash of the process.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "net/engine/shard_engine.h"
#include "net/engine/shard_recovery.h"
#include "tests/core/secret.h"
#include "tests/wal/memory_disk.h"

namespace pawl::upgrade {

inline constexpr ShardId the_shard{0};

class OneShardBroker final : public RequestOwner {
 public:
  OneShardBroker(MemoryDisk& disk, Instant now, std::uint32_t nonce_seed)
      : now_(now),
        mesh_(1),
        port_(mesh_, the_shard),
        disk_(&disk),
        engine_(
            {
                .identity = {the_shard, 1, test::test_secret(), nonce_seed,
                             test::test_receipt_key(), never},
                .limits = {},
                .log = {.stream = 0x5eed,
                             .segment_bytes = 64 << 10,
                             .extent_bytes = 16 << 10,
                             .memory_max = 4 << 20,
                             .spare_segments = 1}
  },
            now) {}

  // Empty: the log is open. Otherwise the reason why not.
  std::string open() {
    ShardRecovery recovery(engine_.shard());
    std::string complaint;
    if (auto opened = engine_.open(*disk_, recovery, complaint); !opened)
      return std::string(name_of(opened.error().code)) + " " + opened.error().what + " " +
             complaint;
    ShardEngine* const engines[] = {&engine_};
    share_directory(engines);
    if (!engine_.adopt(now_, complaint)) return complaint;
    share_transfers(engines);
    engine_.begin(port_, *this)
        .filter_replays_with([](std::string_view) -> std::unique_ptr<MessageFilter> {
          return std::make_unique<AnyMessage>();
        });
    return {};
  }
  const RecoveryReport& report() const { return engine_.report(); }
  Shard& shard() { return engine_.shard(); }
  Log& log() { return engine_.log(); }
  Instant now() const { return now_; }

  // --- time ---
  void turn(Duration after = milliseconds(1)) {
    now_ = now_ + after;
    engine_.loop().turn(now_, static_cast<std::uint64_t>(now_.ms) * 1000);
    CHECK(!engine_.loop().log().failure(), "{}", engine_.loop().log().failure()->what);
  }
  void run(Duration time) {
    for (const Instant end = now_ + time; now_ < end;) turn(milliseconds(10));
  }

  // Makes appended records durable and a checkpoint effective; the shard does not learn it yet.
  void flush() {
    engine_.log().flush_all();
    for (int i = 0; i < 100; ++i)
      engine_.log().pump(now_, static_cast<std::uint64_t>(now_.ms) * 1000, true);
  }

  // Makes the log enter new segments: sends and deletes `messages` messages of 9000 bytes, one by
  // one.
  void wear_out(QueueId queue, int messages) {
    const std::string body(9000, 'x');
    for (int i = 0; i < messages; ++i) {
      run(milliseconds(20));  // until a segment is ready
      send(queue, {.content = {.body = body}});
      CHECK(delete_message(queue, receive(queue, 1, seconds(60)).at(0).handle) == Errc::ok);
    }
  }

  // --- requests ---
  void submit(Request& request) { engine_.loop().submit(request, the_shard); }
  Errc ask(Request& request) {
    answered_ = nullptr;
    submit(request);
    for (int turns = 0; answered_ != &request; turn()) CHECK(++turns < 1000, "no answer");
    return request.error;
  }
  ConfigPtr config(std::string_view account, std::string_view name) const {
    const ConfigPtr* const found = engine_.shard().directory().find(account, name);
    return found == nullptr ? nullptr : *found;
  }
  ConfigPtr create(const QueueSpec& spec) {
    Request request{.op = Op::create_queue};
    request.spec = &spec;
    CHECK(ask(request) == Errc::ok);
    return request.config;
  }
  // Creates all queues in one frame.
  void create_all(const std::vector<QueueSpec>& specs) {
    std::deque<Request> requests;
    for (const QueueSpec& spec : specs) {
      requests.push_back({.op = Op::create_queue});
      requests.back().spec = &spec;
      if (&spec != &specs.back()) submit(requests.back());
    }
    CHECK(ask(requests.back()) == Errc::ok);
    for (const Request& request : requests) CHECK(request.config != nullptr);
  }
  SendEntry send(QueueId queue, SendEntry entry) {
    Request request{.op = Op::send, .queue = queue};
    request.sends = {&entry, 1};
    CHECK(ask(request) == Errc::ok && entry.error == Errc::ok);
    return entry;
  }
  // Sends with a producer, whose floor is 1.
  SendEntry send_once(QueueId queue, std::uint64_t producer, std::uint64_t sequence) {
    SendEntry entry{.content = {.body = "once"}, .sequence = sequence};
    Request request{.op = Op::send, .queue = queue};
    request.sends = {&entry, 1};
    request.producer = {producer, 1};
    CHECK(ask(request) == Errc::ok && entry.error == Errc::ok);
    return entry;
  }
  // The number of a message published to a topic.
  SendEntry take_number(QueueId topic, std::string_view dedup_by) {
    SendEntry entry{.dedup_by = dedup_by};
    Request request{.op = Op::take_numbers, .queue = topic};
    request.sends = {&entry, 1};
    CHECK(ask(request) == Errc::ok && entry.error == Errc::ok);
    return entry;
  }
  void fan_out(const Content& content, std::span<FanOutTarget> targets) {
    SendEntry entry{.content = content};
    Request request{.op = Op::fan_out};
    request.sends = {&entry, 1};
    request.targets = targets;
    CHECK(ask(request) == Errc::ok);
    for (const FanOutTarget& target : targets) CHECK(target.error == Errc::ok);
  }
  // The deliveries of a short poll; their texts live as long as the broker.
  std::vector<Delivery> receive(QueueId queue, std::uint32_t max, Duration visibility) {
    std::vector<Delivery> deliveries(max);
    Request request{.op = Op::receive, .queue = queue};
    request.receive = {.max = max, .visibility = visibility, .wait = Duration{0}};
    request.deliveries = deliveries;
    CHECK(ask(request) == Errc::ok);
    deliveries.resize(request.delivered);
    return deliveries;
  }
  Errc delete_message(QueueId queue, const ReceiptHandle& handle) {
    ReceiptEntry entry{.handle = handle};
    Request request{.op = Op::delete_message, .queue = queue};
    request.receipts = {&entry, 1};
    CHECK(ask(request) == Errc::ok);
    return entry.error;
  }
  QueueCounts count(QueueId queue) {
    Request request{.op = Op::count, .queue = queue};
    CHECK(ask(request) == Errc::ok);
    return request.counts;
  }
  Errc start_move(QueueId queue, std::string_view destination, std::uint32_t rate) {
    Request request{.op = Op::start_move, .queue = queue};
    request.move.destination = destination;
    request.move.rate = rate;
    return ask(request);
  }
  std::vector<MoveTask> moves(QueueId queue) {
    Request request{.op = Op::list_moves, .queue = queue};
    CHECK(ask(request) == Errc::ok);
    return request.move.tasks;
  }
  Errc start_replay(QueueId queue, const ReplayParams& params) {
    ReplayParams asked = params;
    Request request{.op = Op::start_replay, .queue = queue};
    request.replay = &asked;
    return ask(request);
  }
  std::vector<ReplayTask> replays(QueueId queue) {
    ReplayParams heard;
    Request request{.op = Op::list_replays, .queue = queue};
    request.replay = &heard;
    CHECK(ask(request) == Errc::ok);
    return heard.tasks;
  }

 private:
  struct AnyMessage final : MessageFilter {
    bool wants(const Content&) const override { return true; }
  };
  void on_response(Request& request) override {
    answered_ = &request;
    if (request.op != Op::receive) return;
    for (Delivery& delivery : request.deliveries.first(request.delivered)) {
      Content& c = delivery.content;
      for (std::string_view* text : {&c.body, &c.attributes, &c.system, &c.sender, &c.group,
                                     &c.dedup_id, &c.origin, &c.notification})
        *text = texts_.emplace_back(*text);
      if (c.body_md5 != nullptr) c.body_md5 = &digests_.emplace_back(*c.body_md5);
    }
  }
  void connection(std::uint64_t) override {}

  Instant now_;
  Mesh mesh_;
  MeshPort port_;
  MemoryDisk* disk_;
  ShardEngine engine_;
  const Request* answered_ = nullptr;
  std::deque<std::string> texts_;
  std::deque<Delivery::Md5> digests_;
};

}  // namespace pawl::upgrade

// Broker: the log of one shard, the shard, and its turn, over files in memory and a clock that a test turns.
// Who asks waits: every call runs turns until its request is answered.
//
// Errors: what must not happen is a CHECK; open() says why a log is not opened.
// Owner:  one thread. Destroying it is what a crash of the process is.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "net/shard_loop.h"
#include "net/shard_replay.h"
#include "tests/core/secret.h"
#include "tests/wal/memory_disk.h"

namespace pawl::upgrade {

inline constexpr ShardId the_shard{0};

class Broker final : public Asker {
 public:
  Broker(MemoryDisk& disk, Instant now, std::uint32_t nonce_seed)
      : now_(now),
        shard_({the_shard, 1, test::test_secret(), nonce_seed}, ShardLimits{}, now),
        mesh_(1),
        port_(mesh_, the_shard),
        disk_(&disk) {}

  // Why not, or nothing.
  std::string open() {
    LogOptions options;
    options.stream = 0x5eed;
    options.segment_bytes = 64 << 10;
    options.extent_bytes = 16 << 10;
    options.memory_max = 4 << 20;
    options.spare_segments = 1;
    ShardReplay replay(shard_);
    std::string complaint;
    auto opened = Log::open(*disk_, options, replay, report_, complaint);
    if (!opened)
      return std::string(name_of(opened.error().code)) + " " + opened.error().what + " " +
             complaint;
    log_ = std::move(*opened);
    std::vector<LogPos> freed;
    shard_.finish_recovery(now_, freed);
    for (const LogPos position : freed) log_->release(position);
    if (!log_->check_segments(complaint)) return complaint;
    loop_ = std::make_unique<ShardLoop>(shard_, *log_, port_, *this);
    loop_->filter_replays_with([](std::string_view) -> std::unique_ptr<MessageFilter> {
      return std::make_unique<AnyMessage>();
    });
    const Shard* const shards[] = {&shard_};
    loop_->settle(moved_from(shards).front());
    return {};
  }
  const RecoveryReport& report() const { return report_; }
  Shard& shard() { return shard_; }
  Log& log() { return *log_; }
  Instant now() const { return now_; }

  // --- time ---
  void turn(Duration after = milliseconds(1)) {
    now_ = now_ + after;
    loop_->turn(now_, static_cast<std::uint64_t>(now_.ms) * 1000);
    CHECK(!loop_->failure(), "{}", loop_->failure()->what);
  }
  void run(Duration time) {
    for (const Instant end = now_ + time; now_ < end;) turn(milliseconds(10));
  }

  // What was appended becomes durable, and a checkpoint is in force; the shard sees nothing of it yet.
  void flush() {
    log_->flush_all();
    for (int i = 0; i < 100; ++i)
      log_->pump(now_, static_cast<std::uint64_t>(now_.ms) * 1000, true);
  }

  // The log goes on into new segments: it takes that many messages of 9000 bytes, one by one, and their deletes.
  void wear_out(QueueId queue, int messages) {
    const std::string body(9000, 'x');
    for (int i = 0; i < messages; ++i) {
      run(milliseconds(20));  // until a segment is ready
      send(queue, {.content = {.body = body}});
      CHECK(remove(queue, receive(queue, 1, seconds(60)).at(0).handle) == Errc::ok);
    }
  }

  // --- requests ---
  void submit(Request& request) { loop_->submit(request, the_shard); }
  Errc ask(Request& request) {
    answered_ = nullptr;
    submit(request);
    for (int turns = 0; answered_ != &request; turn()) CHECK(++turns < 1000, "no answer");
    return request.error;
  }
  ConfigPtr config(std::string_view account, std::string_view name) const {
    const ConfigPtr* const found = shard_.directory().find(account, name);
    return found == nullptr ? nullptr : *found;
  }
  ConfigPtr create(const QueueSpec& spec) {
    Request request{.op = Op::create_queue};
    request.spec = &spec;
    CHECK(ask(request) == Errc::ok);
    return request.config;
  }
  SendEntry send(QueueId queue, SendEntry entry) {
    Request request{.op = Op::send, .queue = queue};
    request.sends = {&entry, 1};
    CHECK(ask(request) == Errc::ok && entry.error == Errc::ok);
    return entry;
  }
  // What a short poll gets; the texts are the broker's, for as long as it lives.
  std::vector<Delivery> receive(QueueId queue, std::uint32_t max, Duration visibility) {
    std::vector<Delivery> room(max);
    Request request{.op = Op::receive, .queue = queue};
    request.receive = {.max = max, .visibility = visibility, .wait = Duration{0}};
    request.deliveries = room;
    CHECK(ask(request) == Errc::ok);
    room.resize(request.delivered);
    return room;
  }
  Errc remove(QueueId queue, const ReceiptHandle& handle) {
    ReceiptEntry entry{.handle = handle};
    Request request{.op = Op::remove, .queue = queue};
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
  void answered(Request& request) override {
    answered_ = &request;
    if (request.op != Op::receive) return;
    for (Delivery& delivery : request.deliveries.first(request.delivered)) {
      Content& c = delivery.content;
      for (std::string_view* text :
           {&c.body, &c.attributes, &c.system, &c.sender, &c.group, &c.dedup_id, &c.origin})
        *text = texts_.emplace_back(*text);
      if (c.body_md5 != nullptr) c.body_md5 = &digests_.emplace_back(*c.body_md5);
    }
  }
  void connection(std::uint64_t) override {}

  Instant now_;
  Shard shard_;
  Mesh mesh_;
  MeshPort port_;
  MemoryDisk* disk_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<ShardLoop> loop_;
  RecoveryReport report_;
  const Request* answered_ = nullptr;
  std::deque<std::string> texts_;
  std::deque<Delivery::Md5> digests_;
};

}  // namespace pawl::upgrade

// SPDX-License-Identifier: Apache-2.0
// Writes the log files of a shard, in the format of this version, into a directory: README.md says
// when.
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/upgrade/one_shard_broker.h"
#include "tests/upgrade/story.h"
#include "wal/format/format.h"

namespace pawl::upgrade {
namespace {

constexpr int version = 9;  // of the fixture being written

class Author {
 public:
  Author() : broker_(fixture_.disk, begun, 1) {
    const std::string complaint = broker_.open();
    CHECK(complaint.empty(), "{}", complaint);
  }
  ~Author() { fixture_.disk.finish_all(); }

  const Fixture& tell() {
    broker_.create_all(queues(version));
    send(early, std::string(early_bytes, 'e'));
    subscribe();
    end_two_tasks();
    send(quiet, "x");
    take(quiet, "x");
    send(hasty, "x");
    take(hasty, "x");
    broker_.send_once(id(numbered), producer, sequences[0]);
    broker_.send_once(id(numbered), producer, sequences[1]);
    broker_.take_number(broker_.config(topics, news)->id, published[0]);
    fan_out(shared_bodies[0]);
    take(twin, shared_bodies[0]);
    drop(last);
    broker_.wear_out(id(churn), 10);  // checkpoints contain all of the above now
    fill_mail();
    fill_others();
    broker_.wear_out(id(mill), 22);  // the segments of these messages stay; later segments do not
    begin_a_replay();
    broker_.run(milliseconds(500));  // the replay's next message follows the checkpoint
    move_one_to_dead_letters();
    // One checkpoint contains all of the above; the rest follows it.
    relocate();
    broker_.send_once(id(numbered), producer, sequences[2]);
    broker_.take_number(broker_.config(topics, news)->id, published[1]);
    fan_out(shared_bodies[1]);
    change_others();
    begin_a_task();
    die();
    return fixture_;
  }

 private:
  QueueId id(std::string_view name) const { return broker_.config(account, name)->id; }
  void send(std::string_view queue, const SendEntry& entry) { broker_.send(id(queue), entry); }
  void send(std::string_view queue, std::string_view body) {
    broker_.send(id(queue), {.content = {.body = body}});
  }
  void fan_out(std::string_view body) {
    FanOutTarget targets[] = {
        {.queue = id(twin)},
        {.queue = id(other_twin), .subscription = subscription}
    };
    broker_.fan_out({.body = body, .notification = shared_note}, targets);
  }
  Delivery receive(std::string_view queue, std::string_view body, Duration visibility) {
    const std::vector<Delivery> received = broker_.receive(id(queue), 1, visibility);
    CHECK(received.size() == 1 && received[0].content.body == body, "not {}", body);
    return received[0];
  }
  void take(std::string_view queue, std::string_view body) {
    CHECK(broker_.delete_message(id(queue), receive(queue, body, hidden).handle) == Errc::ok);
  }
  void keep(const Delivery& received) {
    fixture_.receipts[std::string(received.content.body)] = received.handle;
  }

  void drop(std::string_view queue) {
    Request request{.op = Op::delete_queue, .queue = id(queue)};
    CHECK(broker_.ask(request) == Errc::ok);
  }

  void subscribe() {
    const AttributeChange change{Attribute::topic_row, 1, std::string(news_row)};
    Request request{.op = Op::set_attributes, .queue = broker_.config(topics, news)->id};
    request.changes = {&change, 1};
    CHECK(broker_.ask(request) == Errc::ok);
  }

  void end_two_tasks() {
    for (std::uint32_t i = 0; i < completed_before; ++i) send(moving, "x");
    CHECK(broker_.start_move(id(moving), arrivals_path, 0) == Errc::ok);
    broker_.run(soon);
    for (std::uint32_t i = 0; i < completed_before; ++i) take(arrivals, "x");
    send(moving, "from nowhere");
    CHECK(broker_.start_move(id(moving), "", 0) == Errc::ok);
    broker_.run(soon);
    take(moving, "from nowhere");
  }

  void fill_mail() {
    send(mail, twice);
    keep(receive(mail, twice, soon));
    broker_.run(soon * 2);
    CHECK(receive(mail, twice, long_hidden).receive_count == 2);
    send(mail, returns);
    keep(receive(mail, returns, hidden));
    send(mail, "deleted");
    take(mail, "deleted");
    send(mail, plain);
    send(mail, delayed);
    const std::vector<AttributeChange> changes = mail_changes();
    Request set{.op = Op::set_attributes, .queue = id(mail)};
    set.changes = changes;
    set.tags = &mail_tags;
    CHECK(broker_.ask(set) == Errc::ok);
  }

  void fill_others() {
    send(cleared, "before the purge");
    send(churn, "goes with its queue");
    send(orders, ordered[0]);
    keep(receive(orders, ordered[0].content.body, long_hidden));
    for (const std::string_view body : travellers) send(moving, body);
  }

  void change_others() {
    send(mail, full);
    Request purge{.op = Op::purge, .queue = id(cleared)};
    CHECK(broker_.ask(purge) == Errc::ok);
    send(cleared, after_purge);
    drop(churn);
    send(orders, ordered[1]);
    send(orders, ordered[2]);
  }

  // Sends a message and receives it twice: the next receive finds a dead letter.
  void wear_down(const SendEntry& entry) {
    send(source, entry);
    receive(source, entry.content.body, at_once);
    broker_.run(soon * 2);
    receive(source, entry.content.body, at_once);
  }

  // Runs until the log of its target has a dead letter and its source does not know it. The last
  // turn also sends `more` messages.
  void move_to_dead_letters(std::size_t more) {
    poll_ = {.op = Op::receive, .queue = id(source)};
    poll_.receive.wait = at_once;
    poll_.deliveries = deliveries;
    broker_.submit(poll_);
    broker_.turn();  // the transfer begins
    sacks_.assign(more, {.content = {.body = sack_}});
    send_ = {.op = Op::send, .queue = id(mill)};
    send_.sends = sacks_;
    if (more > 0) {
      sacks_.back().delay = delayed.delay;
      broker_.submit(send_);
    }
    broker_.turn();  // the target's log has the message
    CHECK(broker_.shard().unsettled_transfers().size() == 1);
  }

  void move_one_to_dead_letters() {
    wear_down(dead);
    broker_.run(soon);
    const Lsn before = newest_manifest(fixture_.disk).checkpoint;
    move_to_dead_letters(sacks);
    broker_.flush();
    checkpoint_ = newest_manifest(fixture_.disk).checkpoint;
    CHECK(checkpoint_ > before, "{} sacks do not begin a checkpoint", sacks);
    broker_.run(soon);
    CHECK(send_.error == Errc::ok && broker_.count(id(mill)).visible == sacks - 1);
    CHECK(broker_.count(id(dead_letters)).visible == 1 &&
          broker_.shard().unsettled_transfers().empty());
  }

  // Relocates some live messages of older segments.
  void relocate() {
    broker_.log().set_dead_bytes_max(0);
    while (broker_.log().stats().relocated_bytes == 0) broker_.turn();
    broker_.log().set_dead_bytes_max(LogOptions().dead_bytes_max);
  }

  // The replay continues while the next task begins.
  void begin_a_replay() {
    const AttributeChange change{Attribute::replay_retention, play_retention(version), {}};
    Request request{.op = Op::set_attributes, .queue = id(played)};
    request.changes = {&change, 1};
    CHECK(broker_.ask(request) == Errc::ok);
    std::vector<SendEntry> entries;
    for (const std::string_view tune : tunes) entries.push_back({.content = {.body = tune}});
    request = {.op = Op::send, .queue = id(played)};
    request.sends = entries;
    CHECK(broker_.ask(request) == Errc::ok);
    request = {.op = Op::purge, .queue = id(played)};
    CHECK(broker_.ask(request) == Errc::ok && broker_.count(id(played)).visible == 0);
    const ReplayParams params{.destination = played_path, .filter = play_filter, .rate = play_rate};
    CHECK(broker_.start_replay(id(played), params) == Errc::ok);
  }

  void begin_a_task() {
    CHECK(broker_.start_move(id(moving), arrivals_path, move_rate) == Errc::ok);
    broker_.run(milliseconds(500));
    CHECK(broker_.moves(id(moving)).front().moved == moved_before(version));
    CHECK(broker_.replays(id(played)).front().sent == played_before, "{}",
          broker_.replays(id(played)).front().sent);
  }

  // A dead letter has arrived. The frame that deletes it at its source, with one more message, is
  // torn.
  void die() {
    wear_down(landing);
    broker_.run(soon);
    move_to_dead_letters(0);
    MemoryDisk& disk = fixture_.disk;
    disk.hold = true;
    entry_.content.body = torn_;
    last_ = {.op = Op::send, .queue = id(mail)};
    last_.sends = {&entry_, 1};
    broker_.submit(last_);
    broker_.turn();
    std::size_t frame = 0;  // a segment may be in creation at the same time
    while (std::memcmp(disk.op(frame).memory.data(), &frame_magic, sizeof frame_magic) != 0)
      ++frame;
    const MemoryDisk::Op& op = disk.op(frame);
    CHECK(op.memory.size() > block_bytes);
    CHECK(disk.write_now(op.file, op.offset, op.memory.first(block_bytes)));
    CHECK(broker_.now() < ended);
    CHECK(newest_manifest(disk).checkpoint == checkpoint_,
          "another one came after: {} behind {}, end {}", newest_manifest(disk).checkpoint,
          checkpoint_, broker_.log().appended());
  }

  Fixture fixture_;
  const std::string torn_ = std::string(9000, 't');
  const std::string sack_ = std::string(sack_bytes, 's');
  Lsn checkpoint_ = 0;  // of the checkpoint that has all kinds of content
  std::array<Delivery, 1> deliveries;
  std::vector<SendEntry> sacks_;
  Request poll_, send_, last_;  // the last poll_ and last_ are never answered
  SendEntry entry_;
  OneShardBroker broker_;
};

void write_file(const std::filesystem::path& path, const void* bytes, std::size_t size) {
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  CHECK(out.flush().good(), "{}", path.string());
}

}  // namespace
}  // namespace pawl::upgrade

int main(int argc, char** argv) {
  using namespace pawl::upgrade;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_fixture DIRECTORY\n");
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  std::filesystem::create_directories(directory);
  if (!std::filesystem::is_empty(directory)) {
    std::fprintf(stderr, "%s is not empty; a fixture is never written again\n", argv[1]);
    return 1;
  }
  Author author;
  const Fixture& fixture = author.tell();
  for (const auto& [name, bytes] : fixture.disk.files)
    write_file(directory / name, bytes->data(), bytes->size());
  for (const auto& [body, handle] : fixture.receipts)
    write_file(directory / (body + std::string(receipt_suffix)), handle.data(), handle.size());
  return 0;
}

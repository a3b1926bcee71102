// SPDX-License-Identifier: Apache-2.0
// StoryClient: sends the requests of a story to a broker, and records requests and responses in a
// Ledger.
//
//   start() -> send(), delete_messages()... (asked) -> wait() (answered) -> ...
//   dead(): sends no more
//
// Requests stay in progress together until wait(), so that a story decides which disk writes
// overlap.
//
// Units:  bytes; Duration ms.
// Limits: wait_max of the broker's time for a response; a longer wait sets `complaint`.
// Owner:  one story. The disks are the caller's and outlive it.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/exhaustive/ledger.h"
#include "tests/exhaustive/multi_shard_broker.h"
#include "tests/sim/sim_disk.h"

namespace pawl::exhaustive {

inline constexpr std::string_view account = "0";

class StoryClient final : public RequestOwner {
 public:
  static constexpr Duration wait_max = seconds(120);
  struct Held {
    std::size_t queue = 0;
    std::size_t message = 0;
    ReceiptHandle handle{};
  };

  // `seen`: the disks of the broker, which may be wrappers of `disks`.
  StoryClient(const Scene& scene, Ledger& ledger, std::vector<sim::SimDisk*> disks,
              std::vector<Disk*> seen, Instant now = story_begin);
  ~StoryClient() override;

  // False: it did not start; `refusal` and `refused` say why.
  bool start();
  bool dead() const { return dead_; }
  MultiShardBroker& broker() { return *broker_; }
  Ledger& ledger() { return ledger_; }
  std::string complaint;  // a violated expectation; empty: none
  std::string refusal;    // the reason why it did not start
  Errc refused = Errc::ok;
  std::function<void()> after_turn = {};

  // --- requests; queues by their number in the ledger ---
  std::size_t make_queue(std::string name, ShardId owner,
                         std::vector<AttributeChange> changes = {});
  void delete_queue(std::size_t queue);
  // Sends one batch.
  void send(std::size_t queue, std::size_t count, std::size_t bytes, const std::string& group = {});
  void send_again(std::size_t message);
  void receive(std::size_t queue, std::uint32_t max, Duration visibility);
  void delete_messages(const std::vector<Held>& held);
  void change(const std::vector<Held>& held, Duration visibility);
  void purge(std::size_t queue);
  void start_move(std::size_t queue, const std::string& destination);
  bool wait();
  // Runs a turn and one disk operation, so that the next request finds the last one in progress.
  void step_once() {
    if (!dead_) step(now());
  }
  void pass(Duration time);
  // Runs until nothing more happens within 1 s.
  void rest();
  void stop();
  // The deliveries since the last take().
  std::vector<Held> take() { return std::exchange(held_, {}); }
  std::uint64_t unreadable() const { return unreadable_; }
  Instant now() const;
  std::string text(std::size_t queue) const;

 private:
  struct Call {
    Request request;
    QueueSpec spec;
    std::string destination;
    std::vector<SendEntry> sends;
    std::vector<ReceiptEntry> receipts;
    std::vector<Delivery> deliveries;
    std::vector<std::size_t> messages;  // of a send, of receipts, or of a purge
    std::size_t queue = 0;
    bool answered = false;
  };

  void on_response(Request& request) override;
  void connection(std::uint64_t) override {}
  void hear_send(Call& call);
  void hear_receive(Call& call);
  void hear_gone(Call& call, bool done);
  Call& make(Op op, std::size_t queue);
  void submit(Call& call);
  void ask_gone(Call& call, std::size_t message);
  void ask_gone_all(Call& call);
  bool step(Instant end);
  bool all_answered() const;
  QueueId id_of(std::size_t queue) const;

  Scene scene_;
  Ledger& ledger_;
  std::vector<sim::SimDisk*> disks_;
  std::unique_ptr<MultiShardBroker> broker_;
  std::uint64_t now_us_ = 1'000'000;
  Instant base_;
  std::deque<Call> calls_;
  std::vector<Held> held_;
  std::uint64_t unreadable_ = 0;
  bool dead_ = false;
};

}  // namespace pawl::exhaustive

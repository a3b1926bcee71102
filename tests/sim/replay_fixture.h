// SPDX-License-Identifier: Apache-2.0
// Fixture for replay tasks: queue `source`, which keeps sent messages for an hour, and queue
// `target` on the other shard.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/two_shards_fixture.h"

namespace pawl::sim {

class ReplayTest : public TwoShards {
 protected:
  using TwoShards::TwoShards;
  using Status = ReplayTask::Status;

  void SetUp() override {
    ASSERT_EQ(world.start(0), Start::up);
    target_path = "0/" + name_on(one, "target");
    target = make(target_path);
    source_path = "0/" + name_on(zero, "source");
    source = make(source_path);
    set(source, {Attribute::replay_retention, 3600, {}});
  }
  QueueId make(const std::string& path) { return make_queue(path.substr(2), {}); }
  // Advances the time without a turn, then runs for 2 ms.
  void rest(std::uint64_t us) {
    world.advance(us);
    run(2000);
  }
  // Sends `count` messages, with bodies from `first` upwards, and purges them.
  void send_and_forget(int first, int count) {
    std::vector<std::string> bodies;
    for (int i = first; i < first + count; ++i) bodies.push_back(std::to_string(i));
    for (std::size_t at = 0; at < bodies.size(); at += 50) {
      const auto some =
          std::span(bodies).subspan(at, std::min<std::size_t>(50, bodies.size() - at));
      send({some.begin(), some.end()});
    }
    run(1000);
    purge(source, zero);
    EXPECT_EQ(count_of(source, zero), 0u);
  }
  std::uint64_t count_of(QueueId queue, ShardId owner) { return count(queue, owner).visible; }
  struct Asked {
    Errc error = Errc::ok;
    ReplayParams params;
  };
  Asked ask_about(Op op, const ReplayParams& params, QueueId queue, ShardId owner) {
    Asked asked{.params = params};
    Request request;
    request.op = op;
    request.queue = queue;
    request.replay = &asked.params;
    EXPECT_TRUE(ask(request, owner));
    asked.error = request.error;
    return asked;
  }
  Asked replay(const ReplayParams& params, QueueId queue, ShardId owner = zero) {
    return ask_about(Op::start_replay, params, queue, owner);
  }
  Asked replay(const ReplayParams& params) { return replay(params, source); }
  Asked cancel(std::uint32_t number) {
    return ask_about(Op::cancel_replay, {.number = number}, source, zero);
  }
  std::vector<ReplayTask> tasks() {
    return ask_about(Op::list_replays, {}, source, zero).params.tasks;
  }
  void run_to_end() {
    for (int i = 0; i < 200 && tasks().front().status == Status::running; ++i) run(50'000);
  }
  // Returns all bodies in a queue, and how often each comes.
  std::map<int, int> bodies_of(QueueId queue, ShardId owner) {
    std::map<int, int> seen;
    for (;;) {
      const auto some = receive(queue, owner);
      if (some.empty()) return seen;
      for (const Received& r : some) ++seen[std::stoi(r.body)];
    }
  }
  void expect_once(const std::map<int, int>& seen, int first, int count) {
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
    for (int i = first; i < first + count; ++i)
      EXPECT_EQ(seen.contains(i) ? seen.at(i) : 0, 1) << i;
  }

  std::string source_path, target_path;
};

}  // namespace pawl::sim

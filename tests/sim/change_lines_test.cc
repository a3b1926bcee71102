// SPDX-License-Identifier: Apache-2.0
// Many changes of one queue at the same time, from two shards: all succeed.
#include "net/engine/change_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>

#include "tests/sim/two_shards_fixture.h"

namespace pawl::sim {
namespace {

// Changes that each add a tag of their own, and are computed again when the queue has changed.
class ManyChanges : public TwoShards {
 protected:
  struct Change {
    Request request;
    Tags tags;
    int tries = 0;
  };

  void on_response(ShardId home, Request& request) override {
    if (request.op != Op::set_attributes) return TwoShards::on_response(home, request);
    Change& change = *static_cast<Change*>(request.owner);
    if (request.error != Errc::changed_meanwhile) {
      EXPECT_EQ(request.error, Errc::ok);
      ++done_;
      return;
    }
    submit_from(home, change, request.config);
  }
  void submit_from(ShardId home, Change& change, const ConfigPtr config) {
    ++change.tries;
    change.tags = config->tags;
    change.tags.emplace_back("tag" + std::to_string(&change - &changes_.front()), "x");
    std::ranges::sort(change.tags);
    change.request = Request{.op = Op::set_attributes, .queue = config->id};
    change.request.tags = &change.tags;
    change.request.based_on = config;
    change.request.owner = &change;
    world.submit(change.request, home, control_shard);
  }

  std::vector<Change> changes_;
  std::size_t done_ = 0;
};

TEST_F(ManyChanges, OfOneQueueAllSucceed) {
  const ConfigPtr before = *world.loop(0).shard().directory().find(source);
  changes_.resize(200);
  for (std::size_t i = 0; i < changes_.size(); ++i)
    submit_from(ShardId{static_cast<std::uint8_t>(i % 2)}, changes_[i], before);
  run(2'000'000);
  EXPECT_EQ(done_, changes_.size());
  EXPECT_EQ((*world.loop(0).shard().directory().find(source))->tags.size(), changes_.size());
  int tries = 0, most = 0;
  for (const Change& change : changes_) {
    tries += change.tries;
    most = std::max(most, change.tries);
  }
  EXPECT_LT(tries, 5 * static_cast<int>(changes_.size())) << "not once for each other change";
  EXPECT_LT(most, 30);
}

}  // namespace
}  // namespace pawl::sim

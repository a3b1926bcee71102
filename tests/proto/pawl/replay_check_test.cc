// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/replay_check.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/queue/replay_task.h"

namespace pawl {
namespace {

class ReplayCheck : public testing::Test {
 protected:
  ReplayCheck() {
    add(QueueId{1}, "here", "q", false);
    add(QueueId{2}, "here", "other", false);
    add(QueueId{3}, "here", "f.fifo", true);
    add(QueueId{4}, "there", "theirs", false);
  }

  void add(QueueId id, const std::string& account, const std::string& name, bool fifo) {
    auto queue = std::make_shared<QueueConfig>();
    queue->id = id;
    queue->set_name(account, name);
    queue->apply({Attribute::fifo_queue, fifo ? 1 : 0, {}});
    directory_.put(queue);
  }
  const QueueConfig& queue(QueueId id) const { return **directory_.find(id); }
  ReplayFault fault(const ReplayOrder& order, QueueId source = QueueId{1}) {
    return replay_fault(queue(source), directory_, order, why_);
  }

  Directory directory_;
  std::string why_;
};

TEST_F(ReplayCheck, TakesTheLimits) {
  const std::string longest =
      R"({"a":[")" + std::string(replay_filter_bytes_max - 10, 'x') + R"("]})";
  ASSERT_EQ(longest.size(), replay_filter_bytes_max);
  EXPECT_EQ(fault({}), ReplayFault::none);
  EXPECT_EQ(fault({.rate = replay_rate_max}), ReplayFault::none);
  EXPECT_EQ(fault({.from = INT64_MAX}), ReplayFault::none) << "`to` is now";
  EXPECT_EQ(fault({.from = 1, .to = 2}), ReplayFault::none);
  EXPECT_EQ(fault({.filter = longest}), ReplayFault::none);
  EXPECT_EQ(why_, "");
}

TEST_F(ReplayCheck, RefusesValuesOutOfRange) {
  const std::string longer(replay_filter_bytes_max + 1, ' ');
  EXPECT_EQ(fault({.rate = replay_rate_max + 1}), ReplayFault::rate);
  EXPECT_EQ(fault({.rate = 1ull << 32}), ReplayFault::rate);
  EXPECT_EQ(fault({.from = -1}), ReplayFault::range);
  EXPECT_EQ(fault({.to = -1}), ReplayFault::range);
  EXPECT_EQ(fault({.from = 5, .to = 5}), ReplayFault::range);
  EXPECT_EQ(fault({.filter = longer}), ReplayFault::filter_size);
  EXPECT_EQ(why_, "");
  for (const char* filter : {"{", R"({"a":"b"})", " "}) {
    why_.clear();
    EXPECT_EQ(fault({.filter = filter}), ReplayFault::filter) << filter;
    EXPECT_NE(why_, "") << filter;
  }
}

TEST_F(ReplayCheck, FindsTheDestinationInTheAccountOfTheSource) {
  EXPECT_EQ(fault({.destination = "q"}), ReplayFault::none);
  EXPECT_EQ(fault({.destination = "other"}), ReplayFault::none);
  EXPECT_EQ(fault({.destination = "f.fifo"}, QueueId{3}), ReplayFault::none);
  EXPECT_EQ(fault({.destination = "none"}), ReplayFault::no_destination);
  EXPECT_EQ(fault({.destination = "theirs"}), ReplayFault::no_destination);
  EXPECT_EQ(fault({.destination = "there/theirs"}), ReplayFault::no_destination);
  EXPECT_EQ(fault({.destination = "f.fifo"}), ReplayFault::other_kind);
  EXPECT_EQ(fault({.destination = "q"}, QueueId{3}), ReplayFault::other_kind);
}

TEST_F(ReplayCheck, NamesTheDestinationWithItsAccount) {
  EXPECT_EQ(replay_destination(queue(QueueId{1}), ""), "here/q");
  EXPECT_EQ(replay_destination(queue(QueueId{1}), "other"), "here/other");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/queue/queue_figures.h"

#include <gtest/gtest.h>

#include <limits>

namespace pawl {
namespace {

TEST(QueueFiguresTest, TheOldestMessageHasAnAge) {
  EXPECT_EQ(oldest_age_seconds(never, Instant{5000}), 0);
  EXPECT_EQ(oldest_age_seconds(Instant{5000}, Instant{5000}), 0);
  EXPECT_EQ(oldest_age_seconds(Instant{6000}, Instant{5000}), 0) << "the clock was set";
  EXPECT_EQ(oldest_age_seconds(Instant{2500}, Instant{5000}), 2.5);
}

TEST(QueueFiguresTest, AQueueIsEmptyAfterItsMessagesAtTheRateOfDeletes) {
  QueueFigures figures;
  EXPECT_EQ(drain_seconds(figures), 0) << "no message";
  figures.sums.messages = 10;
  EXPECT_EQ(drain_seconds(figures), std::numeric_limits<double>::infinity());
  figures.deleted_per_second = 4;
  EXPECT_EQ(drain_seconds(figures), 2.5);
}

TEST(QueueFiguresTest, WorkersKeepUpAndBringTheBacklogInTime) {
  QueueFigures figures{.sent_per_second = 10};
  EXPECT_EQ(mean_lease_seconds(figures.leases), 0);
  EXPECT_EQ(workers_wanted(figures, 300, seconds(30)), 0) << "no lease has ended";
  figures.leases.note(seconds(1));
  figures.leases.note(seconds(3));
  EXPECT_EQ(mean_lease_seconds(figures.leases), 2);
  EXPECT_EQ(workers_wanted(figures, 300, Duration{}), 20);
  EXPECT_EQ(workers_wanted(figures, 300, seconds(30)), 40) << "300 messages of 2 s within 30 s";
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Plays the shards for a page with the figures of queues: each shard has the queues that a test
// names, one a slice.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "net/admin/admin_page.h"

namespace pawl {

inline ListedQueue named_queue(const std::string& name) {
  auto config = std::make_shared<QueueConfig>();
  config->set_name("000000000000", name);
  return {
      .config = config, .counts = {.visible = 3, .in_flight = 2, .delayed = 1}
  };
}

// Answers the page until it is complete or refused. Each queue has sent 7 messages.
inline std::string answered(ShardSlices& page, const std::vector<std::string>& queues) {
  std::string body;
  std::uint32_t at = 0;
  int rounds = 0;
  for (auto next = page.next(); next.request != nullptr; next = page.next()) {
    if (next.request->op == Op::list_queues) {
      QueueSlice& slice = *next.request->slice;
      EXPECT_TRUE(slice.wants_figures);
      slice.queues.clear();
      slice.figures.clear();
      slice.now = Instant{100'000};
      if (at < queues.size()) {
        slice.queues.push_back(named_queue(queues[at]));
        slice.queues.back().oldest_sent = Instant{97'500};
        slice.figures.emplace_back().sums.count(QueueCounter::sent, 7);
      }
      ++at;
      slice.next = at < queues.size() ? QueueId{at} : QueueId::none;
    }
    page.append(body);
    if (page.refusal() != nullptr || ++rounds == 10'000) break;
  }
  EXPECT_LT(rounds, 10'000);
  return body;
}

}  // namespace pawl

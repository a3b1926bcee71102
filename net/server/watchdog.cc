// SPDX-License-Identifier: Apache-2.0
#include "net/server/watchdog.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace pawl {

Watchdog::Watchdog(const ServiceManager& manager, std::vector<Shard> shards)
    : manager_(manager), shards_(std::move(shards)), counts_(shards_.size()) {
  if (manager_.watchdog_period().count() == 0) return;
  CHECK(!shards_.empty(), "a watchdog without shards is always fed");
  for (const Shard& shard : shards_)
    CHECK(shard.pulse != nullptr && shard.wake, "a shard that cannot answer stops the feed");
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock held(mutex_);
    over_ = true;
  }
  end_.notify_one();
  thread_.join();
}

void Watchdog::run() {
  const auto period = manager_.watchdog_period();
  // A period of a few microseconds must not become a busy loop.
  const auto look = std::max(period / looks_a_period, std::chrono::microseconds(1000));
  std::unique_lock held(mutex_);
  const auto wait = std::max(period / feeds_a_period, look);
  while (!over_) {
    wake_all();
    end_.wait_for(held, wait, [this] { return over_; });
    while (!over_ && !all_answered()) end_.wait_for(held, look, [this] { return over_; });
    if (!over_) manager_.feed_watchdog();
  }
}

void Watchdog::wake_all() {
  CHECK(counts_.size() == shards_.size(), "{} counts of {} shards", counts_.size(), shards_.size());
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    counts_[i] = shards_[i].pulse->count();
    shards_[i].wake();
  }
}

bool Watchdog::all_answered() const {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const std::uint64_t now = shards_[i].pulse->count();
    CHECK(now >= counts_[i], "the pulse goes from {} back to {}", counts_[i], now);
    if (now == counts_[i] && now != Pulse::ended) return false;
  }
  return true;
}

}  // namespace pawl

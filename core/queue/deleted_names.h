// SPDX-License-Identifier: Apache-2.0
// Names of recently deleted queues that cannot be used again yet (`--strict-sqs`).
//
//   used --delete--> waiting --after `wait`--> free
//
// Limits: names_max; beyond it the name that was deleted first is free at once.
// Owner:  the control shard; plain data. Times are of the shard's clock, which continues over a
//         restart.
// Source: SQS API Reference, CreateQueue, QueueDeletedRecently.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string_view>
#include <utility>

#include "core/queue/queue_config.h"

namespace pawl {

class DeletedNames {
 public:
  static constexpr std::size_t names_max = 10'000;

  // `wait` 0: no name waits, and none is remembered.
  explicit DeletedNames(Duration wait) : wait_(wait) {}

  // The config of a deleted queue; `modified` is the time of the deletion. Topics are left out: a
  // topic's name is free at once.
  void add(const ConfigPtr& deleted);
  // The name has a queue again.
  void free(std::string_view account, std::string_view name);
  bool waits(std::string_view account, std::string_view name, Instant now) const;
  // Drops at most `max` names whose wait is over.
  void forget(Instant now, std::size_t max);

  // In the order of account and name: the first one behind `last`, or null. `last` null: the first.
  ConfigPtr next(const ConfigPtr& last) const;
  std::size_t memory() const { return memory_; }

 private:
  struct ByName {
    using is_transparent = void;
    using Name = std::pair<std::string_view, std::string_view>;
    static Name of(const ConfigPtr& config) { return {config->account, config->name}; }
    static Name of(const Name& name) { return name; }
    bool operator()(const auto& a, const auto& b) const { return of(a) < of(b); }
  };
  void forget_oldest();

  Duration wait_;
  std::set<ConfigPtr, ByName> names_;
  std::deque<ConfigPtr> ages_;  // in order of deletion; some are no longer in `names_`
  std::size_t memory_ = 0;
};

}  // namespace pawl

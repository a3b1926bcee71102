// SPDX-License-Identifier: Apache-2.0
// The directory of queues: their names and owning shards.
//
// Every shard reads its own copy without a request to another shard. The control shard is the
// single writer: it decides a change, logs it, and passes the new QueueConfig to the others.
//
//   absent --create--> present --delete--> absent      (a QueueId is never used again)
//                        \--set_attributes--> present
//
// Limits: queues_max, bytes_max.
// Errors: queue_exists (with the first attribute that differs), no_such_queue, overloaded (full).
// Owner:  one shard each; plain data.
// Source: SQS API Reference, CreateQueue: same name and equal supplied attributes is not an error.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/queue/queue_config.h"

namespace pawl {

class Directory {
 public:
  static constexpr std::size_t queues_max = 200'000;  // and topics, schedules
  // The limit of bytes(): 100,000 queues with the longest names, or schedules.
  static constexpr std::size_t bytes_max = 64 << 20;

  // Readers, on any shard's copy. The pointers stay valid until the next change.
  const ConfigPtr* find(std::string_view account, std::string_view name) const;
  const ConfigPtr* find(QueueId id) const;
  // The queue with the lowest id from `id` on, or null.
  const ConfigPtr* first_from(QueueId id) const;
  std::size_t size() const { return by_id_.size(); }
  // Number of queues and topics with the same owning_account().
  std::size_t size_of(std::string_view account) const;
  // Maximum size of the directory in a checkpoint. The control shard keeps it below a limit.
  std::size_t bytes() const { return bytes_; }
  static std::size_t bytes_of(const QueueConfig& config);
  // Bytes in memory: of this copy's tables, and of the configs, which all shards share.
  std::size_t table_memory() const { return table_memory_; }
  std::size_t config_memory() const { return config_memory_; }
  static std::size_t config_memory_of(const QueueConfig& config);

  // At most `max` queues of the account whose name starts with `prefix`, in name order, beginning
  // after `after`.
  std::vector<ConfigPtr> list(std::string_view account, std::string_view prefix,
                              std::string_view after, std::size_t max) const;
  // Queues whose dead-letter queue is that one, in name order, as list().
  std::vector<ConfigPtr> sources_of(std::string_view account, std::string_view name,
                                    std::string_view after, std::size_t max) const;
  void for_each(const std::function<void(const ConfigPtr&)>& visit) const;

  // Applies a change made by the control shard, or one from its log.
  void put(const ConfigPtr& config);
  void drop(QueueId id);
  // Applies a logged change of one topic row. A config without other owners is changed in place.
  void change_row(QueueId topic, const AttributeChange& change);

 private:
  using Key = std::pair<std::string, std::string>;  // account, name
  struct Less {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return std::pair<std::string_view, std::string_view>(a) <
             std::pair<std::string_view, std::string_view>(b);
    }
  };
  void index(const QueueConfig& config);
  void unindex(const QueueConfig& config);
  void uncount(const QueueConfig& config);  // subtracts its bytes from the three sums
  static std::size_t table_memory_of(const QueueConfig& config);

  std::map<Key, ConfigPtr, Less> by_name_;
  std::map<std::string, std::size_t, std::less<>> sizes_;  // by account
  std::set<std::pair<std::string, std::string>, std::less<>>
      sources_;  // target, name of the source
  std::map<std::uint32_t, ConfigPtr> by_id_;
  std::size_t bytes_ = 0;
  std::size_t table_memory_ = 0, config_memory_ = 0;
};

// The shard of a new queue by its name: highest random weight, so that adding a shard would move
// the fewest names. It is written into the QueueConfig at creation; nothing recomputes it later.
ShardId shard_of(std::string_view account, std::string_view name, std::uint32_t shards);

}  // namespace pawl

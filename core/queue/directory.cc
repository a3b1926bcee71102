// SPDX-License-Identifier: Apache-2.0
#include "core/queue/directory.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/check.h"
#include "core/base/usage.h"

namespace pawl {

const ConfigPtr* Directory::find(std::string_view account, std::string_view name) const {
  const auto it = by_name_.find(std::pair(account, name));
  return it == by_name_.end() ? nullptr : &it->second;
}

const ConfigPtr* Directory::find(QueueId id) const {
  const auto it = by_id_.find(raw(id));
  return it == by_id_.end() ? nullptr : &it->second;
}

const ConfigPtr* Directory::first_from(QueueId id) const {
  const auto it = by_id_.lower_bound(raw(id));
  return it == by_id_.end() ? nullptr : &it->second;
}

std::vector<ConfigPtr> Directory::list(std::string_view account, std::string_view prefix,
                                       std::string_view after, std::size_t max) const {
  std::vector<ConfigPtr> found;
  auto it = by_name_.lower_bound(std::pair(account, std::max(prefix, after)));
  for (; it != by_name_.end() && found.size() < max; ++it) {
    const auto& [owner, name] = it->first;
    if (owner != account || !name.starts_with(prefix)) break;
    if (name != after || after.empty()) found.push_back(it->second);
  }
  return found;
}

// A source has its target's account.
std::vector<ConfigPtr> Directory::sources_of(std::string_view account, std::string_view name,
                                             std::string_view after, std::size_t max) const {
  std::vector<ConfigPtr> found;
  const std::string target = QueueName{account, name}.text();
  auto it = sources_.lower_bound(std::pair(target, std::string(after)));
  for (; it != sources_.end() && it->first == target && found.size() < max; ++it) {
    if (it->second == after && !after.empty()) continue;
    if (const ConfigPtr* const source = find(account, it->second)) found.push_back(*source);
  }
  return found;
}

void Directory::index(const QueueConfig& config) {
  const std::string_view target = config.text(Attribute::dead_letter_target);
  if (!target.empty()) sources_.emplace(target, config.name);
}

void Directory::unindex(const QueueConfig& config) {
  const std::string_view target = config.text(Attribute::dead_letter_target);
  if (!target.empty()) sources_.erase({std::string(target), config.name});
}

void Directory::uncount(const QueueConfig& config) {
  const std::size_t bytes = bytes_of(config), memory = config_memory_of(config);
  const std::size_t table = table_memory_of(config);
  CHECK(bytes_ >= bytes, "{} bytes of {}", bytes, bytes_);
  CHECK(config_memory_ >= memory, "{} bytes of {}", memory, config_memory_);
  CHECK(table_memory_ >= table, "{} bytes of {}", table, table_memory_);
  bytes_ -= bytes;
  config_memory_ -= memory;
  table_memory_ -= table;
}

void Directory::for_each(const std::function<void(const ConfigPtr&)>& visit) const {
  for (const auto& [key, config] : by_name_) visit(config);
}

namespace {

constexpr std::size_t row_overhead = 40;  // of a record

std::size_t row_bytes(const TopicRow& row) { return row_overhead + row.text.size(); }

}  // namespace

std::size_t Directory::bytes_of(const QueueConfig& config) {
  std::size_t bytes =
      160 + config.account.size() + config.name.size();  // numbers, times, lengths, header
  for (const auto& [attribute, text] : config.texts) bytes += 8 + text.size();
  for (const auto& [key, value] : config.tags) bytes += 8 + key.size() + value.size();
  for (const auto& row : config.rows) bytes += row_bytes(*row);
  return bytes;
}

namespace {

constexpr std::size_t node_bytes = 32 + heap_block_bytes;

std::size_t memory_of_row(const TopicRow& row) {
  return sizeof(TopicRow) + 2 * heap_block_bytes + memory_of(row.text);
}

// The part of bytes_of() and of config_memory_of() that a change of this row changes.
struct RowShare {
  std::size_t bytes = 0, memory = 0;
};
RowShare share_of_row(const QueueConfig& config, std::uint64_t number) {
  RowShare share{.memory = config.rows.capacity() * sizeof(config.rows.front())};
  if (const TopicRow* const row = config.row(number)) {
    share.bytes = row_bytes(*row);
    share.memory += memory_of_row(*row);
  }
  return share;
}

}  // namespace

// A name is in the table of names and, if its dead letters go somewhere, in the one of sources.
std::size_t Directory::table_memory_of(const QueueConfig& config) {
  const std::size_t name = memory_of(config.account.size()) + memory_of(config.name.size());
  const std::size_t target = config.text(Attribute::dead_letter_target).size();
  const std::size_t source = target == 0 ? 0
                                         : node_bytes + 2 * sizeof(std::string) +
                                               memory_of(target) + memory_of(config.name.size());
  return 2 * node_bytes + sizeof(Key) + 2 * sizeof(ConfigPtr) + sizeof(std::uint64_t) + name +
         source;
}

std::size_t Directory::config_memory_of(const QueueConfig& config) {
  std::size_t bytes = sizeof(QueueConfig) + 2 * heap_block_bytes + memory_of(config.account) +
                      memory_of(config.name) +
                      config.texts.capacity() * sizeof(config.texts.front()) +
                      config.tags.capacity() * sizeof(config.tags.front()) +
                      config.rows.capacity() * sizeof(config.rows.front()) + 3 * heap_block_bytes;
  for (const auto& [attribute, text] : config.texts) bytes += memory_of(text);
  for (const auto& [key, value] : config.tags) bytes += memory_of(key) + memory_of(value);
  for (const auto& row : config.rows) bytes += memory_of_row(*row);
  return bytes;
}

std::size_t Directory::size_of(std::string_view account) const {
  const auto it = sizes_.find(owning_account(account));
  return it == sizes_.end() ? 0 : it->second;
}

void Directory::put(const ConfigPtr& config) {
  CHECK(config != nullptr && config->id != QueueId::none);
  CHECK(config->kind == kind_of(config->account), "row {} has the account {}", raw(config->id),
        config->account);
  if (const ConfigPtr* const before = find(config->id)) {
    uncount(**before);
    unindex(**before);
  }
  // A queue whose deletion recovery has not read yet may still have the name.
  const ConfigPtr* const named = find(config->account, config->name);
  if (named != nullptr && (*named)->id != config->id) unindex(**named);
  if (find(config->id) == nullptr) ++sizes_[std::string(owning_account(config->account))];
  bytes_ += bytes_of(*config);
  table_memory_ += table_memory_of(*config);
  config_memory_ += config_memory_of(*config);
  index(*config);
  by_name_[{config->account, config->name}] = config;
  by_id_[raw(config->id)] = config;
  CHECK(by_name_.size() <= by_id_.size(), "{} names of {} queues", by_name_.size(), by_id_.size());
}

void Directory::change_row(QueueId topic, const AttributeChange& change) {
  const auto it = by_id_.find(raw(topic));
  if (it == by_id_.end()) return;
  const ConfigPtr& known = it->second;
  const ConfigPtr* const named = find(known->account, known->name);
  const long ours = named != nullptr && *named == known ? 2 : 1;
  if (known.use_count() > ours) {
    auto changed = std::make_shared<QueueConfig>(*known);
    changed->apply_row(change);
    return put(changed);
  }
  // Every config is made as a plain QueueConfig; it is const because it is shared.
  QueueConfig& config = const_cast<QueueConfig&>(*known);
  const auto number = static_cast<std::uint64_t>(change.number);
  const RowShare before = share_of_row(config, number);
  config.apply_row(change);
  const RowShare after = share_of_row(config, number);
  CHECK(bytes_ >= before.bytes && config_memory_ >= before.memory, "row {} of queue {}", number,
        raw(topic));
  bytes_ += after.bytes - before.bytes;
  config_memory_ += after.memory - before.memory;
}

void Directory::drop(QueueId id) {
  const auto it = by_id_.find(raw(id));
  if (it == by_id_.end()) return;
  uncount(*it->second);
  const auto size = sizes_.find(owning_account(it->second->account));
  CHECK(size != sizes_.end() && size->second > 0, "queue {} was not counted", raw(id));
  if (--size->second == 0) sizes_.erase(size);
  const auto named = by_name_.find(
      std::pair<std::string_view, std::string_view>(it->second->account, it->second->name));
  // The name may have been given to a newer queue already.
  if (named != by_name_.end() && named->second->id == id) {
    unindex(*it->second);
    by_name_.erase(named);
  }
  by_id_.erase(it);
  CHECK(!by_id_.empty() || (by_name_.empty() && bytes_ == 0), "{} bytes of no queue", bytes_);
}

ShardId shard_of(std::string_view account, std::string_view name, std::uint32_t shards) {
  CHECK(shards >= 1 && shards <= shards_max, "{}", shards);
  const std::uint64_t key =
      XXH3_64bits_withSeed(name.data(), name.size(), XXH3_64bits(account.data(), account.size()));
  std::uint32_t best = 0;
  std::uint64_t best_weight = 0;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const std::uint64_t weight = XXH3_64bits_withSeed(&key, sizeof key, shard + 1);
    if (weight >= best_weight) best = shard, best_weight = weight;
  }
  return ShardId{static_cast<std::uint8_t>(best)};
}

}  // namespace pawl

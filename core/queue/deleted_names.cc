// SPDX-License-Identifier: Apache-2.0
#include "core/queue/deleted_names.h"

#include "core/base/check.h"
#include "core/queue/directory.h"

namespace pawl {
namespace {

constexpr std::size_t name_bytes = 64;  // of the set, and the place in the queue

std::size_t memory_of_deleted(const QueueConfig& config) {
  return Directory::config_memory_of(config) + name_bytes;
}

}  // namespace

void DeletedNames::add(const ConfigPtr& deleted) {
  if (wait_ == Duration{0} || !deleted->is_queue()) return;
  free(deleted->account, deleted->name);
  const bool added = names_.insert(deleted).second;
  CHECK(added, "queue {} is listed twice", raw(deleted->id));
  ages_.push_back(deleted);
  CHECK(names_.size() <= ages_.size(), "{} names, {} ages", names_.size(), ages_.size());
  memory_ += memory_of_deleted(*deleted);
  if (ages_.size() > names_max) forget_oldest();
}

void DeletedNames::free(std::string_view account, std::string_view name) {
  if (const auto it = names_.find(ByName::Name{account, name}); it != names_.end())
    names_.erase(it);
}

bool DeletedNames::waits(std::string_view account, std::string_view name, Instant now) const {
  const auto it = names_.find(ByName::Name{account, name});
  return it != names_.end() && now < (*it)->modified + wait_;
}

void DeletedNames::forget(Instant now, std::size_t max) {
  for (; max > 0 && !ages_.empty() && now >= ages_.front()->modified + wait_; --max)
    forget_oldest();
}

void DeletedNames::forget_oldest() {
  const ConfigPtr& oldest = ages_.front();
  if (const auto it = names_.find(oldest); it != names_.end() && *it == oldest) names_.erase(it);
  const std::size_t memory = memory_of_deleted(*oldest);
  CHECK(memory_ >= memory, "{} bytes of {}", memory, memory_);
  memory_ -= memory;
  ages_.pop_front();
}

ConfigPtr DeletedNames::next(const ConfigPtr& last) const {
  const auto it = last == nullptr ? names_.begin() : names_.upper_bound(last);
  return it == names_.end() ? nullptr : *it;
}

}  // namespace pawl

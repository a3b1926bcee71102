#include "core/attempts.h"

#include <utility>

namespace pawl {

// Drops what is over, and what is beyond `keep` of them.
void Attempts::forget(Instant now, std::size_t keep) {
  while (!old_.empty() && (old_.front().until <= now || old_.size() > keep)) {
    by_id_.erase(old_.front().id);
    old_.pop_front();
  }
}

std::vector<Attempted>* Attempts::find(const TextKey& id, Instant now) {
  forget(now, attempts_max);
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &it->second;
}

void Attempts::put(const TextKey& id, std::vector<Attempted> messages, Instant now) {
  forget(now, attempts_max - 1);
  if (by_id_.emplace(id, std::move(messages)).second) old_.push_back({id, now + window});
}

void Attempts::clear() {
  by_id_.clear();
  old_.clear();
}

}  // namespace pawl

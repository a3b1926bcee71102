// SPDX-License-Identifier: Apache-2.0
#include "core/queue/attempts.h"

#include <utility>

#include "core/base/check.h"

namespace pawl {

void Attempts::pop() {
  const auto it = by_id_.find(old_.front().id);
  CHECK(it != by_id_.end(), "an attempt has an age and no messages");
  usage_.drop(attempt_bytes + it->second.size() * sizeof(Attempted));
  by_id_.erase(it);
  old_.pop_front();
  old_.fit();
}

bool Attempts::forget_over(Instant now, std::size_t most) {
  for (; !old_.empty() && old_.front().until <= now; --most) {
    if (most == 0) return false;
    pop();
  }
  return true;
}

std::vector<Attempted>* Attempts::find(const TextKey& id, Instant now) {
  forget_over(now, attempts_max);
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &it->second;
}

void Attempts::put(const TextKey& id, std::vector<Attempted> messages, Instant now) {
  forget_over(now, attempts_max);
  while (old_.size() >= attempts_max) pop();
  const std::uint64_t bytes = attempt_bytes + messages.size() * sizeof(Attempted);
  if (!by_id_.emplace(id, std::move(messages)).second) return;
  old_.push_back({id, now + window});
  CHECK(old_.size() == by_id_.size(), "{} ages of {} attempts", old_.size(), by_id_.size());
  CHECK(old_.size() <= attempts_max, "{} attempts", old_.size());
  usage_.add(bytes);
}

}  // namespace pawl

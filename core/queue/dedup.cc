// SPDX-License-Identifier: Apache-2.0
#include "core/queue/dedup.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/check.h"

namespace pawl {

TextKey text_key(const Secret& secret, std::string_view text) { return text_key(secret, {}, text); }

TextKey text_key(const Secret& secret, std::string_view group, std::string_view text) {
  XXH128_hash_t hash =
      XXH3_128bits_withSecret(text.data(), text.size(), secret.data(), secret.size());
  if (!group.empty()) {
    const XXH128_hash_t of_group =
        XXH3_128bits_withSecret(group.data(), group.size(), secret.data(), secret.size());
    const std::uint64_t both[] = {of_group.high64, of_group.low64, hash.high64, hash.low64};
    hash = XXH3_128bits_withSecret(both, sizeof both, secret.data(), secret.size());
  }
  return {hash.high64 | 1, hash.low64};  // never zero; `low` is what tables are indexed by
}

void Dedup::pop() {
  index_.erase(entries_.front().key.low, first_,
               [this](std::uint32_t n) { return entry(n).key.low; });
  entries_.pop_front();
  first_ = (first_ + 1) & numbers;
  entries_usage_.drop(1);
  count();
}

bool Dedup::forget_over(Instant now, std::size_t most) {
  for (; !entries_.empty() && is_over(entries_.front(), now); --most) {
    if (most == 0) return false;
    pop();
  }
  return true;
}

Instant Dedup::next_over() const {
  return entries_.empty() ? never : entries_.front().sent + dedup_window;
}

Seq Dedup::find(const TextKey& key, Instant now) {
  forget_over(now, pops_a_find);
  const std::uint32_t found = index_.find(
      key.low, [&](std::uint32_t n) { return entry(n).key == key && !is_over(entry(n), now); });
  return found == HashIndex::none ? 0 : entry(found).seq;
}

void Dedup::add(const TextKey& key, Seq seq, Instant sent) {
  CHECK(key != TextKey{} && seq != 0, "seq {}", seq);
  CHECK(entries_.size() < numbers, "{} entries", entries_.size());
  const auto number = (first_ + static_cast<std::uint32_t>(entries_.size())) & numbers;
  entries_.push_back({key, seq, sent});
  index_.put(key.low, number, [this](std::uint32_t n) { return entry(n).key.low; });
  entries_usage_.add(1);
  count();
}

std::size_t Dedup::first_from(Seq seq) const {
  std::size_t at = 0;
  for (std::size_t end = entries_.size(); at < end;) {
    const std::size_t middle = at + (end - at) / 2;
    entries_[middle].seq < seq ? at = middle + 1 : end = middle;
  }
  return at;
}

Instant Dedup::over_at(Seq seq, Instant now) const {
  const std::size_t at = first_from(seq);
  CHECK(at <= entries_.size(), "entry {} of {}", at, entries_.size());
  if (at == entries_.size() || entries_[at].seq != seq || is_over(entries_[at], now)) return {};
  return entries_[at].sent + dedup_window;
}

bool Dedup::copy_from(Seq seq, std::size_t most, std::vector<Entry>& out) const {
  std::size_t at = first_from(seq);
  for (; at < entries_.size() && most > 0; ++at, --most) out.push_back(entries_[at]);
  return at == entries_.size();
}

void Dedup::forget_below(Seq seq) {
  while (!entries_.empty() && entries_.front().seq < seq) pop();
}

}  // namespace pawl

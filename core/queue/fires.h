// SPDX-License-Identifier: Apache-2.0
// Fires: the newest fire of each schedule that has sent a message to a queue. It is known for as
// long as the schedule and the queue exist, so that no restart repeats a fire.
//
// Units:  Instant ms of the wall clock.
// Limits: one entry a schedule, some 70 bytes.
// Owner:  one queue of one shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/base/usage.h"
#include "core/queue/request.h"

namespace pawl {

class Fires {
 public:
  struct Entry {
    Fire fire;
    Seq seq = 0;  // of its message
    bool operator==(const Entry&) const = default;
  };

  // `bytes_total` is shared by all Fires.
  explicit Fires(std::uint64_t& bytes_total) : usage_(bytes_total) {}

  // Null: the schedule has sent no message to this queue.
  const Entry* newest(QueueId schedule) const {
    const auto it = entries_.find(schedule);
    return it == entries_.end() ? nullptr : &it->second;
  }
  bool has(const Fire& fire) const {
    const Entry* const entry = newest(fire.schedule);
    return entry != nullptr && entry->fire.at >= fire.at;
  }
  // A fire older than the newest changes nothing.
  void note(const Fire& fire, Seq seq) {
    CHECK(fire.schedule != QueueId::none && fire.at.ms > 0, "a fire at {}", fire.at.ms);
    Entry& entry = entries_[fire.schedule];
    if (entry.seq == 0 || entry.fire.at < fire.at) entry = {fire, seq};
    usage_.set(entries_.size() * entry_bytes);
  }
  // The entries from that schedule on, at most `most`; those of schedules that do not exist are
  // dropped. False: `from` is where the next call goes on.
  template <typename Exists>
  bool copy_from(QueueId& from, std::size_t most, const Exists& exists, std::vector<Entry>& out) {
    std::size_t looks = most;
    for (auto it = entries_.lower_bound(from); it != entries_.end();) {
      from = it->first;
      if (looks-- == 0) return false;
      if (exists(it->first)) {
        out.push_back((it++)->second);
      } else {
        it = entries_.erase(it);
      }
    }
    usage_.set(entries_.size() * entry_bytes);
    return true;
  }

 private:
  static constexpr std::size_t entry_bytes = 32 + 8 + sizeof(Entry) + heap_block_bytes;
  std::map<QueueId, Entry> entries_;
  UsageCounter usage_;
};

}  // namespace pawl

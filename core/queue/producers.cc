// SPDX-License-Identifier: Apache-2.0
#include "core/queue/producers.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

constexpr std::size_t first_runs = 2;   // capacity at first
constexpr std::size_t spare_runs = 64;  // capacity that a producer keeps for reuse

}  // namespace

// --- the runs of one producer ---

// Index of the first run that begins above the sequence. Most sequences are the newest.
std::size_t AcceptedRuns::first_above(std::uint64_t sequence) const {
  if (runs_.empty() || runs_.back().first <= sequence) return runs_.size();
  const auto it = std::ranges::upper_bound(runs_, sequence, {}, &Run::first);
  return static_cast<std::size_t>(it - runs_.begin());
}

std::optional<Seq> AcceptedRuns::find(std::uint64_t sequence) const {
  if (sequence < floor_) return 0;
  if (MUTANT(accept_gaps) && !runs_.empty() && sequence < runs_.back().first) return 0;
  const std::size_t above = first_above(sequence);
  if (above == 0 || runs_[above - 1].end <= sequence) return std::nullopt;
  return runs_[above - 1].seq_of(sequence);
}

void AcceptedRuns::raise_floor(std::uint64_t floor) {
  if (floor <= floor_) return;
  floor_ = floor;
  std::size_t below = 0;
  while (below < runs_.size() && runs_[below].end <= floor) ++below;
  runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(below));
  if (runs_.capacity() > spare_runs && runs_.size() < runs_.capacity() / 4) runs_.shrink_to_fit();
  if (runs_.empty() || runs_.front().first >= floor) return;
  Run& first = runs_.front();
  first.seq = first.seq_of(floor);
  first.first = floor;
}

void AcceptedRuns::join() {
  std::size_t last = 0;
  for (std::size_t i = 1; i < runs_.size(); ++i) {
    Run& run = runs_[last];
    const Run& next = runs_[i];
    if (run.end != next.first) {
      runs_[++last] = next;
      continue;
    }
    if (next.seq == 0 || run.seq_of(next.first) != next.seq) run.seq = 0;
    run.end = next.end;
  }
  if (!runs_.empty()) runs_.resize(last + 1);
  CHECK(runs_.empty() || runs_.front().first >= floor_, "a run from {} below {}",
        runs_.front().first, floor_);
  if (runs_.empty() || runs_.front().first != floor_ || runs_.front().seq != 0) return;
  floor_ = runs_.front().end;  // all below is accepted, without numbers: the floor says the same
  runs_.erase(runs_.begin());
}

// Whether the sequence widens a run, or the accepted part below the floor.
bool AcceptedRuns::adjoins(std::uint64_t sequence) const {
  const std::size_t above = first_above(sequence);
  return sequence == floor_ || (above > 0 && runs_[above - 1].end == sequence) ||
         (above < runs_.size() && runs_[above].first == sequence + 1);
}

bool AcceptedRuns::make_room(std::uint64_t sequence, std::size_t most) {
  if (runs_.size() >= most) join();
  if (runs_.size() >= most) return adjoins(sequence);
  if (runs_.size() == runs_.capacity())
    runs_.reserve(std::min(most, std::max(first_runs, 2 * runs_.size())));
  return true;
}

void AcceptedRuns::add(std::uint64_t sequence, Seq seq) {
  CHECK(seq != 0 && seq <= seq_newest_max, "seq {}", seq);
  const std::size_t above = first_above(sequence);
  CHECK(sequence >= floor_ && (above == 0 || runs_[above - 1].end <= sequence),
        "sequence {} is accepted twice", sequence);
  if (above > 0 && runs_[above - 1].end == sequence && runs_[above - 1].seq_of(sequence) == seq) {
    ++runs_[above - 1].end;
  } else if (runs_.size() < runs_.capacity()) {
    runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(above), {sequence, sequence + 1, seq});
  } else {
    widen(sequence, above);
  }
}

// Without a run of its own the message loses its number.
void AcceptedRuns::widen(std::uint64_t sequence, std::size_t above) {
  CHECK(adjoins(sequence), "sequence {} does not fit into {} runs", sequence, runs_.size());
  if (above > 0 && runs_[above - 1].end == sequence) {
    ++runs_[above - 1].end;
    runs_[above - 1].seq = 0;
  } else if (above < runs_.size() && runs_[above].first == sequence + 1) {
    --runs_[above].first;
    runs_[above].seq = 0;
  } else {
    floor_ = sequence + 1;
  }
}

void AcceptedRuns::restore(const Run& run) {
  if (run.first == run.end || run.first < floor_) return;
  if (!runs_.empty() && run.first < runs_.back().end) return;
  runs_.push_back(run);
}

// --- the producers of a queue ---

template <typename Change>
auto Producers::change_runs(Producer& producer, Change change) {
  const std::size_t before = producer.accepted.bytes();
  const auto result = change(producer.accepted);
  const std::size_t after = producer.accepted.bytes();
  after > before ? usage_.add(after - before) : usage_.drop(before - after);
  return result;
}

Producers::Producer* Producers::known(std::uint64_t id) {
  if (latest_ != nullptr && latest_->id == id) return latest_;
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : latest_ = &*it->second;
}

Producers::Producer& Producers::make(std::uint64_t id, std::uint64_t floor) {
  CHECK(id != 0, "a producer without an id");
  const auto at = order_.insert(order_.end(), {id, Instant{}, AcceptedRuns(floor)});
  const bool fresh = by_id_.emplace(id, at).second;
  CHECK(fresh, "producer {} is there", id);
  usage_.add(producer_bytes);
  return *(latest_ = &*at);
}

// The producer expires last.
void Producers::used(Producer& producer, Instant sent) {
  CHECK(order_.size() == by_id_.size(), "{} and {} producers", order_.size(), by_id_.size());
  producer.sent = std::max(producer.sent, sent);
  if (&order_.back() != &producer)
    order_.splice(order_.end(), order_, by_id_.find(producer.id)->second);
}

std::optional<Seq> Producers::find(const ProducerKey& key) {
  const Producer* const producer = known(key.id);
  return producer == nullptr ? std::nullopt : producer->accepted.find(key.sequence);
}

// At the limit of bytes a producer has no more memory than before.
bool Producers::make_room(const ProducerKey& key, std::uint64_t floor, std::uint64_t bytes_max) {
  Producer* const producer = known(key.id);
  const bool may_grow = bytes_total_ < bytes_max;
  if (producer == nullptr) return may_grow;
  return change_runs(*producer, [&](AcceptedRuns& accepted) {
    accepted.raise_floor(floor);
    const std::size_t capacity = accepted.runs().capacity();
    return accepted.make_room(key.sequence, may_grow ? runs_max : std::min(runs_max, capacity));
  });
}

void Producers::add(const ProducerKey& key, std::uint64_t floor, Seq seq, Instant sent) {
  Producer* producer = known(key.id);
  if (producer == nullptr) {
    producer = &make(key.id, floor);
    change_runs(*producer,
                [&](AcceptedRuns& runs) { return runs.make_room(key.sequence, runs_max); });
  }
  producer->accepted.add(key.sequence, seq);  // it takes no more memory
  used(*producer, sent);
}

bool Producers::forget_over(Instant now, std::size_t most) {
  for (; !order_.empty() && is_over(order_.front(), now); --most) {
    if (most == 0) return false;
    Producer& first = order_.front();
    usage_.drop(producer_bytes + first.accepted.bytes());
    if (latest_ == &first) latest_ = nullptr;
    CHECK(by_id_.erase(first.id) == 1, "producer {} has no index", first.id);
    order_.pop_front();
  }
  return true;
}

Instant Producers::next_over() const {
  return order_.empty() ? never : order_.front().sent + dedup_window;
}

// --- checkpoints and recovery ---

bool Producers::copy_behind(Cursor& after, std::size_t most, std::vector<Entry>& out) const {
  for (auto it = by_id_.lower_bound(after.id); it != by_id_.end(); ++it) {
    const Producer& producer = *it->second;
    CHECK(producer.id == it->first, "producer {} under {}", producer.id, it->first);
    Entry entry{producer.id, producer.accepted.floor(), producer.sent, {}};
    const auto push = [&](const AcceptedRuns::Run& run) {
      entry.run = run;
      out.push_back(entry);
      after = {producer.id, std::max<std::uint64_t>(run.end, 1) - 1};
    };
    const bool begun = producer.id == after.id;
    const std::uint64_t from = begun ? after.sequence + 1 : 0;
    if (!begun && producer.accepted.runs().empty()) {
      if (most-- == 0) return false;
      push({entry.floor, entry.floor, 0});
      continue;
    }
    for (AcceptedRuns::Run run : producer.accepted.runs()) {
      if (run.end <= from) continue;
      if (most-- == 0) return false;
      run.seq = run.seq_of(std::max(run.first, from));
      run.first = std::max(run.first, from);
      push(run);
    }
  }
  return true;
}

void Producers::restore(const Entry& entry) {
  Producer* producer = known(entry.id);
  if (producer == nullptr) producer = &make(entry.id, entry.floor);
  change_runs(*producer, [&](AcceptedRuns& accepted) {
    accepted.raise_floor(entry.floor);
    accepted.restore(entry.run);
    return true;
  });
  used(*producer, entry.sent);
}

void Producers::restore(const ProducerKey& key, Seq seq, Instant sent) {
  Producer* producer = known(key.id);
  if (producer == nullptr) producer = &make(key.id, 1);
  change_runs(*producer, [&](AcceptedRuns& accepted) {
    const std::size_t runs = accepted.runs().size();
    if (runs >= runs_max && std::has_single_bit(runs)) accepted.join();
    if (accepted.find(key.sequence)) return false;
    CHECK(accepted.make_room(key.sequence, SIZE_MAX), "{} runs", runs);
    accepted.add(key.sequence, seq);
    return true;
  });
  used(*producer, sent);
}

void Producers::sort() {
  order_.sort([](const Producer& a, const Producer& b) { return a.sent < b.sent; });
}

}  // namespace pawl

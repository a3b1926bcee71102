// SPDX-License-Identifier: Apache-2.0
#include "core/containers/timer_wheel.h"

#include "core/base/check.h"

namespace pawl {
namespace {

// Less than one turn of the top level: an entry a whole turn away would share the slot of now and
// hide nearer entries.
constexpr std::uint64_t reach = (std::uint64_t{1} << 36) - (std::uint64_t{1} << 30);

TimerEntry entry_of(Instant deadline, std::uint16_t kind, std::uint32_t subject,
                    std::uint32_t generation) {
  CHECK(deadline.ms >= 0);
  return {.deadline = static_cast<std::uint64_t>(deadline.ms) & ((std::uint64_t{1} << 48) - 1),
          .kind = kind,
          .subject = subject,
          .generation = generation};
}

}  // namespace

TimerWheel::~TimerWheel() {
  for (auto& level : wheel_) {
    for (Chunk* chain : level) free_chain(chain);
  }
  for (const Lane& lane : lanes_) free_chain(lane.head);
  free_chain(due_);
  free_chain(opening_);
  free_chain(spare_);
}

void TimerWheel::free_chain(Chunk* chain) {
  while (chain != nullptr) {
    Chunk* const next = chain->next;
    delete chain;
    chain = next;
  }
}

TimerWheel::Chunk* TimerWheel::take_chunk() {
  if (spare_ == nullptr) {
    ++chunks_;
    return new Chunk;
  }
  CHECK(spares_ > 0 && spares_ <= chunks_, "{} spare of {}", spares_, chunks_);
  Chunk* const chunk = spare_;
  spare_ = chunk->next;
  --spares_;
  return chunk;
}

void TimerWheel::drop_chunk(Chunk* chunk) {
  if (chunk == sweep_after_) sweep_after_ = nullptr;  // the sweep begins this chain again
  CHECK(spares_ < chunks_ && spares_ <= spares_kept_, "{} spare of {}", spares_, chunks_);
  if (spares_ == spares_kept_) {
    delete chunk;
    --chunks_;
    return;
  }
  chunk->next = spare_;
  spare_ = chunk;
  ++spares_;
}

void TimerWheel::push(Chunk*& chain, const TimerEntry& entry) {
  if (chain == nullptr || chain->count == Chunk::capacity) {
    Chunk* const chunk = take_chunk();
    chunk->next = chain;
    chunk->first = chunk->count = 0;
    chain = chunk;
  }
  chain->entries[chain->count++] = entry;
}

void TimerWheel::push_back(Lane& lane, TimerEntry entry) {
  if (lane.tail == nullptr || lane.tail->count == Chunk::capacity) {
    Chunk* const chunk = take_chunk();
    chunk->next = nullptr;
    chunk->first = chunk->count = 0;
    (lane.tail != nullptr ? lane.tail->next : lane.head) = chunk;
    lane.tail = chunk;
  }
  CHECK(lane.head != nullptr && lane.tail->next == nullptr, "the tail is not the last chunk");
  lane.tail->entries[lane.tail->count++] = entry;
}

void TimerWheel::pop_front(Lane& lane) {
  Chunk* const chunk = lane.head;
  CHECK(chunk != nullptr && chunk->first < chunk->count, "an empty lane");
  if (++chunk->first < chunk->count) return;
  lane.head = chunk->next;
  if (lane.head == nullptr) lane.tail = nullptr;
  drop_chunk(chunk);
}

void TimerWheel::move_if_it_fits(Chunk& from, Chunk& to) {
  CHECK(from.first == 0 && to.count <= Chunk::capacity, "{} entries", to.count);
  if (from.count > Chunk::capacity - to.count) return;
  std::copy_n(from.entries.begin(), from.count, to.entries.begin() + to.count);
  to.count += from.count;
  from.count = 0;
}

// The level is that of the highest bit in which the deadline differs from now: all slots below it
// are nearer. Due and overdue entries go to the next millisecond.
void TimerWheel::insert(const TimerEntry& entry) {
  std::uint64_t at = entry.deadline;
  if (at <= elapsed_) at = elapsed_ + 1;
  if (at - elapsed_ > reach) at = elapsed_ + reach;
  const std::uint64_t differing = (elapsed_ ^ at) | (slots - 1);
  const unsigned level =
      std::min(static_cast<unsigned>(63 - std::countl_zero(differing)) / bits, levels - 1);
  const unsigned slot = static_cast<unsigned>(at >> (level * bits)) & (slots - 1);
  CHECK(at > elapsed_ && at - elapsed_ <= reach, "{} from {} on", at, elapsed_);
  occupied_[level] |= std::uint64_t{1} << slot;
  due_at(at >> (level * bits) << (level * bits));
  push(wheel_[level][slot], entry);
}

void TimerWheel::arm(Instant deadline, std::uint16_t kind, std::uint32_t subject,
                     std::uint32_t generation) {
  insert(entry_of(deadline, kind, subject, generation));
  ++size_;
}

void TimerWheel::arm(Instant now, Duration timeout, std::uint16_t kind, std::uint32_t subject,
                     std::uint32_t generation) {
  const Instant deadline = now + timeout;
  const TimerEntry entry = entry_of(deadline, kind, subject, generation);
  for (Lane& lane : lanes_) {
    if (lane.head == nullptr) lane.timeout_ms = timeout.ms;  // an empty lane takes any timeout
    if (lane.timeout_ms != timeout.ms) continue;
    if (lane.tail != nullptr && lane.tail->entries[lane.tail->count - 1].deadline > entry.deadline)
      break;  // a clock that went back
    due_at(entry.deadline);
    push_back(lane, entry);
    ++size_;
    return;
  }
  arm(deadline, kind, subject, generation);
}

TimerWheel::Expiration TimerWheel::next_expiration() const {
  for (unsigned level = 0; level < levels; ++level) {
    const std::uint64_t occupied = occupied_[level];
    if (occupied == 0) continue;
    const unsigned shift = level * bits;
    const unsigned now_slot = static_cast<unsigned>(elapsed_ >> shift) & (slots - 1);
    const auto ahead =
        static_cast<unsigned>(std::countr_zero(std::rotr(occupied, static_cast<int>(now_slot))));
    const unsigned slot = (now_slot + ahead) & (slots - 1);
    const std::uint64_t range = std::uint64_t{1} << (shift + bits);
    std::uint64_t at = (elapsed_ & ~(range - 1)) + (std::uint64_t{slot} << shift);
    // Only the top level wraps: its slots behind "now" are those of the next round.
    if (at <= elapsed_) at += range;
    return {.level = level, .slot = slot, .at = at, .found = true};
  }
  return {};
}

TimerWheel::Chunk* TimerWheel::take_slot(unsigned level, unsigned slot) {
  Chunk* const chain = wheel_[level][slot];
  CHECK(chain != nullptr, "slot {} of level {} is empty", slot, level);
  wheel_[level][slot] = nullptr;
  occupied_[level] &= ~(std::uint64_t{1} << slot);
  if (sweep_at_ == lanes_max + level * slots + slot) sweep_after_ = nullptr;
  return chain;
}

std::uint64_t TimerWheel::earliest() const {
  std::uint64_t at = unarmed;
  for (const Lane& lane : lanes_) {
    if (lane.head != nullptr) at = std::min<std::uint64_t>(at, front(lane).deadline);
  }
  if (due_ != nullptr || opening_ != nullptr) at = std::min(at, elapsed_);
  if (const Expiration next = next_expiration(); next.found) at = std::min(at, next.at);
  return at;
}

Instant TimerWheel::next() {
  if (!std::exchange(next_known_, true)) next_ = earliest();
  return next_ == unarmed ? never : Instant{static_cast<std::int64_t>(next_)};
}

}  // namespace pawl

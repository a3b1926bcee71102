// SPDX-License-Identifier: Apache-2.0
#include "tests/orders/shared_memory.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace pawl::orders {
namespace {

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

}  // namespace

SharedMemory::SharedMemory(Choose choose) : choose_(std::move(choose)) {
  for (std::size_t i = 0; i < threads_max; ++i) threads_[i].known.clock[i] = 1;
}

std::size_t SharedMemory::add(std::uint64_t value) {
  CHECK(locations_.size() < locations_max);
  locations_.push_back({Message{.value = value}});
  return locations_.size() - 1;
}

std::size_t SharedMemory::place_of(std::size_t location, std::uint8_t id) const {
  const auto& messages = locations_[location];
  return static_cast<std::size_t>(std::ranges::find(messages, id, &Message::id) - messages.begin());
}

// The place of the oldest message that an operation may read.
std::size_t SharedMemory::oldest(const Thread& thread, std::size_t location,
                                 std::memory_order order) const {
  const std::size_t place = place_of(location, thread.known.seen[location]);
  if (order != std::memory_order_seq_cst) return place;
  return std::max(place, place_of(location, common_.seen[location]));
}

void SharedMemory::learn(Knowledge& to, const Knowledge& from) const {
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    if (to.seen[i] != from.seen[i] && place_of(i, to.seen[i]) < place_of(i, from.seen[i]))
      to.seen[i] = from.seen[i];
  }
  for (std::size_t i = 0; i < threads_max; ++i) to.clock[i] = std::max(to.clock[i], from.clock[i]);
}

void SharedMemory::take(Thread& thread, std::size_t location, const Message& message,
                        std::memory_order order) {
  thread.known.seen[location] = message.id;
  learn(acquires(order) ? thread.known : thread.to_acquire, message.carried);
  if (order == std::memory_order_seq_cst) common_.seen[location] = message.id;
}

// Adds a message; `carried` holds what a read-modify-write passes on.
void SharedMemory::put(std::size_t thread, std::size_t location, std::size_t place, Message message,
                       std::memory_order order) {
  auto& messages = locations_[location];
  CHECK(messages.size() < 255 && place > 0 && place <= messages.size());
  Thread& writer = threads_[thread];
  message.id = static_cast<std::uint8_t>(messages.size());
  const std::uint8_t id = message.id;
  messages.insert(messages.begin() + static_cast<std::ptrdiff_t>(place), message);
  writer.known.seen[location] = id;
  learn(messages[place].carried, releases(order) ? writer.known : writer.released);
  if (order == std::memory_order_seq_cst) common_.seen[location] = id;
  ++writer.known.clock[thread];
}

std::uint64_t SharedMemory::load(std::size_t thread, std::size_t location,
                                 std::memory_order order) {
  Thread& reader = threads_[thread];
  const auto& messages = locations_[location];
  const std::size_t first = oldest(reader, location, order);
  const Message& message = messages[messages.size() - 1 - choose_(messages.size() - first)];
  take(reader, location, message, order);
  return message.value;
}

void SharedMemory::store(std::size_t thread, std::size_t location, std::uint64_t value,
                         std::memory_order order) {
  const auto& messages = locations_[location];
  std::vector<std::size_t> places{messages.size()};
  for (std::size_t place = oldest(threads_[thread], location, order) + 1; place < messages.size();
       ++place) {
    if (!messages[place].follows) places.push_back(place);
  }
  put(thread, location, places[choose_(places.size())], Message{.value = value}, order);
}

std::uint64_t SharedMemory::modify(std::size_t thread, std::size_t location, const Change& change,
                                   std::memory_order order) {
  const auto& messages = locations_[location];
  std::vector<std::size_t> places;
  for (std::size_t place = oldest(threads_[thread], location, order); place < messages.size();
       ++place) {
    if (place + 1 == messages.size() || !messages[place + 1].follows) places.push_back(place);
  }
  const std::size_t place = places[choose_(places.size())];
  const Message read = messages[place];
  take(threads_[thread], location, read, order);
  put(thread, location, place + 1,
      Message{.value = change(read.value), .follows = true, .carried = read.carried}, order);
  return read.value;
}

void SharedMemory::fence(std::size_t thread, std::memory_order order) {
  Thread& self = threads_[thread];
  if (acquires(order)) learn(self.known, self.to_acquire);
  if (order == std::memory_order_seq_cst) {
    // The order of the fences is no happens-before: it does not prevent data races by itself.
    const auto clock = self.known.clock;
    learn(self.known, common_);
    self.known.clock = clock;
    learn(common_, self.known);
  }
  if (releases(order)) self.released = self.known;
  ++self.known.clock[thread];
}

bool SharedMemory::read(std::size_t thread, Accesses& accesses) {
  const auto& clock = threads_[thread].known.clock;
  accesses.read[thread] = clock[thread];
  return std::ranges::equal(accesses.written, clock, std::ranges::less_equal());
}

bool SharedMemory::write(std::size_t thread, Accesses& accesses) {
  const auto& clock = threads_[thread].known.clock;
  const bool ordered = std::ranges::equal(accesses.written, clock, std::ranges::less_equal()) &&
                       std::ranges::equal(accesses.read, clock, std::ranges::less_equal());
  accesses.written[thread] = clock[thread];
  return ordered;
}

void SharedMemory::begin_threads() {
  for (std::size_t i = 1; i < threads_max; ++i) learn(threads_[i].known, threads_[0].known);
  ++threads_[0].known.clock[0];
}

void SharedMemory::join_threads() {
  for (std::size_t i = 1; i < threads_max; ++i) learn(threads_[0].known, threads_[i].known);
}

}  // namespace pawl::orders

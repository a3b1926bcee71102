// SPDX-License-Identifier: Apache-2.0
#include "tests/core/allocations.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count{0};
std::atomic<std::uint64_t> broker_bytes{0};

// A header precedes each block and keeps its alignment. Its last 8 bytes hold the bytes counted for
// the broker.
constexpr std::size_t header_min = 16;
std::size_t header_of(std::size_t alignment) { return std::max(header_min, alignment); }
std::uint64_t& broker_share(void* memory) { return *(static_cast<std::uint64_t*>(memory) - 1); }

void* allocate(std::size_t bytes, std::size_t alignment) {
  count.fetch_add(1, std::memory_order_relaxed);
  const std::size_t header = header_of(alignment);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const block = std::aligned_alloc(alignment, rounded + header);
  if (block == nullptr) std::abort();
  void* const memory = static_cast<char*>(block) + header;
  const bool broker = pawl::test::BrokerMemory::here();
  broker_share(memory) = broker ? malloc_usable_size(block) - header : 0;
  broker_bytes.fetch_add(broker_share(memory), std::memory_order_relaxed);
  return memory;
}

void release(void* memory, std::size_t alignment) {
  if (memory == nullptr) return;
  broker_bytes.fetch_sub(broker_share(memory), std::memory_order_relaxed);
  std::free(static_cast<char*>(memory) - header_of(alignment));
}

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

namespace pawl::test {
std::uint64_t allocations() { return count.load(std::memory_order_relaxed); }
std::uint64_t BrokerMemory::held() { return broker_bytes.load(std::memory_order_relaxed); }
}  // namespace pawl::test

void* operator new(std::size_t bytes) { return allocate(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, usual);
}
void operator delete(void* memory) noexcept { release(memory, usual); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory, usual); }
void operator delete(void* memory, std::size_t) noexcept { release(memory, usual); }
void operator delete(void* memory, std::align_val_t alignment) noexcept {
  release(memory, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
  release(memory, static_cast<std::size_t>(alignment));
}

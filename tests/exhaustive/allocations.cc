// SPDX-License-Identifier: Apache-2.0
#include "tests/exhaustive/allocations.h"

#include <cstdlib>
#include <new>

namespace {

bool fails() {
  auto& state = pawl::exhaustive::allocations;
  if (!state.counted) return false;
  ++state.seen;
  if (state.left-- > 0) return false;
  state.left = UINT64_MAX;
  state.failed = true;
  return true;
}

void* allocate(std::size_t bytes) {
  if (fails()) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (fails()) throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (void* const memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded))
    return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

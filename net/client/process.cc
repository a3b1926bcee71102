// SPDX-License-Identifier: Apache-2.0
#include "net/client/process.h"

#include <pthread.h>

#include <atomic>

namespace pawl::client {
namespace {

// Relaxed: a child changes it while it has one thread.
std::atomic<std::uint32_t> generation = 1;

void begin_child() { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::uint32_t process_generation() {
  // Without memory for it, a child is not told from its parent.
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, begin_child);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace pawl::client

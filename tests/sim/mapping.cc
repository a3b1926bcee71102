// SPDX-License-Identifier: Apache-2.0
// Mapped memory for the log's image is kept for reuse instead of unmapped. Recovery maps and unmaps
// one extent at a time, and a third of the simulator's time went into page faults. Linked into
// pawl_sim only, with --wrap; not with sanitizers, which must see a use of unmapped memory.
#include <sys/mman.h>

#include <cstddef>
#include <map>
#include <vector>

extern "C" {

void* __real_mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
                  off_t offset);
int __real_munmap(void* address, std::size_t bytes);
void* __wrap_mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
                  off_t offset);
int __wrap_munmap(void* address, std::size_t bytes);

}  // extern "C"

namespace {

constexpr std::size_t kept_max = 256;            // blocks of one size
constexpr std::size_t kept_bytes_max = 1 << 20;  // larger blocks are rare

std::vector<void*>& kept(std::size_t bytes) {
  static std::map<std::size_t, std::vector<void*>> by_size;
  return by_size[bytes];
}

}  // namespace

void* __wrap_mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
                  off_t offset) {
  const bool plain = address == nullptr && fd == -1 && flags == (MAP_PRIVATE | MAP_ANONYMOUS);
  if (plain && bytes <= kept_bytes_max && !kept(bytes).empty()) {
    void* const memory = kept(bytes).back();
    kept(bytes).pop_back();
    return memory;
  }
  return __real_mmap(address, bytes, protection, flags, fd, offset);
}

int __wrap_munmap(void* address, std::size_t bytes) {
  if (bytes > kept_bytes_max || kept(bytes).size() == kept_max)
    return __real_munmap(address, bytes);
  kept(bytes).push_back(address);
  return 0;
}

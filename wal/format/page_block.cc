// SPDX-License-Identifier: Apache-2.0
#include "wal/format/page_block.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "core/base/check.h"
#include "wal/format/disk.h"

namespace pawl {
namespace {

std::byte* map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED, "no memory for {} bytes of the log, errno {}", bytes, errno);
  madvise(memory, bytes, MADV_NOHUGEPAGE);  // fails on a kernel without huge pages, harmlessly
  return static_cast<std::byte*>(memory);
}

}  // namespace

// mmap, not the heap: freed extents return to the system at once, while glibc would raise its mmap
// threshold to their size and keep them. Huge pages are disabled, whatever the system's default.
// The first touch of one took 6.5 ms on the shard's thread where the host gives memory to the guest
// page by page.
PageBlock::PageBlock(std::size_t bytes) : data_(map(bytes)), bytes_(bytes) {
  CHECK(bytes > 0 && bytes % block_bytes == 0, "{}", bytes);
}

PageBlock::~PageBlock() {
  if (data_) CHECK(munmap(data_, bytes_) == 0);
}

PageBlock::PageBlock(PageBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

PageBlock& PageBlock::operator=(PageBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace pawl

#include "wal/image.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "wal/disk.h"

namespace pawl {
namespace {

constexpr std::size_t huge_page_bytes = 2 << 20;

std::byte* map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED, "no memory for {} bytes of the log, errno {}", bytes, errno);
  return static_cast<std::byte*>(memory);
}

// mmap and not the heap: freed extents go back to the system at once, and glibc would raise its mmap
// threshold to their size and keep them.
std::byte* map_aligned(std::size_t bytes) {
  if (bytes < huge_page_bytes) return map(bytes);
  std::byte* wide = map(bytes + huge_page_bytes);
  const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(wide)) % huge_page_bytes;
  if (before > 0) CHECK(munmap(wide, before) == 0);
  CHECK(munmap(wide + before + bytes, huge_page_bytes - before) == 0);
  madvise(wide + before, bytes, MADV_HUGEPAGE);  // only advice: it may be switched off
  return wide + before;
}

}  // namespace

PageBlock::PageBlock(std::size_t bytes) : data_(map_aligned(bytes)), bytes_(bytes) {
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

Image::Image(std::uint64_t extent_bytes)
    : shift_(static_cast<unsigned>(std::countr_zero(extent_bytes))), mask_(extent_bytes - 1) {
  CHECK(std::has_single_bit(extent_bytes), "{}", extent_bytes);
  spare_.reserve(spare_extents_max);
}

void Image::start(std::uint64_t first_extent) {
  CHECK(rows_.empty());
  first_ = settled_ = needed_ = first_extent;
}

std::byte* Image::open(std::uint64_t extent) {
  CHECK(extent >= settled_, "extent {} is settled", extent);
  while (first_ + rows_.size() <= extent) rows_.push_back({});
  Extent& e = row(extent);
  if (!e.memory) {
    if (spare_.empty()) {
      e.memory = PageBlock(mask_ + 1);
    } else {
      e.memory = std::move(spare_.back());
      spare_.pop_back();
    }
    ++in_use_;
  }
  return e.memory.data();
}

void Image::free(Extent& extent) {
  if (!extent.memory) return;
  --in_use_;
  if (spare_.size() < spare_extents_max) {
    spare_.push_back(std::move(extent.memory));
  } else {
    extent.memory = PageBlock();
  }
}

void Image::settle(std::uint64_t extent) {
  const std::uint64_t end = std::min(extent, first_ + rows_.size());
  for (; settled_ < end; ++settled_) {
    Extent& e = row(settled_);
    if (e.live == 0) free(e);
  }
}

void Image::truncate(std::uint64_t extent) {
  CHECK(extent >= settled_);
  while (first_ + rows_.size() > extent && !rows_.empty()) {
    CHECK(rows_.back().live == 0);
    free(rows_.back());
    rows_.pop_back();
  }
}

void Image::forget(std::uint64_t extent) {
  CHECK(extent <= first_needed(), "extent {} is still needed", extent);
  for (; first_ < extent; ++first_) rows_.pop_front();
}

std::uint64_t Image::first_needed() {
  while (needed_ < settled_ && row(needed_).live == 0) ++needed_;
  return needed_;
}

}  // namespace pawl

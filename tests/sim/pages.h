// SPDX-License-Identifier: Apache-2.0
// Pages: the bytes of a file, in pages that copies share until one of them is written to.
//
// A write to a disk is in memory three times: under way, in the cache and durable. Here all three
// share one page. A page that was never written, or was written whole as zeros, uses no memory.
//
// Units:  bytes.
// Errors: none; reading beyond the end is a CHECK.
// Owner:  values of one thread; the counts of users have no lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pawl::sim {

class Pages {
 public:
  static constexpr std::size_t page_bytes = 4096;

  std::uint64_t size() const { return size_; }
  // New bytes are zeros.
  void resize(std::uint64_t bytes);
  // Grows the file if necessary.
  void write(std::uint64_t offset, std::span<const std::byte> data);
  void read(std::uint64_t offset, std::span<std::byte> into) const;
  bool equals(std::uint64_t offset, std::span<const std::byte> data) const;
  // Copies from offset `at` of `from`; both offsets must have the same position within a page.
  void copy(std::uint64_t offset, const Pages& from, std::uint64_t at, std::uint64_t bytes);

 private:
  struct alignas(64) Page {
    std::array<std::byte, page_bytes> bytes;
    std::uint32_t users = 1;
  };
  class PageRef {  // a reference to a page; empty: a page of zeros without memory
   public:
    PageRef() = default;
    explicit PageRef(Page* page) : page_(page) {}
    PageRef(const PageRef& other) : page_(other.page_) {
      if (page_ != nullptr) ++page_->users;
    }
    PageRef(PageRef&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
    PageRef& operator=(PageRef other) noexcept {
      std::swap(page_, other.page_);
      return *this;
    }
    ~PageRef() {
      if (page_ != nullptr && --page_->users == 0) delete page_;
    }
    explicit operator bool() const { return page_ != nullptr; }
    const std::byte* bytes() const { return page_->bytes.data(); }
    // Returns the page for writing, after copying it if it has other users.
    std::byte* own();

   private:
    Page* page_ = nullptr;
  };

  std::vector<PageRef> pages_;
  std::uint64_t size_ = 0;
};

}  // namespace pawl::sim

// Pages: the bytes of a file, in pages that copies share until one of them is written to.
//
// A write to a disk is in memory three times: under way, in the cache and durable. Here it is one page with three
// users. What was never written, or is written as zeros, has no memory.
//
// Units:  bytes.
// Errors: none; reading beyond the end is a CHECK.
// Owner:  values of one thread: users are counted without a lock.
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
  // What is new is zeros.
  void resize(std::uint64_t bytes);
  // Grows when it has to.
  void write(std::uint64_t offset, std::span<const std::byte> data);
  void read(std::uint64_t offset, std::span<std::byte> into) const;
  bool equals(std::uint64_t offset, std::span<const std::byte> data) const;
  // Writes bytes of `from`, which lie at the same place of a page there.
  void copy(std::uint64_t offset, const Pages& from, std::uint64_t at, std::uint64_t bytes);

 private:
  struct alignas(64) Page {
    std::array<std::byte, page_bytes> bytes;
    std::uint32_t users = 1;
  };
  class PageRef {  // of a page that has memory, or none: zeros
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
    // Its only user's; a copy if there were more.
    std::byte* own();

   private:
    Page* page_ = nullptr;
  };

  std::vector<PageRef> pages_;
  std::uint64_t size_ = 0;
};

}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/pages.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"

namespace pawl::sim {
namespace {

constexpr std::array<std::byte, Pages::page_bytes> zeros{};

// Calls `with(page, position in it, number of bytes, position in the range)` for each page of a
// range.
template <typename With>
void for_pages(std::uint64_t offset, std::uint64_t bytes, With with) {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t place = (offset + done) % Pages::page_bytes;
    const std::uint64_t here = std::min(bytes - done, Pages::page_bytes - place);
    with((offset + done) / Pages::page_bytes, place, here, done);
    done += here;
  }
}

}  // namespace

std::byte* Pages::PageRef::own() {
  if (page_ == nullptr) {
    *this = PageRef(new Page{});
  } else if (page_->users > 1) {
    Page* const copy = new Page(*page_);
    copy->users = 1;
    *this = PageRef(copy);
  }
  return page_->bytes.data();
}

void Pages::resize(std::uint64_t bytes) {
  const std::uint64_t place = bytes % page_bytes;
  if (bytes < size_ && place != 0 && pages_[bytes / page_bytes])
    std::memset(pages_[bytes / page_bytes].own() + place, 0, page_bytes - place);
  pages_.resize((bytes + page_bytes - 1) / page_bytes);
  size_ = bytes;
}

void Pages::write(std::uint64_t offset, std::span<const std::byte> data) {
  if (data.empty()) return;
  if (size_ < offset + data.size()) resize(offset + data.size());
  for_pages(offset, data.size(), [&](auto page, auto place, auto bytes, auto done) {
    PageRef& onto = pages_[page];
    const bool whole = bytes == page_bytes;
    if (whole && std::memcmp(data.data() + done, zeros.data(), bytes) == 0) {
      onto = {};
    } else {
      if (whole) onto = PageRef(new Page);
      std::memcpy(onto.own() + place, data.data() + done, bytes);
    }
  });
}

void Pages::read(std::uint64_t offset, std::span<std::byte> into) const {
  CHECK(offset + into.size() <= size_, "{} bytes at {} of {}", into.size(), offset, size_);
  for_pages(offset, into.size(), [&](auto page, auto place, auto bytes, auto done) {
    if (const PageRef& from = pages_[page])
      std::memcpy(into.data() + done, from.bytes() + place, bytes);
    else
      std::memset(into.data() + done, 0, bytes);
  });
}

bool Pages::equals(std::uint64_t offset, std::span<const std::byte> data) const {
  CHECK(offset + data.size() <= size_, "{} bytes at {} of {}", data.size(), offset, size_);
  bool same = true;
  for_pages(offset, data.size(), [&](auto page, auto place, auto bytes, auto done) {
    const std::byte* const there = pages_[page] ? pages_[page].bytes() : zeros.data();
    same = same && std::memcmp(there + place, data.data() + done, bytes) == 0;
  });
  return same;
}

void Pages::copy(std::uint64_t offset, const Pages& from, std::uint64_t at, std::uint64_t bytes) {
  CHECK(offset % page_bytes == at % page_bytes, "{} and {}", offset, at);
  CHECK(at + bytes <= from.size_, "{} bytes at {} of {}", bytes, at, from.size_);
  if (bytes == 0) return;
  if (size_ < offset + bytes) resize(offset + bytes);
  for_pages(offset, bytes, [&](auto page, auto place, auto here, auto done) {
    const PageRef& source = from.pages_[(at + done) / page_bytes];
    if (here == page_bytes)
      pages_[page] = source;
    else
      std::memcpy(pages_[page].own() + place, (source ? source.bytes() : zeros.data()) + place,
                  here);
  });
}

}  // namespace pawl::sim

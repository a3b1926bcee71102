// SPDX-License-Identifier: Apache-2.0
#include "proto/http/header_names.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::size_t size_min = 4, size_max = 20;  // of a name

// A name, and 0x20 at the places of its letters: with that bit set, a byte equals a lower-case
// letter if it is that letter in either case.
struct KnownName {
  std::array<char, size_max> text{}, letters{};
  std::size_t size;

  constexpr explicit KnownName(std::string_view of) : size(of.size()) {
    for (std::size_t i = 0; i < size; ++i) {
      text[i] = of[i];
      letters[i] = of[i] >= 'a' && of[i] <= 'z' ? 0x20 : 0;
    }
  }
  bool is(std::string_view other) const;
};

// The order is that of HeaderName.
constexpr KnownName names[] = {
    KnownName(""),
    KnownName("accept"),
    KnownName("accept-encoding"),
    KnownName("authorization"),
    KnownName("content-encoding"),
    KnownName("content-type"),
    KnownName("expect"),
    KnownName("host"),
    KnownName("origin"),
    KnownName("referer"),
    KnownName("sec-fetch-site"),
    KnownName("transfer-encoding"),
    KnownName("user-agent"),
    KnownName("x-amz-content-sha256"),
    KnownName("x-amz-date"),
    KnownName("x-amz-security-token"),
    KnownName("x-amz-target"),
    KnownName("x-amzn-query-mode"),
    KnownName("x-amzn-trace-id"),
    KnownName("x-forwarded-host"),
    KnownName("x-forwarded-proto"),
};
static_assert(std::size(names) == header_names);

// The names of each length, ended by HeaderName::other.
constexpr std::size_t same_size_max = 3;
using SameSize = std::array<HeaderName, same_size_max + 1>;
constexpr std::array<SameSize, size_max + 1> by_size = [] {
  std::array<SameSize, size_max + 1> table{};
  for (std::size_t i = 1; i < header_names; ++i) {
    SameSize& row = table[names[i].size];
    *std::ranges::find(row, HeaderName::other) = static_cast<HeaderName>(i);
  }
  return table;
}();
static_assert(std::ranges::all_of(by_size, [](const SameSize& row) {
  return row.back() == HeaderName::other;
}));

template <typename Word>
Word word_at(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Compares whole words; the last one overlaps the one before.
template <typename Word>
bool equal_words(const char* other, const KnownName& name) {
  for (std::size_t at = 0;; at += sizeof(Word)) {
    at = std::min(at, name.size - sizeof(Word));
    const Word letters = word_at<Word>(name.letters.data() + at);
    if ((word_at<Word>(other + at) | letters) != word_at<Word>(name.text.data() + at)) return false;
    if (at + sizeof(Word) == name.size) return true;
  }
}

// `other` is of the same size.
bool KnownName::is(std::string_view other) const {
  return size < sizeof(std::uint64_t) ? equal_words<std::uint32_t>(other.data(), *this)
                                      : equal_words<std::uint64_t>(other.data(), *this);
}

}  // namespace

HeaderName header_name(std::string_view text) {
  if (text.size() < size_min || text.size() > size_max) return HeaderName::other;
  for (const HeaderName candidate : by_size[text.size()]) {
    if (candidate == HeaderName::other) break;
    if (names[static_cast<std::size_t>(candidate)].is(text)) return candidate;
  }
  return HeaderName::other;
}

void HeaderIndex::add(HeaderName name, std::size_t place) {
  CHECK(place < none, "a header at {}", place);
  if (name == HeaderName::other) return;
  std::uint8_t& first = places_[static_cast<std::size_t>(name)];
  if (first != none) {
    repeated_ |= 1u << static_cast<unsigned>(name);
  } else {
    first = static_cast<std::uint8_t>(place);
  }
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/text/md5_lanes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/base/check.h"
#include "proto/text/md5_avx2.h"
#include "proto/text/md5_vectors.h"

namespace pawl {
namespace {

constexpr std::size_t length_bytes = 8;
constexpr std::array<std::uint32_t, md5_state_words> start = {0x67452301, 0xefcdab89, 0x98badcfe,
                                                              0x10325476};
constexpr std::array<std::uint8_t, md5_block_bytes> idle_block{};

class Hashing {
 public:
  Hashing(std::span<const std::string_view> texts, std::span<Md5> digests);
  void run(Md5Registers registers);

 private:
  static constexpr std::size_t tail_bytes_max = 2 * md5_block_bytes;

  void begin_tail(std::size_t lane);
  void end_part(std::size_t lane);
  void idle(std::size_t lane);
  std::size_t next_blocks() const;

  alignas(32) Md5LaneStates states_;
  std::span<const std::string_view> texts_;
  std::span<Md5> digests_;
  const std::uint8_t* at_[md5_lanes_max];
  std::size_t strides_[md5_lanes_max];
  std::size_t left_[md5_lanes_max] = {};  // blocks of the text or of its tail; 0: idle
  bool in_tail_[md5_lanes_max] = {};
  std::size_t busy_ = 0;  // lanes below it are busy, or idle between busy ones
  std::uint8_t tails_[md5_lanes_max][tail_bytes_max];
};

Hashing::Hashing(std::span<const std::string_view> texts, std::span<Md5> digests)
    : texts_(texts), digests_(digests), busy_(texts.size()) {
  for (std::size_t i = 0; i < start.size(); ++i) std::ranges::fill(states_[i], start[i]);
  for (std::size_t lane = 0; lane < texts.size(); ++lane) {
    at_[lane] = reinterpret_cast<const std::uint8_t*>(texts[lane].data());
    strides_[lane] = md5_block_bytes;
    left_[lane] = texts[lane].size() / md5_block_bytes;
    if (left_[lane] == 0) begin_tail(lane);
  }
  for (std::size_t lane = texts.size(); lane < md5_lanes_max; ++lane) idle(lane);
}

void Hashing::idle(std::size_t lane) {
  at_[lane] = idle_block.data();
  strides_[lane] = 0;
}

// The tail: the rest of the text, a byte 0x80, zeros, and the length in bits.
void Hashing::begin_tail(std::size_t lane) {
  const std::string_view text = texts_[lane];
  const std::size_t rest = text.size() % md5_block_bytes;
  const std::size_t bytes =
      rest + 1 + length_bytes <= md5_block_bytes ? md5_block_bytes : tail_bytes_max;
  std::uint8_t* const tail = tails_[lane];
  std::ranges::copy(text.substr(text.size() - rest), tail);
  std::fill(tail + rest, tail + bytes, std::uint8_t{0});
  tail[rest] = 0x80;
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  static_assert(std::endian::native == std::endian::little && sizeof bits == length_bytes);
  std::memcpy(tail + bytes - length_bytes, &bits, length_bytes);
  at_[lane] = tail;
  left_[lane] = bytes / md5_block_bytes;
  in_tail_[lane] = true;
}

void Hashing::end_part(std::size_t lane) {
  if (!in_tail_[lane]) return begin_tail(lane);
  for (std::size_t i = 0; i < start.size(); ++i) {
    std::memcpy(digests_[lane].data() + 4 * i, &states_[i][lane], 4);
  }
  idle(lane);
}

// The number of blocks until some lane comes to the end of its text or tail.
std::size_t Hashing::next_blocks() const {
  std::size_t blocks = SIZE_MAX;
  for (std::size_t lane = 0; lane < busy_; ++lane) {
    if (left_[lane] != 0) blocks = std::min(blocks, left_[lane]);
  }
  return blocks;
}

void Hashing::run(Md5Registers registers) {
  while (busy_ > 0) {
    const std::size_t blocks = next_blocks();
    const Md5LaneBlocks next{states_, at_, strides_, blocks, busy_};
    registers == Md5Registers::avx2 ? md5_compress_avx2(next) : md5_compress_vectors(next);
    for (std::size_t lane = 0; lane < busy_; ++lane) {
      if (left_[lane] == 0) continue;
      left_[lane] -= blocks;
      if (left_[lane] == 0) end_part(lane);
    }
    while (busy_ > 0 && left_[busy_ - 1] == 0) --busy_;
  }
}

std::size_t md5_blocks(std::string_view text) { return (text.size() + 8) / 64 + 1; }

// The time of a block in lanes, of which a text alone takes 3 units: see the table in the header.
std::size_t lanes_cost(Md5Registers registers, std::size_t texts) {
  if (registers == Md5Registers::avx2) return 8;
  return texts > md5_lanes_max / 2 ? 12 : 9;
}

// The number of texts to hash alone, so that the others share lanes in the least time. The texts
// are sorted from long to short: lanes take as long as the first text in them.
std::size_t count_alone(std::span<const std::string_view> texts, Md5Registers registers) {
  constexpr std::size_t alone_cost = 3;
  std::size_t alone = 0, least = SIZE_MAX, before = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t blocks = md5_blocks(texts[i]);
    const std::size_t cost = alone_cost * before + lanes_cost(registers, texts.size() - i) * blocks;
    if (cost < least) alone = i;
    least = std::min(least, cost);
    before += blocks;
  }
  return alone_cost * before <= least ? texts.size() : alone;
}

}  // namespace

Md5Registers best_md5_registers() {
  return has_avx2() ? Md5Registers::avx2 : Md5Registers::vectors;
}

void md5_in_lanes(std::span<const std::string_view> texts, std::span<Md5> digests,
                  Md5Registers registers) {
  CHECK(texts.size() <= md5_lanes_max && texts.size() == digests.size(), "{} texts, {} digests",
        texts.size(), digests.size());
  Hashing(texts, digests).run(registers);
}

void md5_each(std::span<const std::string_view> texts, std::span<Md5> digests, Md5Method method) {
  CHECK(texts.size() <= md5_lanes_max && texts.size() == digests.size(), "{} texts, {} digests",
        texts.size(), digests.size());
  if (method == Md5Method::one_by_one || texts.size() <= 1) {
    std::ranges::transform(texts, digests.begin(), md5);
    return;
  }
  std::array<std::size_t, md5_lanes_max> places;
  const auto order = std::span(places).first(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::ranges::greater(), [&](std::size_t i) { return texts[i].size(); });
  std::array<std::string_view, md5_lanes_max> sorted;
  std::ranges::transform(order, sorted.begin(), [&](std::size_t i) { return texts[i]; });
  std::array<Md5, md5_lanes_max> results;
  const Md5Registers registers = best_md5_registers();
  const std::size_t alone = count_alone(std::span(sorted).first(texts.size()), registers);
  const std::size_t shared = texts.size() - alone;
  std::ranges::transform(std::span(sorted).first(alone), results.begin(), md5);
  md5_in_lanes(std::span(sorted).subspan(alone, shared), std::span(results).subspan(alone, shared),
               registers);
  for (std::size_t i = 0; i < order.size(); ++i) digests[order[i]] = results[i];
}

}  // namespace pawl

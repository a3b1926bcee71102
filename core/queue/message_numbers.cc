// SPDX-License-Identifier: Apache-2.0
// The way back from message_id(): each step of XXH3-128 for 16 bytes (xxHash 0.8) can be undone. An
// id lacks the six bits that say "UUID version 4, variant 1", so there are 64 hashes to undo, of
// which one gives the queue.
#include <bit>
#include <cstring>

#include "core/base/check.h"
#include "core/queue/receipt.h"

namespace pawl {
namespace {

using Wide = unsigned __int128;

constexpr std::uint64_t prime_64_1 = 0x9E3779B185EBCA87, prime_64_2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t avalanche_prime = 0x165667919E3779F9;
constexpr std::uint32_t prime_32_2 = 0x85EBCA77;
constexpr std::uint64_t length_mixed = std::uint64_t{16 - 1} << 54;

// The factor that undoes a multiplication by an odd one: each step doubles the correct bits.
template <typename Word>
constexpr Word inverse(Word odd) {
  Word found = odd;
  for (int bits = 3; bits < 64; bits *= 2) found *= Word{2} - odd * found;
  return found;
}
constexpr std::uint64_t undo_64_1 = inverse(prime_64_1), undo_64_2 = inverse(prime_64_2);
constexpr std::uint64_t undo_prime = inverse(avalanche_prime);
constexpr std::uint32_t undo_32_2 = inverse(prime_32_2);
static_assert(undo_64_1 * prime_64_1 == 1 && undo_32_2 * prime_32_2 == 1);

constexpr std::uint64_t undo_avalanche(std::uint64_t hash) {
  hash ^= hash >> 32;
  hash *= undo_prime;
  return hash ^ hash >> 37;
}

constexpr std::uint64_t high_of_product(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(Wide{a} * b >> 64);
}

// The two words of the secret that the hash of 16 bytes uses.
struct Flips {
  explicit Flips(const Secret& secret) {
    std::uint64_t words[4];
    std::memcpy(words, &secret[32], sizeof words);
    low = words[0] ^ words[1];
    high = words[2] ^ words[3];
  }
  std::uint64_t low, high;
};

struct Input {
  std::uint64_t queue, seq;
};

Input undo(const Flips& flips, const MessageId& hash) {
  const std::uint64_t product = undo_avalanche(hash.low);
  std::uint64_t low = product * undo_64_2;
  std::uint64_t high = (undo_avalanche(hash.high) - high_of_product(low, prime_64_2)) * undo_64_2;
  low = (low ^ std::byteswap(high)) - length_mixed;
  const std::uint64_t mixed = low * undo_64_1;  // queue ^ seq ^ flips.low
  high -= high_of_product(mixed, prime_64_1);
  // Its low half times a prime, and its high half in place.
  const std::uint32_t half = static_cast<std::uint32_t>(high) * undo_32_2;
  const std::uint64_t seq = (high - std::uint64_t{half} * prime_32_2 + half) ^ flips.high;
  return {mixed ^ seq ^ flips.low, seq};
}

}  // namespace

Seq seq_of_id(const Secret& secret, QueueId queue, const MessageId& id) {
  CHECK(queue != QueueId::none, "an id of no queue");
  const Flips flips(secret);
  for (std::uint64_t version = 0; version < 16; ++version) {
    for (std::uint64_t variant = 0; variant < 4; ++variant) {
      const Input input = undo(flips, {(id.high & ~0xF000ull) | version << 12,
                                       (id.low & ~(0xC0ull << 56)) | variant << 62});
      if (input.queue != raw(queue) || input.seq == 0 || input.seq > seq_newest_max) continue;
      if (message_id(secret, queue, input.seq) == id) return input.seq;
    }
  }
  return 0;
}

}  // namespace pawl

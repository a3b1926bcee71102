// SPDX-License-Identifier: Apache-2.0
#include "core/queue/receipt.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::uint8_t receipt_version = 2, old_version = 1;
constexpr std::size_t mac_at = 16;

using HandleHead = std::span<const std::uint8_t, mac_at>;
HandleHead head_of(const ReceiptHandle& handle) { return HandleHead(handle.data(), mac_at); }

Result<Receipt> open_with(std::uint64_t mac, std::uint8_t version, const ReceiptHandle& handle) {
  std::uint64_t there = 0;
  std::memcpy(&there, &handle[mac_at], sizeof there);
  // One compare of a word: no early exit to time.
  const bool genuine = (there ^ mac) == 0;
  if (!genuine || handle[0] != version) return fail(Errc::receipt_invalid, "receipt handle");
  Receipt receipt;
  std::uint32_t queue = 0;
  receipt.shard = ShardId{handle[1]};
  std::memcpy(&queue, &handle[2], 4);
  receipt.queue = QueueId{queue};
  std::memcpy(&receipt.seq, &handle[6], 6);
  std::memcpy(&receipt.nonce, &handle[12], 4);
  return receipt;
}

}  // namespace

ReceiptHandle seal(const SipKey& key, const Receipt& receipt) {
  CHECK(receipt.seq <= seq_max, "seq {}", receipt.seq);
  ReceiptHandle handle{};
  const std::uint32_t queue = raw(receipt.queue);
  handle[0] = receipt_version;
  handle[1] = static_cast<std::uint8_t>(receipt.shard);
  std::memcpy(&handle[2], &queue, 4);
  std::memcpy(&handle[6], &receipt.seq, 6);
  std::memcpy(&handle[12], &receipt.nonce, 4);
  const std::uint64_t mac = siphash(key, head_of(handle));
  std::memcpy(&handle[mac_at], &mac, sizeof mac);
  return handle;
}

Result<Receipt> open(const SipKey& key, const ReceiptHandle& handle) {
  return open_with(siphash(key, head_of(handle)), receipt_version, handle);
}

bool is_old(const ReceiptHandle& handle) { return handle[0] == old_version; }

Result<Receipt> open_old(const Secret& secret, const ReceiptHandle& handle) {
  return open_with(XXH3_64bits_withSecret(handle.data(), mac_at, secret.data(), secret.size()),
                   old_version, handle);
}

MessageId message_id(const Secret& secret, QueueId queue, Seq seq) {
  const std::uint64_t key[2] = {raw(queue), seq};
  const XXH128_hash_t hash = XXH3_128bits_withSecret(key, sizeof key, secret.data(), secret.size());
  MessageId id{hash.high64, hash.low64};
  id.high = (id.high & ~0xF000ull) | 0x4000ull;                        // UUID version 4
  id.low = (id.low & ~(0xC0ull << 56)) | (std::uint64_t{0x80} << 56);  // variant 1
  return id;
}

constexpr std::array<std::array<char, 2>, 256> hex_pairs = [] {
  constexpr char digits[] = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> pairs;
  for (std::size_t byte = 0; byte < pairs.size(); ++byte)
    pairs[byte] = {digits[byte >> 4], digits[byte & 15]};
  return pairs;
}();

std::array<char, 36> uuid_text(const MessageId& id) {
  constexpr std::array<std::uint8_t, 16> places{0,  2,  4,  6,  9,  11, 14, 16,
                                                19, 21, 24, 26, 28, 30, 32, 34};
  std::array<char, 36> text;
  text[8] = text[13] = text[18] = text[23] = '-';
#pragma GCC unroll 16
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint64_t byte = (i < 8 ? id.high : id.low) >> (56 - 8 * (i % 8)) & 0xff;
    std::memcpy(&text[places[i]], hex_pairs[byte].data(), 2);
  }
  return text;
}

}  // namespace pawl

#include "core/receipt.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pawl {
namespace {

constexpr std::uint8_t receipt_version = 1;

std::uint64_t mac_of(const Secret& secret, const ReceiptHandle& handle) {
  return XXH3_64bits_withSecret(handle.data(), 16, secret.data(), secret.size());
}

}  // namespace

ReceiptHandle seal(const Secret& secret, const Receipt& receipt) {
  ReceiptHandle handle{};
  const std::uint32_t queue = raw(receipt.queue);
  handle[0] = receipt_version;
  handle[1] = static_cast<std::uint8_t>(receipt.shard);
  std::memcpy(&handle[2], &queue, 4);
  std::memcpy(&handle[6], &receipt.seq, 6);
  std::memcpy(&handle[12], &receipt.nonce, 4);
  const std::uint64_t mac = mac_of(secret, handle);
  std::memcpy(&handle[16], &mac, 8);
  return handle;
}

Result<Receipt> open(const Secret& secret, const ReceiptHandle& handle) {
  std::uint64_t mac = 0;
  std::memcpy(&mac, &handle[16], 8);
  // One compare of a word: no early exit to time.
  const bool genuine = (mac ^ mac_of(secret, handle)) == 0;
  if (!genuine || handle[0] != receipt_version)
    return fail(Errc::receipt_invalid, "receipt handle");
  Receipt receipt;
  std::uint32_t queue = 0;
  receipt.shard = ShardId{handle[1]};
  std::memcpy(&queue, &handle[2], 4);
  receipt.queue = QueueId{queue};
  std::memcpy(&receipt.seq, &handle[6], 6);
  std::memcpy(&receipt.nonce, &handle[12], 4);
  return receipt;
}

MessageId message_id(const Secret& secret, QueueId queue, Seq seq) {
  const std::uint64_t key[2] = {raw(queue), seq};
  const XXH128_hash_t hash = XXH3_128bits_withSecret(key, sizeof key, secret.data(), secret.size());
  MessageId id{hash.high64, hash.low64};
  id.high = (id.high & ~0xF000ull) | 0x4000ull;                        // UUID version 4
  id.low = (id.low & ~(0xC0ull << 56)) | (std::uint64_t{0x80} << 56);  // variant 1
  return id;
}

std::array<char, 36> uuid_text(const MessageId& id) {
  std::array<char, 36> text;
  std::size_t at = 0;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) text[at++] = '-';
    const std::uint64_t word = digit < 16 ? id.high : id.low;
    text[at++] = "0123456789abcdef"[word >> (60 - 4 * (digit % 16)) & 15];
  }
  return text;
}

}  // namespace pawl

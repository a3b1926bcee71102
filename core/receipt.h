// Receipt handles: stateless proof that a message was handed out, and when.
//
//   0        1       2         6        12        16        24
//   | version | shard | queue 4 | seq 6  | nonce 4 | mac 8   |   little endian
//
// The mac is a keyed XXH3-64 over the first 16 bytes; a forged or foreign handle fails in constant
// time without looking at any table. The nonce tells the latest delivery from earlier ones.
//
// Errors: receipt_invalid (wrong size, version, mac, or not of this queue).
// Owner:  values; the Secret belongs to the data directory and is the same for all its shards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/ids.h"
#include "core/result.h"

namespace pawl {

inline constexpr std::size_t receipt_bytes = 24;
using ReceiptHandle = std::array<std::uint8_t, receipt_bytes>;

// 192 random bytes made with the data directory; XXH3 wants at least 136.
using Secret = std::array<std::uint8_t, 192>;

struct Receipt {
  ShardId shard{};
  QueueId queue = QueueId::none;
  Seq seq = 0;
  std::uint32_t nonce = 0;
  bool operator==(const Receipt&) const = default;
};

ReceiptHandle seal(const Secret& secret, const Receipt& receipt);
Result<Receipt> open(const Secret& secret, const ReceiptHandle& handle);

// The id users see for a message: recomputed from where it is, never stored.
MessageId message_id(const Secret& secret, QueueId queue, Seq seq);
// As it is shown: 8-4-4-4-12 hex digits.
std::array<char, 36> uuid_text(const MessageId& id);

}  // namespace pawl

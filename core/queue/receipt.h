// SPDX-License-Identifier: Apache-2.0
// Receipt handles: stateless proof that a message was delivered, and when.
//
//   0        1       2         6        12        16        24
//   | version | shard | queue 4 | seq 6  | nonce 4 | mac 8   |   little endian
//
// The mac is SipHash-2-4 of the first 16 bytes, under a separate key. A forged or foreign handle
// fails in constant time without a table lookup. The nonce tells the latest delivery from earlier
// ones.
//
// Handles of version 1 have a keyed XXH3-64, whose key some 23 handles of one message reveal. A
// data directory of version 1 accepts them for old_handles_valid after its upgrade, and only for
// deliveries made before it.
//
// Errors: receipt_invalid (wrong size, version, mac, or not of this queue).
// Owner:  values; secret and key belong to the data directory and are the same for all its shards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/siphash.h"
#include "core/base/time.h"

namespace pawl {

inline constexpr std::size_t receipt_bytes = 24;
using ReceiptHandle = std::array<std::uint8_t, receipt_bytes>;

// The key of message ids and text keys: 192 random bytes of the data directory; XXH3 needs at least
// 136.
using Secret = std::array<std::uint8_t, 192>;

struct Receipt {
  ShardId shard{};
  QueueId queue = QueueId::none;
  Seq seq = 0;
  std::uint32_t nonce = 0;
  bool operator==(const Receipt&) const = default;
};

inline constexpr Duration old_handles_valid = seconds(12 * 3600);  // the longest visibility timeout

ReceiptHandle seal(const SipKey& key, const Receipt& receipt);
Result<Receipt> open(const SipKey& key, const ReceiptHandle& handle);
// True for version 1, which only tests still seal.
bool is_old(const ReceiptHandle& handle);
Result<Receipt> open_old(const Secret& secret, const ReceiptHandle& handle);

// The id users see for a message: recomputed from its queue and number, never stored.
MessageId message_id(const Secret& secret, QueueId queue, Seq seq);
// The number of the message of this queue with the id; 0: the id is of no message of the queue. The
// hash of the id is undone, so it takes the same time in a queue of any size, and no memory.
Seq seq_of_id(const Secret& secret, QueueId queue, const MessageId& id);
// The text form: 8-4-4-4-12 hex digits.
std::array<char, 36> uuid_text(const MessageId& id);

}  // namespace pawl

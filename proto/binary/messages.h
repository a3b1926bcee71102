// SPDX-License-Identifier: Apache-2.0
// The verbs about messages: a batch is read, and each of its entries is checked.
//
// Units:  milliseconds on the wire.
// Limits: those of SQS for waits; those of the queue for delays and visibility timeouts.
// Owner:  free functions; session.cc lists them.
// Source: proto/PROTOCOL.md
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "proto/binary/payloads.h"
#include "proto/binary/state.h"

namespace pawl::binary {

// Most messages in the response of a RECEIVE that had to wait: it holds memory for each.
inline constexpr std::uint32_t waiting_max = 16;

inline bool in_range(std::uint32_t ms, std::uint32_t max) {
  return ms == binary_queue_default || ms <= max;
}
// The longest delay and the longest visibility timeout that a queue allows and a frame can carry.
inline std::uint32_t at_most(Duration limit) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(limit.ms, binary_queue_default - 1));
}
inline std::uint32_t delay_ms_max(const QueueConfig& queue) { return at_most(queue.delay_limit()); }
inline std::uint32_t visibility_ms_max(const QueueConfig& queue) {
  return at_most(queue.visibility_limit());
}
inline Duration duration(std::uint32_t ms) {
  return ms == binary_queue_default ? queue_default : milliseconds(ms);
}

// Ids are the 16 bytes of the UUID that SQS clients receive.
inline payload::Uuid bytes_of(const MessageId& id) {
  return std::bit_cast<payload::Uuid>(
      std::array<std::uint64_t, 2>{std::byteswap(id.high), std::byteswap(id.low)});
}
inline MessageId id_of(const payload::Uuid& bytes) {
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(bytes);
  return {std::byteswap(halves[0]), std::byteswap(halves[1])};
}

BinaryNext send(BinaryCallState& s, const BinaryArguments& call);  // SEND, SEND_ONCE
void write_sent(const BinaryCallState& s, std::string& out);
BinaryNext receive(BinaryCallState& s, const BinaryArguments& call);
// Messages that do not fit into the response return to the queue, as if never delivered.
BinaryNext receive_result(BinaryCallState& s, BinarySessionState& session,
                          const Directory& directory);
// Writes the deliveries that fit into the response.
void write_deliveries(const BinaryCallState& s, std::string& out);
// DELETE_MESSAGE, CHANGE, RETURN, ACKNOWLEDGE.
BinaryNext use_receipts(BinaryCallState& s, const BinaryArguments& call);
void write_receipts(const BinaryCallState& s, std::string& out);

// Parts of a receive.

// `params`: with `bytes_max` as the client wants it; 0: the server's limit. The receive gets a
// share of the bytes that all receives of the connection may return.
BinaryNext route_receive(BinaryCallState& s, const BinarySessionState& session,
                         const ReceiveParams& params, ShardId owner);
// Waits after an empty result, with memory for waiting_max messages only.
BinaryNext wait_for_some(BinaryCallState& s);
// The response has the deliveries that fit. Without any, a subscription pauses: its peer does not
// read.
BinaryNext delivered(BinaryCallState& s);

}  // namespace pawl::binary

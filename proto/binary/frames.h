// SPDX-License-Identifier: Apache-2.0
// The binary protocol's frames: the frame header, the operations, and the little-endian reader and
// writers used by both ends. PROTOCOL.md has the grammar of each payload.
//
//   0          4    5       6        8             12       16
//   | length 4 | op | flags | status | correlation | queue  | payload | checksum 8, if flagged |
//
// Units:  lengths are bytes, `length` counts the whole frame; durations are milliseconds.
// Limits: frame_bytes_max a frame; entries_max (core/queue/request.h) entries a batch.
// Errors: parse_header reports lost framing; every other error is a Status in a response.
// Owner:  values and free functions. No sockets.
// Source: proto/PROTOCOL.md
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/result.h"
#include "proto/errors/errors.h"

namespace pawl {

inline constexpr std::size_t frame_header_bytes = 16;
inline constexpr std::size_t frame_checksum_bytes = 8;
inline constexpr std::uint32_t frame_bytes_max = 16u << 20;

inline constexpr std::uint32_t binary_magic = 0x4C57'4150;  // bytes "PAWL" on the wire
inline constexpr std::uint16_t binary_major = 1;            // a server accepts its own major only
inline constexpr std::uint16_t binary_minor = 5;  // additions that an older peer may ignore

// Features: bits offered in HELLO; the response has the bits known to both ends.
inline constexpr std::uint32_t feature_checksum = 1;
inline constexpr std::uint32_t feature_groups = 2;  // groups, deduplication ids, origins, attempts
inline constexpr std::uint32_t feature_subscribe = 4;  // SUBSCRIBE, ACKNOWLEDGE, UNSUBSCRIBE
inline constexpr std::uint32_t feature_send_once = 8;  // SEND_ONCE
inline constexpr std::uint32_t features_known =
    feature_checksum | feature_groups | feature_subscribe | feature_send_once;

// Flags of a frame.
inline constexpr std::uint8_t flag_checksum =
    0x01;  // the last 8 bytes are XXH3-64 of all preceding bytes
inline constexpr std::uint8_t flag_answer = 0x80;  // from the server
inline constexpr std::uint8_t flags_known = flag_checksum | flag_answer;

// Authentication methods in HELLO.
inline constexpr std::uint8_t auth_none = 0;
inline constexpr std::uint8_t auth_key = 1;  // AUTHENTICATE follows, if the server requires it

// Value of a duration field for "the queue's own setting".
inline constexpr std::uint32_t binary_queue_default = 0xFFFF'FFFF;

// The word before a message: 24 bits of body length, and flags for the optional words that follow
// in this order.
inline constexpr std::uint32_t entry_body_mask = 0x00FF'FFFF;
inline constexpr std::uint32_t entry_has_attributes = 1u << 24;  // length
inline constexpr std::uint32_t entry_has_system = 1u << 25;      // length
inline constexpr std::uint32_t entry_has_delay = 1u << 26;       // milliseconds; SEND only
inline constexpr std::uint32_t entry_has_names = 1u
                                                 << 27;  // u8 lengths: group, dedup id, origin, 0
inline constexpr std::uint8_t replay_flag_copies = 1 << 0;  // flag of START_REPLAY
inline constexpr std::uint32_t entry_bits_known =
    entry_body_mask | entry_has_attributes | entry_has_system | entry_has_delay | entry_has_names;

enum class BinaryOp : std::uint8_t {
  hello = 1,
  ping = 2,
  open_queue = 3,
  create_queue = 4,
  delete_queue = 5,
  set_attributes = 6,
  get_attributes = 7,
  list_queues = 8,
  purge = 9,
  stats = 10,
  get_tags = 11,
  set_tags = 12,
  list_sources = 13,  // the queues that use this dead-letter queue
  authenticate = 15,
  send = 16,
  receive = 17,
  delete_message = 18,
  change = 19,  // CHANGE of a visibility timeout
  start_move = 20,
  cancel_move = 21,
  list_moves = 22,
  start_replay = 23,
  cancel_replay = 24,
  list_replays = 25,
  subscribe = 26,
  deliver = 27,      // from the server: messages of a subscription
  acknowledge = 28,  // DELETE_MESSAGE that also grants credit to a subscription
  unsubscribe = 29,
  send_once = 30,  // SEND whose messages are recognised when they are sent again
};

struct FrameHeader {
  std::uint32_t length = 0;
  std::uint8_t op = 0;  // a BinaryOp, if known
  std::uint8_t flags = 0;
  std::uint16_t status = 0;
  std::uint32_t correlation = 0;
  std::uint32_t queue = 0;
  bool operator==(const FrameHeader&) const = default;
};

// Reads the first frame_header_bytes of `bytes`, which must have that many. No value when the
// length is impossible for a frame: the bytes after it cannot be parsed, and the connection is
// closed.
std::optional<FrameHeader> parse_header(std::string_view bytes);

// The payload of a complete frame whose header was parsed. Errors: bad_frame, bad_checksum.
std::expected<std::string_view, Status> payload_of(const FrameHeader& header,
                                                   std::string_view frame);

// Appends a frame: begin_frame writes the header, the caller appends the payload, finish_frame sets
// the length and adds the checksum if flagged. `begin` is the result of begin_frame.
std::size_t begin_frame(std::string& out, const FrameHeader& header);
void finish_frame(std::string& out, std::size_t begin);

// Appends a complete refusal; PROTOCOL.md defines `detail` per operation.
inline constexpr std::uint32_t no_detail = 0xFFFF'FFFF;
void write_refusal(std::string& out, const FrameHeader& request, Status status,
                   std::uint32_t detail = no_detail);

static_assert(std::endian::native == std::endian::little,
              "the wire is little-endian and so are we");

template <typename T>
void put(std::string& out, T value) {
  static_assert(std::is_integral_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
// Appends several values in sequence.
template <typename... T>
void put_all(std::string& out, T... values) {
  static_assert((std::is_integral_v<T> && ...));
  char bytes[(sizeof(T) + ...)];
  std::size_t at = 0;
  ((std::memcpy(bytes + at, &values, sizeof values), at += sizeof values), ...);
  out.append(bytes, sizeof bytes);
}
// Appends a u16 length and the bytes.
void put_short(std::string& out, std::string_view text);
// Appends a u32 length and the bytes.
void put_long(std::string& out, std::string_view text);

// Reads values from the front of a payload. Past the end every value is zero or empty, and ok() is
// false from then on: read all values, then check ok() once.
class BinaryReader {
 public:
  explicit BinaryReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T take() {
    T value{};
    if (rest_.size() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view take_bytes(std::size_t count) {
    if (rest_.size() < count) {
      fail();
      return {};
    }
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  std::string_view take_short() { return take_bytes(take<std::uint16_t>()); }
  std::string_view take_long() { return take_bytes(take<std::uint32_t>()); }

  bool ok() const { return ok_; }
  bool finished() const { return ok_ && rest_.empty(); }  // all values present, no bytes left
  std::size_t left() const { return rest_.size(); }

 private:
  void fail() {
    rest_ = {};
    ok_ = false;
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace pawl

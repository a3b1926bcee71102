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

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "core/base/result.h"
#include "proto/errors/errors.h"

namespace pawl {

inline constexpr std::size_t frame_header_bytes = 16;
inline constexpr std::size_t frame_checksum_bytes = 8;
inline constexpr std::uint32_t frame_bytes_max = 16u << 20;

inline constexpr std::uint32_t binary_magic = 0x4C57'4150;  // bytes "PAWL" on the wire
inline constexpr std::uint16_t binary_major = 1;            // a server accepts its own major only
inline constexpr std::uint16_t binary_minor = 8;   // additions that an older peer may ignore
inline constexpr std::uint16_t reasons_minor = 8;  // of a client that reads DeadLetterReason

// Features: bits offered in HELLO; the response has the bits known to both ends.
inline constexpr std::uint32_t feature_checksum = 1;
inline constexpr std::uint32_t feature_groups = 2;  // groups, deduplication ids, origins, attempts
inline constexpr std::uint32_t feature_subscribe = 4;  // SUBSCRIBE, ACKNOWLEDGE, UNSUBSCRIBE
inline constexpr std::uint32_t feature_send_once = 8;  // SEND_ONCE
inline constexpr std::uint32_t feature_call = 16;      // CALL
inline constexpr std::uint32_t features_known =
    feature_checksum | feature_groups | feature_subscribe | feature_send_once | feature_call;

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
// u8 lengths: group, dedup id, origin; u8 DeadLetterReason (reasons_minor)
inline constexpr std::uint32_t entry_has_names = 1u << 27;
inline constexpr std::uint8_t cancel_flag_even_in_flight = 1 << 0;  // flag of CANCEL
inline constexpr std::uint8_t replay_flag_copies = 1 << 0;          // flag of START_REPLAY
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
  send_once = 30,         // SEND whose messages are recognised when they are sent again
  call = 31,              // an action of pawl's own API, in JSON
  cancel = 32,            // DELETE_MESSAGE by message ids
  reschedule = 33,        // the delivery times of messages, by their ids
  return_uncounted = 34,  // CHANGE after which the deliveries do not count
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
// Integers and arrays of bytes.
template <typename T>
inline constexpr bool has_fixed_size = std::is_integral_v<T>;
template <std::size_t Size>
inline constexpr bool has_fixed_size<std::array<std::uint8_t, Size>> = true;

// Appends several values in sequence.
template <typename... T>
void put_all(std::string& out, const T&... values) {
  static_assert((has_fixed_size<T> && ...));
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

// --- structs of a payload ---
//
// Such a struct lists its members once, in the order of the wire, for both directions:
//
//   struct Grant {
//     std::uint32_t subscription = 0, credit = 0;
//     static constexpr void fields(auto& s, auto&& each) { each(s.subscription, s.credit); }
//   };
//
// A member is an integer, an array of bytes, a short text (std::string_view) or a LongText. A row
// of a list has the type of the list's count as `Count`.

struct LongText {
  std::string_view text;
  bool operator==(const LongText&) const = default;
};

template <typename T>
void put_field(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, LongText>) {
    put_long(out, value.text);
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    put_short(out, value);
  } else {
    put_all(out, value);
  }
}
template <typename T>
void take_field(BinaryReader& in, T& value) {
  if constexpr (std::is_same_v<T, LongText>) {
    value.text = in.take_long();
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    value = in.take_short();
  } else if constexpr (std::is_integral_v<T>) {
    value = in.take<T>();
  } else {
    const std::string_view bytes = in.take_bytes(sizeof value);
    if (in.ok()) std::memcpy(value.data(), bytes.data(), sizeof value);
  }
}

template <typename S>
void put_struct(std::string& out, const S& s) {
  S::fields(s, [&out]<typename... T>(const T&... field) {
    if constexpr ((has_fixed_size<T> && ...)) {
      put_all(out, field...);
    } else {
      (put_field(out, field), ...);
    }
  });
}
template <typename S>
S take_struct(BinaryReader& in) {
  S s;
  S::fields(s, [&in](auto&... field) { (take_field(in, field), ...); });
  return s;
}
// The bytes of a struct without texts.
template <typename S>
inline constexpr std::size_t struct_bytes = [] {
  S s;
  std::size_t bytes = 0;
  S::fields(s, [&bytes]<typename... T>(const T&...) {
    static_assert((has_fixed_size<T> && ...));
    bytes = (sizeof(T) + ...);
  });
  return bytes;
}();

// The count that begins a list of rows.
template <typename Row>
void put_count(std::string& out, std::size_t count) {
  using Count = typename Row::Count;
  CHECK(std::in_range<Count>(count), "a list of {} rows", count);
  put(out, static_cast<Count>(count));
}
template <typename Row>
std::uint32_t take_count(BinaryReader& in) {
  return in.take<typename Row::Count>();
}
// Calls `use` with each row. Stops at the end of the payload.
template <typename Row>
void take_rows(BinaryReader& in, auto&& use) {
  const std::uint32_t count = take_count<Row>(in);
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) use(take_struct<Row>(in));
}

// The payload of a refusal.
struct RefusalPayload {
  std::uint32_t retry_after_ms = 0, detail = no_detail;
  static constexpr void fields(auto& s, auto&& each) { each(s.retry_after_ms, s.detail); }
};

}  // namespace pawl

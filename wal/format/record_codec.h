// SPDX-License-Identifier: Apache-2.0
// Encoder and Decoder of a record: its head, followed by numbers and texts.
//
// Units:  bytes; little endian.
// Errors: the Encoder has none: the caller provides enough space. The Decoder stops where a value
//         does not fit.
// Owner:  included only by the .cc files of the records and by wal/format/send_scan.cc.
// Source: wal/FORMAT.md, "A record".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "wal/format/format.h"
#include "wal/format/record_types.h"

namespace pawl {

struct RecordHead {
  std::uint8_t type;
  std::uint8_t flags;
  std::uint16_t fields;
  std::uint32_t length;  // exact; the record is padded with zeros to 8 bytes
  std::uint32_t hash;
};
static_assert(sizeof(RecordHead) == 12);
inline constexpr std::size_t head_bytes = sizeof(RecordHead);
inline constexpr std::size_t hash_from = head_bytes;

inline constexpr std::size_t varint_bytes_max = 10;

// The first 8 bytes are part of the seed, the bytes behind the hash field are the data: leaving out
// the hash field needs no copy.
inline std::uint32_t record_hash(const std::byte* record, std::size_t length,
                                 std::uint64_t stream) {
  std::uint64_t first;
  std::memcpy(&first, record, sizeof first);
  return static_cast<std::uint32_t>(
      hash_bytes({record + hash_from, length - hash_from}, stream ^ first));
}

constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t coded) { return (coded >> 1) ^ (0 - (coded & 1)); }

class Encoder {
 public:
  explicit Encoder(std::byte* out) : begin_(out), at_(out + head_bytes) {}

  template <typename T>
  void fixed(T value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void u48(std::uint64_t value) {
    CHECK(value < (std::uint64_t{1} << 48), "{}", value);
    std::memcpy(at_, &value, 6);
    at_ += 6;
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at_++ = static_cast<std::byte>(value | 0x80);
    *at_++ = static_cast<std::byte>(value);
  }
  // The difference may wrap: the Decoder adds it modulo 2^64.
  void delta(std::uint64_t value, std::uint64_t base) { varint(zigzag(value - base)); }
  void bytes(std::string_view text) {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  template <typename Length>
  void text(std::string_view text) {
    CHECK(std::in_range<Length>(text.size()), "{}", text.size());
    fixed(static_cast<Length>(text.size()));
    bytes(text);
  }
  std::size_t finish(RecordType type, std::uint16_t fields, std::uint64_t stream) {
    const std::size_t length = static_cast<std::size_t>(at_ - begin_);
    CHECK(length <= record_bytes_max, "{}", length);
    RecordHead head{static_cast<std::uint8_t>(type), 0, fields, static_cast<std::uint32_t>(length),
                    0};
    std::memcpy(begin_, &head, sizeof head);
    head.hash = record_hash(begin_, length, stream);
    std::memcpy(begin_, &head, sizeof head);
    const std::size_t padded = align_record(length);
    std::memset(at_, 0, padded - length);
    return padded;
  }

 private:
  std::byte* begin_;
  std::byte* at_;
};

// Reads until a value does not fit; from then on all values are zero and ok() is false.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes)
      : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool ok() const { return ok_; }
  void fail() { ok_ = false; }
  bool done() const { return ok_ && at_ == end_; }

  template <typename T>
  T fixed() {
    T value{};
    const auto from = take(sizeof value);
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::uint64_t u48() {
    std::uint64_t value = 0;
    const auto from = take(6);
    if (!from.empty()) std::memcpy(&value, from.data(), 6);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::uint32_t varint_u32() {  // fails if it is larger
    const std::uint64_t value = varint();
    if (value > UINT32_MAX) fail();
    return static_cast<std::uint32_t>(value);
  }
  std::uint64_t delta(std::uint64_t base) { return base + unzigzag(varint()); }
  template <typename Length>
  std::string_view text() {
    const auto from = take(fixed<Length>());
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  std::string_view rest() {
    const auto from = take(static_cast<std::size_t>(end_ - at_));
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  std::span<const std::byte> take(std::size_t bytes) {
    if (!ok_ || bytes > static_cast<std::size_t>(end_ - at_)) {
      ok_ = false;
      return {};
    }
    at_ += bytes;
    return {at_ - bytes, bytes};
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

inline Instant instant(std::uint64_t ms) { return {static_cast<std::int64_t>(ms)}; }
inline std::uint64_t bits(Instant t) { return static_cast<std::uint64_t>(t.ms); }

TransferKey read_transfer_key(Decoder& in);
void write_transfer_key(Encoder& to, const TransferKey& key);
void write_key(Encoder& to, const TextKey& key);
TextKey read_key(Decoder& in);

// The head of the record at the beginning of `bytes`, with its length and hash verified.
Result<RecordHead> read_head(std::span<const std::byte> bytes, std::uint64_t stream);

// The first part of a record that is unknown to this version, if there is one.
std::optional<UnknownPart> unknown_in(const RecordHead& head);
// The error for a critical unknown part.
std::unexpected<Error> newer_version();

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/format/format.h"

#ifdef PAWL_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

constexpr std::size_t frame_hash_at = offsetof(LogFrameHeader, hash);
constexpr std::size_t segment_name_digits = 12;

// The two blocks as they lie on disk. The hash covers all 4 KiB, with the hash field taken as zero.
struct BlockHead {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t hash;
};
static_assert(sizeof(BlockHead) == 16);
static_assert(sizeof(SegmentHeader) == 32);
static_assert(sizeof(Manifest) == 88);

template <typename T>
void write_block(Block out, std::uint32_t magic, const T& body) {
  std::memset(out.data(), 0, out.size());
  BlockHead head{magic, block_version, 0};
  std::memcpy(out.data(), &head, sizeof head);
  std::memcpy(out.data() + sizeof head, &body, sizeof body);
  head.hash = hash_bytes(out, 0);
  std::memcpy(out.data(), &head, sizeof head);
}

template <typename T>
Result<T> read_block(ConstBlock block, std::uint32_t magic) {
  BlockHead head;
  std::memcpy(&head, block.data(), sizeof head);
  if (head.magic != magic) return fail(Errc::corrupt, "block magic");
  std::array<std::byte, block_bytes> copy;
  std::memcpy(copy.data(), block.data(), copy.size());
  std::memset(copy.data() + offsetof(BlockHead, hash), 0, sizeof head.hash);
  if (hash_bytes(copy, 0) != head.hash) return fail(Errc::corrupt, "block checksum");
  if (head.version == 0 || head.version > block_version)
    return fail(Errc::version, "block version");
  T body;
  std::memcpy(&body, block.data() + sizeof head, sizeof body);
  return body;
}

// The first byte is zero, and each byte equals its neighbour: as fast as memcmp.
bool all_zero(std::span<const std::byte> bytes) {
  return bytes.empty() || (bytes.front() == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// The header's first 56 bytes seed the hash of the records: leaving out the hash field needs no
// copy.
std::uint64_t frame_hash(std::span<const std::byte> frame, std::uint64_t stream) {
  return hash_bytes(frame.subspan(log_frame_header_bytes),
                    hash_bytes(frame.first(frame_hash_at), stream));
}

std::int64_t numbered(std::string_view name, std::string_view suffix) {
  if (name.size() < segment_name_digits + suffix.size() || !name.ends_with(suffix)) return -1;
  if (name.size() > segment_name_digits + suffix.size() && name.front() == '0') return -1;
  std::int64_t number = -1;
  const char* end = name.data() + name.size() - suffix.size();
  const auto [stop, error] = std::from_chars(name.data(), end, number);
  return error == std::errc{} && stop == end && number >= 0 ? number : -1;
}

}  // namespace

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

bool Geometry::valid() const {
  return std::has_single_bit(extent_bytes) && extent_bytes >= extent_bytes_min &&
         extent_bytes <= extent_bytes_max && segment_bytes >= segment_bytes_min &&
         segment_bytes % extent_bytes == 0 && segment_bytes <= segment_bytes_max;
}

void seal_frame(std::span<std::byte> frame) {
  LogFrameHeader header;
  CHECK(frame.size() >= sizeof header, "{}", frame.size());
  std::memcpy(&header, frame.data(), sizeof header);
  CHECK(header.length == frame.size(), "{} of {}", header.length, frame.size());
  CHECK(header.magic == frame_magic, "{}", Hex{header.magic});
  header.hash = frame_hash(frame, header.stream);
  std::memcpy(frame.data(), &header, sizeof header);
}

std::string_view describe(LogFault fault) {
  switch (fault) {
    case LogFault::none:
      return "nothing is wrong";
    case LogFault::magic:
      return "no frame starts here";
    case LogFault::stream:
      return "the frame belongs to another log";
    case LogFault::lsn:
      return "the frame belongs to another place";
    case LogFault::length:
      return "the frame's length does not fit";
    case LogFault::hash:
      return "the frame's checksum does not match";
    case LogFault::padding:
      return "the bytes after the frame are not zero";
    case LogFault::version:
      return "the frame was written by a newer version";
    case LogFault::epoch:
      return "the frame is older than the one before it";
    case LogFault::prev:
      return "the frame does not follow the one before it";
  }
  return "unknown";
}

FrameCheck check_frame(std::span<const std::byte> bytes, std::uint64_t stream, Lsn lsn) {
  FrameCheck check;
  if (bytes.size() < log_frame_header_bytes) return check;
  std::memcpy(&check.header, bytes.data(), sizeof check.header);
  const LogFrameHeader& header = check.header;
  const auto judge = [&] {
    if (header.magic != frame_magic) return LogFault::magic;
    if (header.stream != stream) return LogFault::stream;
    if (header.lsn != lsn) return LogFault::lsn;
    if (header.length < log_frame_header_bytes || header.length > bytes.size())
      return LogFault::length;
    if (!MUTANT(skip_checksum) && frame_hash(bytes.first(header.length), stream) != header.hash) {
      return LogFault::hash;
    }
    if (header.version != frame_version || header.flags != 0 || header.reserved != 0)
      return LogFault::version;
    const std::size_t padded =
        std::min<std::size_t>(align_up(header.length, block_bytes), bytes.size());
    if (!all_zero(bytes.subspan(header.length, padded - header.length))) return LogFault::padding;
    return LogFault::none;
  };
  check.fault = judge();
  return check;
}

std::uint64_t usable_bytes(const SegmentHeader& header, const Geometry& geometry) {
  if (header.usable == 0) return geometry.segment_bytes;
  const bool fits =
      header.usable < geometry.segment_bytes && header.usable % geometry.extent_bytes == 0;
  return fits ? header.usable : 0;
}

void write_segment_header(Block out, const SegmentHeader& header) {
  write_block(out, segment_magic, header);
}

Result<SegmentHeader> read_segment_header(ConstBlock block) {
  return read_block<SegmentHeader>(block, segment_magic);
}

void write_manifest(Block out, const Manifest& manifest) {
  write_block(out, manifest_magic, manifest);
}

Result<Manifest> read_manifest(ConstBlock block) {
  return read_block<Manifest>(block, manifest_magic);
}

std::string segment_name(std::uint64_t number) { return fmt::format("{:012}.seg", number); }

std::string set_aside_name(std::uint64_t number) { return fmt::format("{:012}.bad", number); }

std::int64_t segment_number(std::string_view name) { return numbered(name, ".seg"); }
std::int64_t set_aside_number(std::string_view name) { return numbered(name, ".bad"); }

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/data_identity.h"

#include <fmt/core.h>

#include <cstring>
#include <optional>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::array<char, 8> identity_magic{'P', 'A', 'W', 'L', 'D', 'A', 'T', 'A'};

// Magic, version and checksum never change their offsets.
struct CopyV1 {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t shards;
  std::uint64_t segment_bytes;
  std::uint64_t data_id;
  Secret secret;
  // Version 1: of all bytes before it. Version 2 and later: of the 4 KiB, with this field zero.
  std::uint64_t checksum;
};
static_assert(sizeof(CopyV1) == 232);

struct Copy {
  CopyV1 head;
  std::uint64_t generation;
  std::uint64_t starts;
  std::uint64_t made;
  SipKey receipt_key;
  std::int64_t upgraded_ms;
  std::uint32_t queue_ids_from;
  std::uint32_t zero;
  std::array<std::uint8_t, 16> boot_id;
  std::int64_t clock_offset_us;
  std::int64_t clock_shift_us;
  std::int64_t clock_engine_ms;
};
static_assert(sizeof(Copy) == 328);

std::uint64_t checksum_of(ConstBlock block) {
  std::array<std::byte, block_bytes> copy;
  std::memcpy(copy.data(), block.data(), copy.size());
  std::memset(copy.data() + offsetof(CopyV1, checksum), 0, sizeof(CopyV1::checksum));
  return hash_bytes(copy, 0);
}

DataIdentity identity_of(const Copy& copy) {
  DataIdentity identity;
  identity.version = copy.head.version;
  identity.shards = copy.head.shards;
  identity.segment_bytes = copy.head.segment_bytes;
  identity.data_id = copy.head.data_id;
  identity.secret = copy.head.secret;
  if (copy.head.version == 1) return identity;
  identity.generation = copy.generation;
  identity.starts = copy.starts;
  identity.made = copy.made;
  identity.receipt_key = copy.receipt_key;
  identity.upgraded = Instant{copy.upgraded_ms};
  identity.queue_ids_from = copy.queue_ids_from;
  identity.clock = {copy.boot_id, copy.clock_offset_us, copy.clock_shift_us,
                    Instant{copy.clock_engine_ms}};
  return identity;
}

}  // namespace

std::uint64_t DataIdentity::stream_of(std::uint32_t shard) const {
  return hash_bytes(std::as_bytes(std::span(&data_id, 1)), shard + 1);
}

std::expected<DataIdentity, std::string> read_identity(std::span<const std::byte> file,
                                                       const std::string& path) {
  std::optional<DataIdentity> newest;
  bool ours = false;
  std::uint32_t newer_version = 0;
  for (std::size_t at = 0; at + block_bytes <= file.size() && at < DataIdentity::file_bytes;
       at += block_bytes) {
    const ConstBlock block(file.data() + at, block_bytes);
    Copy copy;
    std::memcpy(&copy, block.data(), sizeof copy);
    if (copy.head.magic != identity_magic) continue;
    ours = true;
    const std::uint64_t checksum = copy.head.version == 1
                                       ? hash_bytes(block.first(offsetof(CopyV1, checksum)), 0)
                                       : checksum_of(block);
    if (checksum != copy.head.checksum) continue;
    newer_version = std::max(newer_version, copy.head.version);
    if (copy.head.version == 0 || copy.head.version > DataIdentity::version_now) continue;
    if (copy.head.shards < 1 || copy.head.shards > shards_max) continue;
    const DataIdentity identity = identity_of(copy);
    if (!newest || identity.generation > newest->generation) newest = identity;
  }
  if (newer_version > DataIdentity::version_now) {
    return std::unexpected(fmt::format(
        "{} has format version {}, and this pawl knows up to {}; use the pawl that wrote it or a "
        "newer one",
        path, newer_version, DataIdentity::version_now));
  }
  if (newest) return *newest;
  if (!ours) {
    return std::unexpected(fmt::format(
        "{} is not the identity of a pawl data directory ({} bytes read); restore it, or name "
        "another directory with --data",
        path, file.size()));
  }
  return std::unexpected(
      fmt::format("{} is damaged (no copy in it has the right checksum); restore it from a "
                  "copy",
                  path));
}

std::uint64_t write_identity(Block out, DataIdentity& identity) {
  CHECK(identity.shards >= 1 && identity.shards <= shards_max, "{}", identity.shards);
  identity.version = DataIdentity::version_now;
  ++identity.generation;
  Copy copy{};
  copy.head = {.magic = identity_magic,
               .version = identity.version,
               .shards = identity.shards,
               .segment_bytes = identity.segment_bytes,
               .data_id = identity.data_id,
               .secret = identity.secret,
               .checksum = 0};
  copy.generation = identity.generation;
  copy.starts = identity.starts;
  copy.made = identity.made;
  copy.receipt_key = identity.receipt_key;
  copy.upgraded_ms = identity.upgraded.ms;
  copy.queue_ids_from = identity.queue_ids_from;
  copy.boot_id = identity.clock.boot_id;
  copy.clock_offset_us = identity.clock.offset_us;
  copy.clock_shift_us = identity.clock.shift_us;
  copy.clock_engine_ms = identity.clock.engine.ms;
  std::memset(out.data(), 0, out.size());
  std::memcpy(out.data(), &copy, sizeof copy);
  const std::uint64_t checksum = checksum_of(out);
  std::memcpy(out.data() + offsetof(CopyV1, checksum), &checksum, sizeof checksum);
  return identity.generation % 2 * block_bytes;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// DataIdentity: the file PAWL of a data directory. It lists the directory's logs and holds its
// parameters, secrets and clock.
//
//   PAWL:  | copy 0, 4 KiB | copy 1, 4 KiB |
//
// The copies are written in turn and in place; the whole copy with the higher generation is valid.
// No second file is written and renamed, because a full disk has no space for it. A file of version
// 1 has only copy 0.
//
// A log is *forming* until its bit in `made` is set: nothing in it was acknowledged, and missing
// files are made. A log that is made but has no files is lost. `starts` counts the startups: number
// n + 1 is written to every manifest, then to PAWL; then the first request is accepted. So a
// manifest with n or n + 1 is right, and any other is from another time.
//
// Errors: a sentence that states the fault of the file and the remedy.
// Owner:  values.
// Source: wal/FORMAT.md, "PAWL".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/queue/receipt.h"
#include "wal/format/format.h"
#include "wal/manifest.h"

namespace pawl {

// Differs from boot to boot of a machine. All zero: unknown, and then no other one is the same.
using BootId = std::array<std::uint8_t, 16>;
inline bool is_known(const BootId& id) { return id != BootId{}; }
inline bool is_same_boot(const BootId& a, const BootId& b) { return is_known(a) && a == b; }

// The engine's clock in relation to the clocks of the machine (net/engine/clock.h).
struct ClockAnchor {
  BootId boot_id{};
  std::int64_t offset_us = 0;  // engine time minus the time since the machine was started
  std::int64_t shift_us = 0;   // wall time minus engine time
  Instant engine;              // engine time of this note; 0: never noted

  bool known() const { return engine.ms != 0; }
};

struct DataIdentity {
  static constexpr std::uint32_t version_now = 2;
  static constexpr std::string_view file_name = "PAWL";
  static constexpr std::size_t file_bytes = 2 * block_bytes;

  std::uint32_t version = version_now;  // version of the copy read
  std::uint32_t shards = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t data_id = 0;  // random
  Secret secret{};
  std::uint64_t generation = 0;
  std::uint64_t starts = 0;  // startups known to all logs and to this file
  std::uint64_t made = 0;    // bit i: the log of shard i is made
  SipKey receipt_key{};
  Instant upgraded;  // time of the upgrade from version 1; 0: made by a later version
  std::uint32_t queue_ids_from = 0;  // a lost control log gave out the ids below
  ClockAnchor clock;

  bool is_made(std::uint32_t shard) const { return (made >> shard & 1) != 0; }
  LogMembership membership_of(std::uint32_t shard) const { return {is_made(shard), starts}; }
  std::uint64_t all_shards() const { return ~std::uint64_t{0} >> (64 - shards); }
  // The log stream of a shard: random, but constant for the life of the directory.
  std::uint64_t stream_of(std::uint32_t shard) const;
};

// Returns the newest whole copy in the bytes of the file; `path` appears in the error text.
std::expected<DataIdentity, std::string> read_identity(std::span<const std::byte> file,
                                                       const std::string& path);
// Encodes the next copy and returns its offset in the file. Sets generation and version.
std::uint64_t write_identity(Block out, DataIdentity& identity);

}  // namespace pawl

// DataIdentity: what the file PAWL says of a data directory. Which logs it has, how it was made, its secrets, its clock.
//
//   PAWL:  | copy 0, 4 KiB | copy 1, 4 KiB |   written in turn and in place; the whole one with the higher generation counts
//
// A log is *forming* until its bit in `made` is set: what is missing of it then was never acknowledged, and is made. A log
// that is made and not there is lost. `starts` counts the starts: number n + 1 goes into every manifest, then into PAWL,
// and then the first request is taken. So a manifest of n or n + 1 is right, and any other is from another time.
//
// Overwritten, because a full disk allows no second file to be renamed. A file of version 1 has copy 0 alone.
//
// Errors: a sentence: what is wrong with the file, and what to do.
// Owner:  values.
// Source: wal/FORMAT.md, "PAWL".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "core/ids.h"
#include "core/receipt.h"
#include "core/time.h"
#include "wal/format.h"
#include "wal/manifest.h"

namespace pawl {

// Where the engine's clock stood, by the clocks of the machine (net/engine/clock.h).
struct ClockAnchor {
  std::array<std::uint8_t, 16> boot_id{};  // of the machine's start
  std::int64_t offset_us = 0;              // engine time less the time since the machine's start
  std::int64_t shift_us = 0;               // wall time less engine time
  Instant engine;                          // when it was noted; 0: never

  bool known() const { return engine.ms != 0; }
};

struct DataIdentity {
  static constexpr std::uint32_t version_now = 2;
  static constexpr std::string_view file_name = "PAWL";
  static constexpr std::size_t file_bytes = 2 * block_bytes;

  std::uint32_t version = version_now;  // of the copy that was read
  std::uint32_t shards = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t data_id = 0;  // random
  Secret secret{};
  std::uint64_t generation = 0;
  std::uint64_t starts = 0;  // of which all logs and this file know
  std::uint64_t made = 0;    // a bit a shard
  SipKey receipt_key{};
  Instant upgraded;                  // from version 1; 0: it was made by a later one
  std::uint32_t queue_ids_from = 0;  // ids below were given out by a control log that is lost
  ClockAnchor clock;

  bool is_made(std::uint32_t shard) const { return (made >> shard & 1) != 0; }
  LogMembership membership_of(std::uint32_t shard) const { return {is_made(shard), starts}; }
  std::uint64_t all_shards() const { return ~std::uint64_t{0} >> (64 - shards); }
  // The log stream of a shard: random, but the same for the life of the directory.
  std::uint64_t stream_of(std::uint32_t shard) const;
};

// The newest whole copy in what was read of the file; `path` is for the sentence.
std::expected<DataIdentity, std::string> read_identity(std::span<const std::byte> file,
                                                       const std::string& path);
// The next copy, and where in the file it goes. Sets generation and version.
std::uint64_t write_identity(Block out, DataIdentity& identity);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Scene: the environment of all parts: small logs, some shards, one secret.
//
// Units:  bytes.
// Owner:  values.
#pragma once

#include <cstdint>

#include "core/base/time.h"
#include "core/queue/receipt.h"
#include "wal/log.h"

namespace pawl::exhaustive {

struct Scene {
  std::uint32_t shards = 1;
  std::uint64_t segment_bytes = 64 << 10;
  std::uint64_t extent_bytes = 16 << 10;
  std::uint64_t memory_max = 512 << 10;
  std::uint64_t seed = 1;  // of the delays of disk operations

  LogOptions log(std::uint32_t shard) const {
    LogOptions options;
    options.stream = 0x5eed + shard;
    options.segment_bytes = segment_bytes;
    options.extent_bytes = extent_bytes;
    options.memory_max = memory_max;
    options.spare_segments = 1;
    return options;
  }
};

inline constexpr Instant story_begin{1'700'000'000'000};

}  // namespace pawl::exhaustive

// SPDX-License-Identifier: Apache-2.0
// Measures how long one durable 4 KiB write takes on the disk below a directory, in the two
// available ways.
//
// It writes one block at a time into a zero-filled file of its own, which is deleted afterwards:
// the minimum wait of one sender on an idle server. The kinds take turns, so a neighbour disturbs
// both alike.
//
// Units:  microseconds.
// Errors: Errc::io with errno and the operation: the directory, O_DIRECT or io_uring failed.
// Owner:  blocks the calling thread for a little more than `seconds`; nothing is shared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace pawl {

struct LatencyFigures {
  std::uint64_t writes = 0;
  double p50_us = 0;
  double p99_us = 0;
};

struct DiskLatency {
  LatencyFigures flush;  // O_DIRECT write linked to fdatasync
  LatencyFigures dsync;  // O_DIRECT write with RWF_DSYNC
};

Result<DiskLatency> measure_disk(const std::string& directory, double seconds);

}  // namespace pawl

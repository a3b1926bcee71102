// SPDX-License-Identifier: Apache-2.0
// The records of tasks: move tasks (TASK) and replay tasks (REPLAY).
//
// Limits: a TASK lists at most batch_max deleted messages.
// Errors: as in wal/format/records.h.
// Owner:  values.
// Source: wal/FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/queue/effects.h"
#include "wal/format/record_types.h"

namespace pawl {

class Decoder;

std::size_t task_bytes_max(const MoveTask& task, std::size_t deleted);  // the largest size
std::size_t replay_bytes(const ReplayRecord& record);                   // the exact size, aligned

// The encoders write to `out`, which has the size from above, and return the bytes used, aligned.
std::size_t encode_replay(std::byte* out, const ReplayRecord& record, std::uint64_t stream);
// `deleted` has at most batch_max entries.
std::size_t encode_task(std::byte* out, const MoveTask& task, std::span<const Seq> deleted,
                        std::uint64_t stream);

// These read the body of a record, for wal/format/records.cc. The caller checks `in` afterwards.
Result<void> read_task(Decoder& in, RecordSink& sink);
Result<void> read_replay(Decoder& in, std::uint16_t fields, RecordSink& sink);

}  // namespace pawl

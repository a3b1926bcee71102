// SPDX-License-Identifier: Apache-2.0
// The records of settings: CONFIG, of a queue or topic, and ROW, a subscription of a topic.
//
// Errors: as in wal/format/records.h.
// Owner:  values.
// Source: wal/FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/queue/effects.h"
#include "wal/format/record_types.h"

namespace pawl {

class Decoder;

// The exact sizes, aligned.
std::size_t config_bytes(const QueueConfig& config);
std::size_t row_bytes(std::string_view text);

// The encoders write to `out`, which has the size from above, and return the bytes used, aligned.
std::size_t encode_config(std::byte* out, const ConfigRecord& record, std::uint64_t stream);
// An empty text: the row is deleted.
std::size_t encode_row(std::byte* out, QueueId topic, std::uint64_t number, std::string_view text,
                       std::uint64_t stream);

// These read the body of a record, for wal/format/records.cc. The caller checks `in` afterwards.
Result<void> read_config(Decoder& in, RecordSink& sink);
void read_row(Decoder& in, RecordSink& sink);

}  // namespace pawl

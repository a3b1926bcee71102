// SPDX-License-Identifier: Apache-2.0
// Records: the decisions of a turn, encoded. The records of a frame follow each other, each aligned
// to 8 bytes.
//
//   | type 1 | flags 1 | fields 2 | length 4 | hash 4 | body of the type ... | zeros to 8 |
//
// The encoders write in place: ask for the size (or its maximum) and provide that much space. The
// decoder accepts any bytes and never reads outside its span.
//
// Limits: record_bytes_max; a batched record holds at most batch_max entries, so that it fits any
//         extent.
// Errors: Errc::corrupt (a length, a hash or a value that no encoder wrote), Errc::version (a type,
//         flag or field of a newer version). The sink has received the records before the bad one.
// Owner:  values.
// Source: wal/FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "wal/format/fan_out_record.h"
#include "wal/format/message_records.h"
#include "wal/format/queue_records.h"
#include "wal/format/record_types.h"
#include "wal/format/send_record.h"
#include "wal/format/task_records.h"

namespace pawl {

// Reads `count` records, which must fill `bytes` exactly.
Result<void> decode_records(std::span<const std::byte> bytes, std::uint32_t count,
                            std::uint64_t stream, RecordSink& sink);

}  // namespace pawl

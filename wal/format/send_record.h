// SPDX-License-Identifier: Apache-2.0
// The SEND: a message with its content, as it is sent, relocated and read back.
//
// Errors: as in wal/format/records.h.
// Owner:  values.
// Source: wal/FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/queue/effects.h"
#include "wal/format/record_types.h"

namespace pawl {

class Decoder;
class Encoder;

// The exact size of the record, aligned.
std::size_t send_bytes(const SendRecord& record);
// Writes to `out`, which has send_bytes(), and returns the bytes used, aligned.
std::size_t encode_send(std::byte* out, const SendRecord& record, std::uint64_t stream);
// Copies a SEND of this log unchanged, but with field_relocated.
std::size_t encode_relocated(std::byte* out, std::span<const std::byte> record,
                             std::uint64_t stream);

// Decodes one SEND at the start of `bytes` and checks its hash.
Result<StoredMessage> decode_send(std::span<const std::byte> bytes, std::uint64_t stream);

// The length in the record's head, unchecked; `record` has the first 12 bytes.
std::size_t record_length(const std::byte* record);

// Decodes a SEND written or verified by this process: CHECKs instead of errors, no hash.
StoredMessage trusted_send(const std::byte* record);

// --- for fan_out_record.cc: everything behind queue and number, up to the end of the body ---

// `in_envelope`: the content's notification is written too. The bits are those of SendField.
std::uint16_t fields_of(const SendRecord& record, bool in_envelope);
// The exact size, not aligned.
std::size_t parts_bytes(const SendRecord& record, bool in_envelope);
void write_parts(Encoder& to, const SendRecord& record, std::uint16_t fields, bool in_envelope);
// Takes all bytes that are left; the caller checks `in` afterwards.
void read_parts(Decoder& in, std::uint16_t fields, StoredMessage& message);

// Reads the body of a SEND, for wal/format/records.cc: the caller checks `in` afterwards.
StoredMessage read_send(Decoder& in, std::uint16_t fields);

}  // namespace pawl

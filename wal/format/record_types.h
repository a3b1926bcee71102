// SPDX-License-Identifier: Apache-2.0
// The kinds of records, their limits and flags, and RecordSink, the receiver of decoded records.
//
// Limits: record_bytes_max; a batched record holds at most batch_max entries, so that it fits any
//         extent.
// Owner:  values.
// Source: wal/FORMAT.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/queue/checkpoint.h"
#include "core/queue/effects.h"
#include "core/queue/request.h"

namespace pawl {

inline constexpr std::size_t record_bytes_max =
    (1 << 20) + (1 << 18);                               // 1 MiB body + attributes, ids, headers
inline constexpr std::size_t send_head_bytes_max = 232;  // a SEND without its texts
inline constexpr std::size_t origin_bytes_max = 256;     // the name of a dead letter's first queue
inline constexpr std::size_t batch_max = 128;

enum class RecordType : std::uint8_t {
  send = 1,
  delete_message = 2,
  receive = 3,
  purge = 4,
  config = 5,
  heads = 6,
  task = 7,
  forget_transfer = 8,
  // Records of a checkpoint only: wal/format/checkpoint_records.h.
  index_entries = 9,
  tracked_messages = 10,
  times = 11,
  dedup = 12,
  unsettled_transfer = 13,
  segments = 14,
  // Records of turns and of a checkpoint.
  replay = 15,
  row = 16,
  producers = 18,  // of a checkpoint only
  fan_out = 19,    // of turns: wal/format/fan_out_record.h
  number = 20,     // of turns
  fires = 21,      // of a checkpoint only
};
inline constexpr std::uint8_t reserved_record_type = 17;  // for LEASE: FORMAT.md
inline constexpr RecordType last_record_type = RecordType::fires;

// Bits of a SEND's `fields`: the optional parts present, in this order. Parts outside known_fields
// have a fixed place and size, but this version neither writes nor reads them.
enum SendField : std::uint16_t {
  field_deliver_at = 1 << 0,     // i64 ms
  field_body_md5 = 1 << 1,       // 16
  field_message_id = 1 << 2,     // 16
  field_receive_state = 1 << 3,  // count u32, nonce u32, first and last received i64 ms
  field_dedup_key = 1 << 4,      // 16
  field_attributes = 1 << 5,     // u32 length, bytes
  field_system = 1 << 6,         // u32 length, bytes
  field_sender = 1 << 7,         // u8 length, bytes
  field_group = 1 << 8,          // u8 length, bytes
  field_dedup_id = 1 << 9,       // u8 length, bytes
  field_origin = 1 << 10,        // u8 length, bytes
  field_expiry = 1 << 11,        // i64 ms
  field_priority = 1 << 12,      // u8
  field_from = 1 << 13,          // shard u8, queue u32, seq u48, arrived i64 ms, task u32
  field_relocated = 1 << 14,     // no bytes: the message existed before, elsewhere in the log
  field_extensions = 1 << 15,    // u16 bytes, then for each: u16 SendExtension, u16 length, bytes
};

// The kind of an extension of a SEND. A version that does not know an extension skips it if its
// number has `ignorable`; any other unknown extension stops that version.
enum class SendExtension : std::uint16_t {
  replayed = 1,  // no bytes: Content::replayed
  producer = 2,  // ProducerKey: id u64, sequence u64
  // Content::subscription, 16 bytes, and Content::notification; in a FAN_OUT the subscription is 0.
  notification = 3,
  delivery_time = 4,       // u8: bits below
  time_to_live = 5,        // ms u32: SendRecord::time_to_live
  dead_letter_reason = 6,  // u8: Content::reason
  fire = 7,                // Fire: schedule u32, time i64 ms
};
// The bits of a delivery_time: SendRecord::aged_apart, own_delay.
inline constexpr std::uint8_t time_aged_apart = 1 << 0;
inline constexpr std::uint8_t time_own_delay = 1 << 1;
inline constexpr std::uint16_t ignorable = 1 << 15;

// A version that does not know the type of a record skips the record if it has this flag.
inline constexpr std::uint8_t record_ignorable = 1 << 0;

// A part of a record that this version does not know.
struct UnknownPart {
  enum class Kind : std::uint8_t { type, flags, fields, extension };
  Kind kind{};
  std::uint32_t value = 0;
  bool critical = false;
};
std::string_view name_of(UnknownPart::Kind kind);

inline constexpr std::uint16_t known_fields =
    field_deliver_at | field_body_md5 | field_message_id | field_receive_state | field_dedup_key |
    field_attributes | field_system | field_sender | field_group | field_dedup_id | field_origin |
    field_from | field_relocated | field_extensions;

// The parts that the messages of a FAN_OUT may share.
inline constexpr std::uint16_t shared_fields = field_body_md5 | field_attributes | field_system |
                                               field_sender | field_group | field_dedup_id |
                                               field_relocated | field_extensions;

// The bit of a HEADS' `fields`: all its entries have HeadRecord::reserved.
inline constexpr std::uint16_t heads_reserved = 1 << 0;
// The bits of an entry of TRACKED_MESSAGES.
inline constexpr std::uint8_t tracked_grouped = 1 << 0;  // it has the key of its group
inline constexpr std::uint8_t tracked_waits = 1 << 1;    // TrackedMessage::waits
inline constexpr std::uint8_t tracked_final = 1 << 2;    // TrackedMessage::final_deadline
inline constexpr std::uint8_t tracked_cancelled = 1 << 3;
inline constexpr std::uint8_t tracked_apart = 1 << 4;  // TrackedMessage::aged_apart
inline constexpr std::uint8_t tracked_expired = 1 << 5;
inline constexpr std::uint8_t tracked_flags = 0x3F;
// The bits of a RECEIVE's `fields`, of all its messages: ReceiveRecord::waits, final_deadline,
// cancelled, aged_apart, expired.
inline constexpr std::uint16_t receive_waits = 1 << 0;
inline constexpr std::uint16_t receive_final = 1 << 1;
inline constexpr std::uint16_t receive_cancelled = 1 << 2;
inline constexpr std::uint16_t receive_apart = 1 << 3;
inline constexpr std::uint16_t receive_expired = 1 << 4;

// The bit of a TIMES' `fields`: TimesRecord::ends.
inline constexpr std::uint16_t times_ends = 1 << 0;

// The bits of a REPLAY's `fields`: ReplayRecord::progress, ReplayTask::copies.
inline constexpr std::uint16_t replay_progress = 1 << 0;
inline constexpr std::uint16_t replay_of_copies = 1 << 1;

// The messages sent in a segment, deleted ones included. Part of a checkpoint.
struct SegmentRecord {
  std::uint64_t number = 0;
  std::uint64_t sends = 0;
  std::uint64_t bytes = 0;  // size of the sends
  bool operator==(const SegmentRecord&) const = default;
};

// The content of a stored message; spans point into the bytes it was read from. From a Log they are
// valid as long as its record (Log::record, Log::next_body).
struct StoredMessage {
  QueueId queue = QueueId::none;
  Seq seq = 0;
  Instant sent;
  Instant deliver_at;
  Content content;  // its body_md5 also points into those bytes
  TextKey dedup;
  Carried carried;
  std::array<std::uint8_t, 16> body_md5{};
  bool has_body_md5 = false;
  bool relocated = false;
  bool shares = false;  // an earlier message of this record has counted its bytes
  ProducerKey producer;
  bool aged_apart = false, own_delay = false;  // of SendRecord
  Duration time_to_live{0};
  Fire fire;
  // The number of an unknown critical extension, or 0; the count of skipped extensions.
  std::uint16_t unknown_extension = 0;
  std::uint16_t passed_over = 0;
};

constexpr std::size_t align_record(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void send(const StoredMessage& message,
                    std::size_t offset) = 0;  // of the record in the decoded bytes
  virtual void receive(const ReceiveRecord& record) = 0;
  virtual void delete_message(const DeleteRecord& record) = 0;
  virtual void purge(const PurgeRecord& record) = 0;
  virtual void config(const ConfigRecord& record) = 0;  // without rows
  virtual void row(const RowRecord& record) = 0;
  virtual void head(const HeadRecord& record) = 0;
  virtual void task(const TaskRecord& record) = 0;
  virtual void forget_transfer(const ForgetTransferRecord& record) = 0;
  virtual void number(const NumberRecord& record) = 0;
  virtual void replay(const ReplayRecord& record) = 0;
  virtual void checkpoint(const CheckpointRecord& record) = 0;
  virtual void segment(const SegmentRecord& record) = 0;
  // A critical part ends the decoding with Errc::version.
  virtual void unknown(const UnknownPart&) {}
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/format/send_record.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "wal/format/record_codec.h"

namespace pawl {
namespace {

constexpr std::size_t message_key_bytes = 4 + 6;  // queue and number
constexpr std::size_t sent_bytes = 6;
constexpr std::size_t send_fixed_bytes = head_bytes + message_key_bytes + sent_bytes;
constexpr std::size_t receive_state_bytes = 4 + 4 + 8 + 8;
constexpr std::size_t from_bytes = 1 + 4 + 6 + 8 + 4;
constexpr std::size_t extension_head_bytes = 2 + 2;
constexpr std::size_t producer_bytes = 8 + 8;
constexpr std::size_t fire_bytes = 4 + 8;
constexpr std::size_t extensions_bytes_max =
    2 + 7 * extension_head_bytes + producer_bytes + sizeof(MessageId) + 1 + 4 + 1 + fire_bytes;

bool has_delivery_time(const SendRecord& record) { return record.aged_apart || record.own_delay; }
bool enveloped(const SendRecord& record) { return record.subscription != MessageId{}; }

// One test: most records have no extension.
[[gnu::always_inline]] inline bool has_extensions(const SendRecord& record, bool in_envelope) {
  const std::uint64_t any =
      record.producer.id | static_cast<std::uint64_t>(record.time_to_live.ms) |
      raw(record.fire.schedule) | static_cast<std::uint8_t>(record.content->reason);
  const unsigned flags =
      static_cast<unsigned>(record.content->replayed) | static_cast<unsigned>(record.aged_apart) |
      static_cast<unsigned>(record.own_delay) | static_cast<unsigned>(in_envelope);
  return (any | flags) != 0;
}

// Size of the extensions without their length.
std::size_t extensions_length(const SendRecord& record, bool in_envelope) {
  return (record.content->replayed ? extension_head_bytes : 0) +
         (record.producer.id != 0 ? extension_head_bytes + producer_bytes : 0) +
         (has_delivery_time(record) ? extension_head_bytes + 1 : 0) +
         (record.time_to_live.ms != 0 ? extension_head_bytes + 4 : 0) +
         (record.content->reason != DeadLetterReason::none ? extension_head_bytes + 1 : 0) +
         (record.fire.schedule != QueueId::none ? extension_head_bytes + fire_bytes : 0) +
         (in_envelope
              ? extension_head_bytes + sizeof(MessageId) + record.content->notification.size()
              : 0);
}

void write_extensions(Encoder& to, const SendRecord& record, bool in_envelope) {
  const Content& content = *record.content;
  const auto head = [&](SendExtension number, std::size_t bytes) {
    CHECK(std::in_range<std::uint16_t>(bytes), "an extension of {} bytes", bytes);
    to.fixed(static_cast<std::uint16_t>(number));
    to.fixed(static_cast<std::uint16_t>(bytes));
  };
  to.fixed(static_cast<std::uint16_t>(extensions_length(record, in_envelope)));
  if (content.replayed) head(SendExtension::replayed, 0);
  if (record.producer.id != 0) {
    CHECK(record.producer.sequence != 0, "a message of producer {}", record.producer.id);
    head(SendExtension::producer, producer_bytes);
    to.fixed(record.producer.id);
    to.fixed(record.producer.sequence);
  }
  if (has_delivery_time(record)) {
    head(SendExtension::delivery_time, 1);
    const unsigned bits =
        (record.aged_apart ? time_aged_apart : 0u) | (record.own_delay ? time_own_delay : 0u);
    to.fixed(static_cast<std::uint8_t>(bits));
  }
  if (record.time_to_live.ms != 0) {
    head(SendExtension::time_to_live, 4);
    to.fixed(static_cast<std::uint32_t>(record.time_to_live.ms));
  }
  if (content.reason != DeadLetterReason::none) {
    head(SendExtension::dead_letter_reason, 1);
    to.fixed(static_cast<std::uint8_t>(content.reason));
  }
  if (record.fire.schedule != QueueId::none) {
    head(SendExtension::fire, fire_bytes);
    to.fixed(raw(record.fire.schedule));
    to.fixed(record.fire.at.ms);
  }
  if (!in_envelope) return;
  head(SendExtension::notification, sizeof(MessageId) + content.notification.size());
  to.fixed(record.subscription);
  to.bytes(content.notification);
}

void read_extensions(Decoder& in, StoredMessage& message) {
  Decoder all(in.take(in.fixed<std::uint16_t>()));
  while (all.ok() && !all.done()) {
    const auto number = all.fixed<std::uint16_t>();
    const auto bytes = all.take(all.fixed<std::uint16_t>());
    if (static_cast<SendExtension>(number) == SendExtension::replayed && bytes.empty()) {
      message.content.replayed = true;
    } else if (static_cast<SendExtension>(number) == SendExtension::producer &&
               bytes.size() == producer_bytes) {
      Decoder key(bytes);
      message.producer.id = key.fixed<std::uint64_t>();
      message.producer.sequence = key.fixed<std::uint64_t>();
      if (message.producer.id == 0 || message.producer.sequence == 0) all.fail();
    } else if (static_cast<SendExtension>(number) == SendExtension::delivery_time &&
               bytes.size() == 1) {
      const auto bits = Decoder(bytes).fixed<std::uint8_t>();
      message.aged_apart = (bits & time_aged_apart) != 0;
      message.own_delay = (bits & time_own_delay) != 0;
      if (bits == 0 || (bits & ~(time_aged_apart | time_own_delay)) != 0) all.fail();
    } else if (static_cast<SendExtension>(number) == SendExtension::time_to_live &&
               bytes.size() == 4) {
      message.time_to_live = milliseconds(Decoder(bytes).fixed<std::uint32_t>());
      if (message.time_to_live.ms == 0 || message.time_to_live > time_to_live_max) all.fail();
    } else if (static_cast<SendExtension>(number) == SendExtension::dead_letter_reason &&
               bytes.size() == 1) {
      message.content.reason = DeadLetterReason{Decoder(bytes).fixed<std::uint8_t>()};
      if (message.content.reason != DeadLetterReason::expired) all.fail();
    } else if (static_cast<SendExtension>(number) == SendExtension::fire &&
               bytes.size() == fire_bytes) {
      Decoder fire(bytes);
      message.fire.schedule = QueueId{fire.fixed<std::uint32_t>()};
      message.fire.at = Instant{fire.fixed<std::int64_t>()};
      if (message.fire.schedule == QueueId::none || message.fire.at.ms <= 0) all.fail();
    } else if (static_cast<SendExtension>(number) == SendExtension::notification) {
      Decoder text(bytes);
      message.content.subscription.high = text.fixed<std::uint64_t>();
      message.content.subscription.low = text.fixed<std::uint64_t>();
      message.content.notification = text.rest();
      if (message.content.notification.empty()) all.fail();
    } else if ((number & ignorable) != 0) {
      ++message.passed_over;
    } else {
      message.unknown_extension = number;
    }
  }
  if (!all.ok()) in.fail();
}

// Inlined, because a send takes each of them once.

[[gnu::always_inline]] inline std::uint16_t fields_in(const SendRecord& record, bool in_envelope) {
  const Content& content = *record.content;
  unsigned fields = 0;
  if (record.deliver_at != record.sent) fields |= field_deliver_at;
  if (content.body_md5) fields |= field_body_md5;
  if (!content.attributes.empty()) fields |= field_attributes;
  if (!content.system.empty()) fields |= field_system;
  if (!content.sender.empty()) fields |= field_sender;
  if (!content.group.empty()) fields |= field_group;
  if (!content.dedup_id.empty()) fields |= field_dedup_id;
  if (!content.origin.empty()) fields |= field_origin;
  if (record.dedup != TextKey{}) fields |= field_dedup_key;
  if (record.carried.id != MessageId{}) fields |= field_message_id;
  if (record.carried.receive_count > 0) fields |= field_receive_state;
  if (record.carried.from.seq != 0) fields |= field_from;
  if (has_extensions(record, in_envelope)) fields |= field_extensions;
  return static_cast<std::uint16_t>(fields);
}

[[gnu::always_inline]] inline std::size_t bytes_in(const SendRecord& record, bool in_envelope) {
  const Content& content = *record.content;
  std::size_t bytes = sent_bytes + content.body.size();
  if (record.deliver_at != record.sent) bytes += 8;
  if (content.body_md5) bytes += 16;
  if (!content.attributes.empty()) bytes += 4 + content.attributes.size();
  if (!content.system.empty()) bytes += 4 + content.system.size();
  if (!content.sender.empty()) bytes += 1 + content.sender.size();
  if (!content.group.empty()) bytes += 1 + content.group.size();
  if (!content.dedup_id.empty()) bytes += 1 + content.dedup_id.size();
  if (!content.origin.empty()) bytes += 1 + content.origin.size();
  if (record.dedup != TextKey{}) bytes += sizeof(TextKey);
  if (record.carried.id != MessageId{}) bytes += sizeof(MessageId);
  if (record.carried.receive_count > 0) bytes += receive_state_bytes;
  if (record.carried.from.seq != 0) bytes += from_bytes;
  if (has_extensions(record, in_envelope)) bytes += 2 + extensions_length(record, in_envelope);
  return bytes;
}

[[gnu::always_inline]] inline void write_in(Encoder& to, const SendRecord& record,
                                            std::uint16_t fields, bool in_envelope) {
  const Content& content = *record.content;
  to.u48(bits(record.sent));
  if (fields & field_deliver_at) to.fixed(record.deliver_at.ms);
  if (fields & field_body_md5) to.fixed(*content.body_md5);
  if (fields & field_message_id) to.fixed(record.carried.id);
  if (fields & field_receive_state) {
    to.fixed(record.carried.receive_count);
    to.fixed(std::uint32_t{0});
    to.fixed(record.carried.first_received.ms);
    to.fixed(record.carried.last_received.ms);
  }
  if (fields & field_dedup_key) to.fixed(record.dedup);
  if (fields & field_attributes) to.text<std::uint32_t>(content.attributes);
  if (fields & field_system) to.text<std::uint32_t>(content.system);
  if (fields & field_sender) to.text<std::uint8_t>(content.sender);
  if (fields & field_group) to.text<std::uint8_t>(content.group);
  if (fields & field_dedup_id) to.text<std::uint8_t>(content.dedup_id);
  if (fields & field_origin) to.text<std::uint8_t>(content.origin);
  if (fields & field_from) {
    write_transfer_key(to, record.carried.from);
    to.fixed(record.carried.arrived.ms);
    to.fixed(record.carried.task);
  }
  if (fields & field_extensions) write_extensions(to, record, in_envelope);
  to.bytes(content.body);
}

// A SEND head with every possible field, and padding.
static_assert(send_fixed_bytes + 8 + 16 + 4 + 4 + 4 + sizeof(TextKey) + sizeof(MessageId) +
                  receive_state_bytes + from_bytes + extensions_bytes_max + 8 <=
              send_head_bytes_max);

}  // namespace

std::uint16_t fields_of(const SendRecord& record, bool in_envelope) {
  return fields_in(record, in_envelope);
}

std::size_t parts_bytes(const SendRecord& record, bool in_envelope) {
  return bytes_in(record, in_envelope);
}

void write_parts(Encoder& to, const SendRecord& record, std::uint16_t fields, bool in_envelope) {
  write_in(to, record, fields, in_envelope);
}

void read_parts(Decoder& in, std::uint16_t fields, StoredMessage& message) {
  message.sent = instant(in.u48());
  message.deliver_at = fields & field_deliver_at ? Instant{in.fixed<std::int64_t>()} : message.sent;
  if (fields & field_body_md5) {
    const auto md5 = in.take(16);
    if (!md5.empty()) {
      std::memcpy(message.body_md5.data(), md5.data(), md5.size());
      message.content.body_md5 = reinterpret_cast<const std::array<std::uint8_t, 16>*>(md5.data());
      message.has_body_md5 = true;
    }
  }
  if (fields & field_message_id) {
    message.carried.id.high = in.fixed<std::uint64_t>();
    message.carried.id.low = in.fixed<std::uint64_t>();
  }
  if (fields & field_receive_state) {
    message.carried.receive_count = in.fixed<std::uint32_t>();
    in.fixed<std::uint32_t>();  // nonce: handles of the source queue are invalid here
    message.carried.first_received = Instant{in.fixed<std::int64_t>()};
    message.carried.last_received = Instant{in.fixed<std::int64_t>()};
  }
  if (fields & field_dedup_key) {
    message.dedup.high = in.fixed<std::uint64_t>();
    message.dedup.low = in.fixed<std::uint64_t>();
  }
  if (fields & field_attributes) message.content.attributes = in.text<std::uint32_t>();
  if (fields & field_system) message.content.system = in.text<std::uint32_t>();
  if (fields & field_sender) message.content.sender = in.text<std::uint8_t>();
  if (fields & field_group) message.content.group = in.text<std::uint8_t>();
  if (fields & field_dedup_id) message.content.dedup_id = in.text<std::uint8_t>();
  if (fields & field_origin) message.content.origin = in.text<std::uint8_t>();
  if (fields & field_from) {
    message.carried.from = read_transfer_key(in);
    message.carried.arrived = Instant{in.fixed<std::int64_t>()};
    message.carried.task = in.fixed<std::uint32_t>();
  }
  message.relocated = (fields & field_relocated) != 0;
  if (fields & field_extensions) read_extensions(in, message);
  message.content.body = in.rest();
}

StoredMessage read_send(Decoder& in, std::uint16_t fields) {
  StoredMessage message;
  message.queue = QueueId{in.fixed<std::uint32_t>()};
  message.seq = in.u48();
  read_parts(in, fields, message);
  return message;
}

std::size_t send_bytes(const SendRecord& record) {
  return align_record(head_bytes + message_key_bytes + bytes_in(record, enveloped(record)));
}

std::size_t encode_send(std::byte* out, const SendRecord& record, std::uint64_t stream) {
  const bool in_envelope = enveloped(record);
  const std::uint16_t fields = fields_in(record, in_envelope);
  Encoder to(out);
  to.fixed(raw(record.queue));
  to.u48(record.seq);
  write_in(to, record, fields, in_envelope);
  return to.finish(RecordType::send, fields, stream);
}

std::size_t encode_relocated(std::byte* out, std::span<const std::byte> record,
                             std::uint64_t stream) {
  RecordHead head;
  CHECK(record.size() >= send_fixed_bytes, "a SEND of {} bytes", record.size());
  std::memcpy(&head, record.data(), sizeof head);
  CHECK(head.type == static_cast<std::uint8_t>(RecordType::send), "type {}", head.type);
  CHECK(head.length == record.size(), "{} of {} bytes", head.length, record.size());
  Encoder to(out);
  to.bytes({reinterpret_cast<const char*>(record.data()) + head_bytes, record.size() - head_bytes});
  return to.finish(RecordType::send, static_cast<std::uint16_t>(head.fields | field_relocated),
                   stream);
}

Result<StoredMessage> decode_send(std::span<const std::byte> bytes, std::uint64_t stream) {
  const auto head = read_head(bytes, stream);
  if (!head) return std::unexpected(head.error());
  if (head->type != static_cast<std::uint8_t>(RecordType::send))
    return fail(Errc::corrupt, "not a SEND");
  if (unknown_in(*head)) return newer_version();
  Decoder in(bytes.subspan(head_bytes, head->length - head_bytes));
  const StoredMessage message = read_send(in, head->fields);
  if (!in.done()) return fail(Errc::corrupt, "record body");
  if (message.unknown_extension != 0) return newer_version();
  return message;
}

std::size_t record_length(const std::byte* record) {
  RecordHead head;
  std::memcpy(&head, record, sizeof head);
  return head.length;
}

StoredMessage trusted_send(const std::byte* record) {
  RecordHead head;
  std::memcpy(&head, record, sizeof head);
  CHECK(head.type == static_cast<std::uint8_t>(RecordType::send), "type {}", head.type);
  CHECK(head.length >= send_fixed_bytes && head.length <= record_bytes_max, "length {}",
        head.length);
  Decoder in({record + head_bytes, head.length - head_bytes});
  const StoredMessage message = read_send(in, head.fields);
  CHECK(in.done(), "a SEND of {} bytes ends too early", head.length);
  return message;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/records.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/mutant.h"
#include "wal/record_codec.h"

namespace pawl {
namespace {

constexpr std::size_t send_fixed_bytes = head_bytes + 4 + 6 + 6;
constexpr std::uint8_t config_gone = 1;
// Values of task failures in existing logs.
static_assert(static_cast<int>(Errc::no_such_queue) == 1 &&
              static_cast<int>(Errc::source_unknown) == 14 &&
              static_cast<int>(Errc::message_numbers_used_up) == 30);
constexpr std::size_t receive_state_bytes = 4 + 4 + 8 + 8;
constexpr std::size_t from_bytes = 1 + 4 + 6 + 8 + 4;
constexpr std::size_t extension_head_bytes = 2 + 2;
constexpr std::size_t extensions_bytes = 2 + extension_head_bytes;  // of a replayed copy

Instant instant(std::uint64_t ms) { return {static_cast<std::int64_t>(ms)}; }
std::uint64_t bits(Instant t) { return static_cast<std::uint64_t>(t.ms); }

std::uint16_t fields_of(const SendRecord& record) {
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
  if (content.replayed) fields |= field_extensions;
  return static_cast<std::uint16_t>(fields);
}

TransferKey read_from(Decoder& in) {
  TransferKey from;
  from.shard = ShardId{in.fixed<std::uint8_t>()};
  from.queue = QueueId{in.fixed<std::uint32_t>()};
  from.seq = in.u48();
  return from;
}

void write_from(Encoder& to, const TransferKey& from) {
  to.fixed(static_cast<std::uint8_t>(raw(from.shard)));
  to.fixed(raw(from.queue));
  to.u48(from.seq);
}

void read_extensions(Decoder& in, StoredMessage& message) {
  Decoder all(in.take(in.fixed<std::uint16_t>()));
  while (all.ok() && !all.done()) {
    const auto number = all.fixed<std::uint16_t>();
    const auto bytes = all.take(all.fixed<std::uint16_t>());
    if (static_cast<SendExtension>(number) == SendExtension::replayed && bytes.empty()) {
      message.content.replayed = true;
    } else if ((number & ignorable) != 0) {
      ++message.passed_over;
    } else {
      message.unknown_extension = number;
    }
  }
  if (!all.ok()) in.fail();
}

StoredMessage read_send(Decoder& in, std::uint16_t fields) {
  StoredMessage message;
  message.queue = QueueId{in.fixed<std::uint32_t>()};
  message.seq = in.u48();
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
    message.carried.from = read_from(in);
    message.carried.arrived = Instant{in.fixed<std::int64_t>()};
    message.carried.task = in.fixed<std::uint32_t>();
  }
  message.relocated = (fields & field_relocated) != 0;
  if (fields & field_extensions) read_extensions(in, message);
  message.content.body = in.rest();
  return message;
}

void read_deletes(Decoder& in, RecordSink& sink) {
  DeleteRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  const auto count = in.fixed<std::uint32_t>();
  record.seq = in.u48();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    if (i > 0) record.seq = in.delta(record.seq) & seq_max;
    if (in.ok()) sink.delete_message(record);
  }
}

void read_receives(Decoder& in, RecordSink& sink) {
  ReceiveRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  const auto count = in.fixed<std::uint32_t>();
  record.seq = in.u48();
  auto base = in.fixed<std::uint64_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    if (i > 0) record.seq = in.delta(record.seq) & seq_max;
    record.nonce = in.fixed<std::uint32_t>();
    record.receive_count = static_cast<std::uint32_t>(in.varint());
    base = in.delta(base);
    record.last_received = instant(base);
    record.first_received = instant(in.delta(base));
    record.deadline = instant(in.delta(base));
    if (in.ok()) sink.receive(record);
  }
}

void read_heads(Decoder& in, std::uint16_t fields, RecordSink& sink) {
  const auto count = in.fixed<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    HeadRecord record{.reserved = (fields & heads_reserved) != 0};
    record.queue = QueueId{in.fixed<std::uint32_t>()};
    record.next_seq = in.u48();
    if (in.ok()) sink.head(record);
  }
}

void read_purge(Decoder& in, RecordSink& sink) {
  PurgeRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  record.below = in.u48();
  record.at = Instant{in.fixed<std::int64_t>()};
  if (in.done()) sink.purge(record);
}

void read_forget_transfer(Decoder& in, RecordSink& sink) {
  const ForgetTransferRecord record{read_from(in)};
  if (in.done()) sink.forget_transfer(record);
}

Result<void> read_task(Decoder& in, RecordSink& sink) {
  TaskRecord record;
  MoveTask& task = record.task;
  task.source = QueueId{in.fixed<std::uint32_t>()};
  task.number = in.fixed<std::uint32_t>();
  const auto status = in.fixed<std::uint8_t>();
  task.failure = static_cast<Errc>(in.fixed<std::uint8_t>());
  task.rate = in.fixed<std::uint32_t>();
  task.moved = in.fixed<std::uint64_t>();
  task.to_move = in.fixed<std::uint64_t>();
  task.started = Instant{in.fixed<std::int64_t>()};
  if (status > static_cast<std::uint8_t>(MoveTask::Status::failed))
    return fail(Errc::version, "task record");
  task.status = static_cast<MoveTask::Status>(status);
  task.destination = in.text<std::uint8_t>();
  const auto count = in.fixed<std::uint16_t>();
  Seq seq = 0;
  for (std::uint16_t i = 0; i < count && in.ok(); ++i) {
    seq = in.delta(seq) & seq_max;
    record.deleted.push_back(seq);
  }
  if (in.done()) sink.task(record);
  return {};
}

Result<void> read_replay(Decoder& in, std::uint16_t fields, RecordSink& sink) {
  ReplayRecord record;
  ReplayTask& task = record.task;
  task.source = QueueId{in.fixed<std::uint32_t>()};
  task.number = in.fixed<std::uint32_t>();
  task.position = in.u48();
  task.sent = in.fixed<std::uint64_t>();
  task.unreadable = in.fixed<std::uint64_t>();
  record.progress = (fields & replay_progress) != 0;
  task.copies = (fields & replay_of_copies) != 0;
  if (!record.progress) {
    const auto status = in.fixed<std::uint8_t>();
    if (status > static_cast<std::uint8_t>(ReplayTask::Status::failed))
      return fail(Errc::version, "replay record");
    task.status = static_cast<ReplayTask::Status>(status);
    task.failure = static_cast<Errc>(in.fixed<std::uint8_t>());
    task.rate = in.fixed<std::uint32_t>();
    task.from = Instant{in.fixed<std::int64_t>()};
    task.to = Instant{in.fixed<std::int64_t>()};
    task.started = Instant{in.fixed<std::int64_t>()};
    task.end = in.u48();
    task.destination = in.text<std::uint8_t>();
    task.filter = in.text<std::uint16_t>();
  }
  if (in.done()) sink.replay(record);
  return {};
}

void read_row(Decoder& in, RecordSink& sink) {
  RowRecord record;
  record.topic = QueueId{in.fixed<std::uint32_t>()};
  record.number = in.fixed<std::uint64_t>();
  record.text = in.rest();
  if (in.done()) sink.row(record);
}

Result<void> read_config(Decoder& in, RecordSink& sink) {
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{in.fixed<std::uint32_t>()};
  config->owner = ShardId{in.fixed<std::uint8_t>()};
  const auto state = in.fixed<std::uint8_t>();
  const auto numbers = in.fixed<std::uint16_t>();
  config->created = Instant{in.fixed<std::int64_t>()};
  config->modified = Instant{in.fixed<std::int64_t>()};
  if (state > config_gone || numbers > number_attributes)
    return fail(Errc::version, "config record");
  for (std::uint16_t i = 0; i < numbers; ++i) config->numbers[i] = in.fixed<std::int64_t>();
  config->account = in.text<std::uint16_t>();
  config->name = in.text<std::uint16_t>();
  const auto texts = in.fixed<std::uint16_t>();
  for (std::uint16_t i = 0; i < texts && in.ok(); ++i) {
    const auto attribute = Attribute{in.fixed<std::uint8_t>()};
    config->texts.emplace_back(attribute, in.text<std::uint32_t>());
  }
  const auto tags = in.fixed<std::uint16_t>();
  for (std::uint16_t i = 0; i < tags && in.ok(); ++i) {
    std::string key(in.text<std::uint16_t>());
    config->tags.emplace_back(std::move(key), in.text<std::uint16_t>());
  }
  if (in.done()) sink.config({std::move(config), state == config_gone});
  return {};
}

// The head of one record, with its length and hash verified.
Result<RecordHead> read_head(std::span<const std::byte> bytes, std::uint64_t stream) {
  RecordHead head;
  if (bytes.size() < sizeof head) return fail(Errc::corrupt, "record head");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.length < sizeof head || head.length > bytes.size() || head.length > record_bytes_max) {
    return fail(Errc::corrupt, "record length");
  }
  if (!MUTANT(skip_checksum) && record_hash(bytes.data(), head.length, stream) != head.hash) {
    return fail(Errc::corrupt, "record checksum");
  }
  return head;
}

// The first part of a record that is unknown to this version: kind, value and whether it is
// critical.
std::optional<UnknownPart> unknown_in(const RecordHead& head) {
  const bool may_be_ignored = (head.flags & record_ignorable) != 0;
  if ((head.flags & ~record_ignorable) != 0)
    return UnknownPart{UnknownPart::Kind::flags, head.flags, true};
  const auto type = static_cast<RecordType>(head.type);
  if (head.type == 0 || type > last_record_type)
    return UnknownPart{UnknownPart::Kind::type, head.type, !may_be_ignored};
  const unsigned known = type == RecordType::send     ? known_fields
                         : type == RecordType::heads  ? heads_reserved
                         : type == RecordType::replay ? unsigned{replay_progress} | replay_of_copies
                                                      : 0u;
  if ((head.fields & ~known) != 0)
    return UnknownPart{UnknownPart::Kind::fields, head.fields & ~known, true};
  return std::nullopt;
}

std::unexpected<Error> newer() { return fail(Errc::version, "a part that a newer version wrote"); }

Result<void> read_record(const RecordHead& head, std::span<const std::byte> body,
                         std::size_t offset, RecordSink& sink) {
  Decoder in(body);
  switch (static_cast<RecordType>(head.type)) {
    case RecordType::send: {
      const StoredMessage message = read_send(in, head.fields);
      if (in.ok() && message.unknown_extension != 0) {
        sink.unknown({UnknownPart::Kind::extension, message.unknown_extension, true});
        return newer();
      }
      if (message.passed_over != 0)
        sink.unknown({UnknownPart::Kind::extension, message.passed_over, false});
      if (in.ok()) sink.send(message, offset);
      break;
    }
    case RecordType::delete_message:
      read_deletes(in, sink);
      break;
    case RecordType::receive:
      read_receives(in, sink);
      break;
    case RecordType::purge:
      read_purge(in, sink);
      break;
    case RecordType::heads:
      read_heads(in, head.fields, sink);
      break;
    case RecordType::forget_transfer:
      read_forget_transfer(in, sink);
      break;
    case RecordType::replay:
      if (auto read = read_replay(in, head.fields, sink); !read) return read;
      break;
    case RecordType::task:
      if (auto read = read_task(in, sink); !read) return read;
      break;
    case RecordType::config:
      if (auto read = read_config(in, sink); !read) return read;
      break;
    case RecordType::row:
      read_row(in, sink);
      break;
    default:
      if (auto read = read_checkpoint_record(static_cast<RecordType>(head.type), in, sink); !read)
        return read;
  }
  if (!in.done()) return fail(Errc::corrupt, "record body");
  return {};
}

}  // namespace

// A SEND head with every possible field, and padding.
static_assert(send_fixed_bytes + 8 + 16 + 4 + 4 + 4 + sizeof(TextKey) + sizeof(MessageId) +
                  receive_state_bytes + from_bytes + extensions_bytes + 8 <=
              send_head_bytes_max);

std::size_t send_bytes(const SendRecord& record) {
  const Content& content = *record.content;
  std::size_t bytes = send_fixed_bytes + content.body.size();
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
  if (content.replayed) bytes += extensions_bytes;
  return align_record(bytes);
}

std::size_t encode_send(std::byte* out, const SendRecord& record, std::uint64_t stream) {
  const Content& content = *record.content;
  const std::uint16_t fields = fields_of(record);
  Encoder to(out);
  to.fixed(raw(record.queue));
  to.u48(record.seq);
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
    write_from(to, record.carried.from);
    to.fixed(record.carried.arrived.ms);
    to.fixed(record.carried.task);
  }
  if (fields & field_extensions) {
    to.fixed(static_cast<std::uint16_t>(extension_head_bytes));
    to.fixed(static_cast<std::uint16_t>(SendExtension::replayed));
    to.fixed(std::uint16_t{0});
  }
  to.bytes(content.body);
  return to.finish(RecordType::send, fields, stream);
}

std::size_t encode_relocated(std::byte* out, std::span<const std::byte> record,
                             std::uint64_t stream) {
  RecordHead head;
  std::memcpy(out, record.data(), record.size());
  std::memcpy(&head, out, sizeof head);
  head.fields |= field_relocated;
  std::memcpy(out, &head, sizeof head);
  head.hash = record_hash(out, head.length, stream);
  std::memcpy(out, &head, sizeof head);
  const std::size_t bytes = align_record(record.size());
  std::memset(out + record.size(), 0, bytes - record.size());
  return bytes;
}

std::size_t config_bytes(const QueueConfig& config) {
  std::size_t bytes = head_bytes + 4 + 1 + 1 + 2 + 8 + 8 + 8 * number_attributes;
  bytes += 2 + config.account.size() + 2 + config.name.size() + 2 + 2;
  for (const auto& [attribute, value] : config.texts) bytes += 1 + 4 + value.size();
  for (const auto& [key, value] : config.tags) bytes += 2 + key.size() + 2 + value.size();
  return align_record(bytes);
}

std::size_t row_bytes(std::string_view text) {
  return align_record(head_bytes + 4 + 8 + text.size());
}

std::size_t encode_row(std::byte* out, QueueId topic, std::uint64_t number, std::string_view text,
                       std::uint64_t stream) {
  Encoder to(out);
  to.fixed(raw(topic));
  to.fixed(number);
  to.bytes(text);
  return to.finish(RecordType::row, 0, stream);
}

std::size_t encode_config(std::byte* out, const ConfigRecord& record, std::uint64_t stream) {
  const QueueConfig& config = *record.config;
  CHECK(std::in_range<std::uint16_t>(config.texts.size()) &&
        std::in_range<std::uint16_t>(config.tags.size()));
  Encoder to(out);
  to.fixed(raw(config.id));
  to.fixed(static_cast<std::uint8_t>(raw(config.owner)));
  to.fixed(record.gone ? config_gone : std::uint8_t{0});
  to.fixed(static_cast<std::uint16_t>(number_attributes));
  to.fixed(config.created.ms);
  to.fixed(config.modified.ms);
  for (const std::int64_t number : config.numbers) to.fixed(number);
  to.text<std::uint16_t>(config.account);
  to.text<std::uint16_t>(config.name);
  to.fixed(static_cast<std::uint16_t>(config.texts.size()));
  for (const auto& [attribute, value] : config.texts) {
    to.fixed(static_cast<std::uint8_t>(attribute));
    to.text<std::uint32_t>(value);
  }
  to.fixed(static_cast<std::uint16_t>(config.tags.size()));
  for (const auto& [key, value] : config.tags) {
    to.text<std::uint16_t>(key);
    to.text<std::uint16_t>(value);
  }
  return to.finish(RecordType::config, 0, stream);
}

std::size_t encode_purge(std::byte* out, const PurgeRecord& record, std::uint64_t stream) {
  Encoder to(out);
  to.fixed(raw(record.queue));
  to.u48(record.below);
  to.fixed(record.at.ms);
  return to.finish(RecordType::purge, 0, stream);
}

std::size_t encode_forget_transfer(std::byte* out, const ForgetTransferRecord& record,
                                   std::uint64_t stream) {
  Encoder to(out);
  write_from(to, record.from);
  return to.finish(RecordType::forget_transfer, 0, stream);
}

std::size_t replay_bytes(const ReplayRecord& record) {
  const std::size_t progress = head_bytes + 4 + 4 + 6 + 8 + 8;
  const std::size_t texts = 1 + record.task.destination.size() + 2 + record.task.filter.size();
  return align_record(record.progress ? progress : progress + 1 + 1 + 4 + 8 + 8 + 8 + 6 + texts);
}

std::size_t encode_replay(std::byte* out, const ReplayRecord& record, std::uint64_t stream) {
  const ReplayTask& task = record.task;
  Encoder to(out);
  to.fixed(raw(task.source));
  to.fixed(task.number);
  to.u48(log_pos(task.position));
  to.fixed(task.sent);
  to.fixed(task.unreadable);
  const std::uint16_t copies = task.copies ? replay_of_copies : 0;
  if (record.progress) return to.finish(RecordType::replay, replay_progress | copies, stream);
  to.fixed(static_cast<std::uint8_t>(task.status));
  to.fixed(static_cast<std::uint8_t>(task.failure));
  to.fixed(task.rate);
  to.fixed(task.from.ms);
  to.fixed(task.to.ms);
  to.fixed(task.started.ms);
  to.u48(log_pos(task.end));
  to.text<std::uint8_t>(task.destination);
  to.text<std::uint16_t>(task.filter);
  return to.finish(RecordType::replay, copies, stream);
}

std::size_t task_bytes_max(const MoveTask& task, std::size_t deleted) {
  return align_record(head_bytes + 4 + 4 + 1 + 1 + 4 + 8 + 8 + 8 + 1 + task.destination.size() + 2 +
                      deleted * varint_bytes_max);
}

std::size_t encode_task(std::byte* out, const MoveTask& task, std::span<const Seq> deleted,
                        std::uint64_t stream) {
  CHECK(deleted.size() <= batch_max, "{}", deleted.size());
  Encoder to(out);
  to.fixed(raw(task.source));
  to.fixed(task.number);
  to.fixed(static_cast<std::uint8_t>(task.status));
  to.fixed(static_cast<std::uint8_t>(task.failure));
  to.fixed(task.rate);
  to.fixed(task.moved);
  to.fixed(task.to_move);
  to.fixed(task.started.ms);
  to.text<std::uint8_t>(task.destination);
  to.fixed(static_cast<std::uint16_t>(deleted.size()));
  Seq before = 0;
  for (const Seq seq : deleted) to.delta(seq, std::exchange(before, seq));
  return to.finish(RecordType::task, 0, stream);
}

std::size_t deletes_bytes_max(std::size_t entries) {
  return align_record(head_bytes + 4 + 4 + 6 + entries * varint_bytes_max);
}

std::size_t encode_deletes(std::byte* out, std::span<const DeleteRecord> run,
                           std::uint64_t stream) {
  CHECK(!run.empty() && run.size() <= batch_max, "{}", run.size());
  Encoder to(out);
  to.fixed(raw(run.front().queue));
  to.fixed(static_cast<std::uint32_t>(run.size()));
  to.u48(run.front().seq);
  for (std::size_t i = 1; i < run.size(); ++i) to.delta(run[i].seq, run[i - 1].seq);
  return to.finish(RecordType::delete_message, 0, stream);
}

std::size_t receives_bytes_max(std::size_t entries) {
  return align_record(head_bytes + 4 + 4 + 6 + 8 + entries * (4 + 5 * varint_bytes_max));
}

std::size_t encode_receives(std::byte* out, std::span<const ReceiveRecord> run,
                            std::uint64_t stream) {
  CHECK(!run.empty() && run.size() <= batch_max, "{}", run.size());
  // The times of a batch lie close together, so each is stored as its distance from the last
  // receive.
  std::uint64_t base = bits(run.front().last_received);
  Encoder to(out);
  to.fixed(raw(run.front().queue));
  to.fixed(static_cast<std::uint32_t>(run.size()));
  to.u48(run.front().seq);
  to.fixed(base);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const ReceiveRecord& record = run[i];
    if (i > 0) to.delta(record.seq, run[i - 1].seq);
    to.fixed(record.nonce);
    to.varint(record.receive_count);
    to.delta(bits(record.last_received), base);
    base = bits(record.last_received);
    to.delta(bits(record.first_received), base);
    to.delta(bits(record.deadline), base);
  }
  return to.finish(RecordType::receive, 0, stream);
}

std::size_t heads_bytes_max(std::size_t entries) {
  return align_record(head_bytes + 4 + entries * (4 + 6));
}

std::size_t encode_heads(std::byte* out, std::span<const HeadRecord> run, std::uint64_t stream) {
  CHECK(!run.empty() && run.size() <= batch_max, "{}", run.size());
  const bool reserved = run.front().reserved;
  Encoder to(out);
  to.fixed(static_cast<std::uint32_t>(run.size()));
  for (const HeadRecord& record : run) {
    CHECK(record.reserved == reserved);
    to.fixed(raw(record.queue));
    to.u48(record.next_seq);
  }
  return to.finish(RecordType::heads, reserved ? heads_reserved : std::uint16_t{0}, stream);
}

Result<void> decode_records(std::span<const std::byte> bytes, std::uint32_t count,
                            std::uint64_t stream, RecordSink& sink) {
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto rest = bytes.subspan(at);
    const auto head = read_head(rest, stream);
    if (!head) return std::unexpected(head.error());
    const auto body = rest.subspan(head_bytes, head->length - head_bytes);
    if (const auto unknown = unknown_in(*head)) {
      sink.unknown(*unknown);
      if (unknown->critical) return newer();
    } else if (auto read = read_record(*head, body, at, sink); !read) {
      return read;
    }
    at = std::min(at + align_record(head->length), bytes.size());
  }
  if (at != bytes.size()) return fail(Errc::corrupt, "bytes after the last record");
  return {};
}

Result<StoredMessage> decode_send(std::span<const std::byte> bytes, std::uint64_t stream) {
  const auto head = read_head(bytes, stream);
  if (!head) return std::unexpected(head.error());
  if (head->type != static_cast<std::uint8_t>(RecordType::send))
    return fail(Errc::corrupt, "not a SEND");
  if (unknown_in(*head)) return newer();
  Decoder in(bytes.subspan(head_bytes, head->length - head_bytes));
  const StoredMessage message = read_send(in, head->fields);
  if (!in.done()) return fail(Errc::corrupt, "record body");
  if (message.unknown_extension != 0) return newer();
  return message;
}

std::string_view name_of(UnknownPart::Kind kind) {
  switch (kind) {
    case UnknownPart::Kind::type:
      return "record type";
    case UnknownPart::Kind::flags:
      return "record flags";
    case UnknownPart::Kind::fields:
      return "record fields";
    case UnknownPart::Kind::extension:
      return "extension";
  }
  return "part";
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
  CHECK(in.done());
  return message;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/format/records.h"

#include <algorithm>

#include "wal/format/checkpoint_records.h"
#include "wal/format/fan_out_record.h"
#include "wal/format/record_codec.h"

namespace pawl {
namespace {

Result<void> tell_unknown(const Decoder& in, const StoredMessage& message, RecordSink& sink) {
  if (in.ok() && message.unknown_extension != 0) {
    sink.unknown({UnknownPart::Kind::extension, message.unknown_extension, true});
    return newer_version();
  }
  if (message.passed_over != 0)
    sink.unknown({UnknownPart::Kind::extension, message.passed_over, false});
  return {};
}

Result<void> read_fan_out(Decoder& in, std::uint16_t fields, std::size_t offset, RecordSink& sink) {
  const FanOut shared = FanOut::read(in, fields);
  if (auto told = tell_unknown(in, shared.common(), sink); !told) return told;
  for (std::size_t i = 0; in.ok() && i < shared.size(); ++i) sink.send(shared.message(i), offset);
  return {};
}

Result<void> read_record(const RecordHead& head, std::span<const std::byte> body,
                         std::size_t offset, RecordSink& sink) {
  Decoder in(body);
  switch (static_cast<RecordType>(head.type)) {
    case RecordType::send: {
      const StoredMessage message = read_send(in, head.fields);
      if (auto told = tell_unknown(in, message, sink); !told) return told;
      if (in.ok()) sink.send(message, offset);
      break;
    }
    case RecordType::fan_out:
      if (auto read = read_fan_out(in, head.fields, offset, sink); !read) return read;
      break;
    case RecordType::delete_message:
      read_deletes(in, sink);
      break;
    case RecordType::receive:
      read_receives(in, head.fields, sink);
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
    case RecordType::number:
      read_number(in, sink);
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
      if (auto read =
              read_checkpoint_record(static_cast<RecordType>(head.type), head.fields, in, sink);
          !read)
        return read;
  }
  if (!in.done()) return fail(Errc::corrupt, "record body");
  return {};
}

}  // namespace

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
      if (unknown->critical) return newer_version();
    } else if (auto read = read_record(*head, body, at, sink); !read) {
      return read;
    }
    at = std::min(at + align_record(head->length), bytes.size());
  }
  if (at != bytes.size()) return fail(Errc::corrupt, "bytes after the last record");
  return {};
}

}  // namespace pawl

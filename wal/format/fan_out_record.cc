// SPDX-License-Identifier: Apache-2.0
#include "wal/format/fan_out_record.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/base/check.h"
#include "wal/format/record_codec.h"
#include "wal/format/send_record.h"

namespace pawl {
namespace {

constexpr std::size_t list_head_bytes = 4 + 1;  // count, layout
constexpr std::uint8_t whole_layout =
    FanOut::has_delay | FanOut::has_dedup | FanOut::has_subscription;
constexpr std::size_t entry_bytes_max = FanOut::entry_bytes(whole_layout);

// The part that the messages of a run share; the entries have the rest.
SendRecord common_of(const SendRecord& first) {
  return {
      .sent = first.sent, .deliver_at = first.sent, .content = first.content, .fire = first.fire};
}

// The most messages that may share the content in one record of `bytes_max`.
std::size_t messages_max(const SendRecord& first, std::size_t bytes_max) {
  const std::size_t shared = head_bytes + list_head_bytes +
                             parts_bytes(common_of(first), !first.content->notification.empty()) +
                             sizeof(std::uint64_t);
  if (shared >= bytes_max) return 1;
  const std::size_t entries = std::max(first.content->bytes(), FanOut::entries_bytes_min);
  return std::max<std::size_t>(1, std::min(entries, bytes_max - shared) / entry_bytes_max);
}

bool may_share(const SendRecord& record) {
  return record.carried.from.seq == 0 && record.producer.id == 0 && !record.relocated &&
         !record.aged_apart && !record.own_delay && record.time_to_live.ms == 0;
}

std::uint8_t layout_of(std::span<const SendRecord> run) {
  unsigned layout = 0;
  for (const SendRecord& record : run) {
    if (record.deliver_at != record.sent) layout |= FanOut::has_delay;
    if (record.dedup != TextKey{}) layout |= FanOut::has_dedup;
    if (record.subscription != MessageId{}) layout |= FanOut::has_subscription;
  }
  return static_cast<std::uint8_t>(layout);
}

}  // namespace

std::size_t sharing(std::span<const SendRecord> sends, std::size_t bytes_max) {
  const SendRecord& first = sends.front();
  if (!may_share(first)) return 1;
  const std::size_t max = std::min(sends.size(), messages_max(first, bytes_max));
  std::size_t n = 1;
  while (n < max && sends[n].content == first.content && sends[n].sent == first.sent &&
         sends[n].fire == first.fire && sends[n].queue > sends[n - 1].queue && may_share(sends[n]))
    ++n;
  return n;
}

std::size_t fan_out_bytes(std::span<const SendRecord> run) {
  const std::uint8_t layout = layout_of(run);
  return align_record(
      head_bytes + list_head_bytes + run.size() * FanOut::entry_bytes(layout) +
      parts_bytes(common_of(run.front()), (layout & FanOut::has_subscription) != 0));
}

std::size_t encode_fan_out(std::byte* out, std::span<const SendRecord> run, std::uint64_t stream) {
  CHECK(run.size() > 1, "{} messages", run.size());
  const std::uint8_t layout = layout_of(run);
  const bool in_envelope = (layout & FanOut::has_subscription) != 0;
  Encoder to(out);
  to.fixed(static_cast<std::uint32_t>(run.size()));
  to.fixed(layout);
  for (const SendRecord& record : run) {
    to.fixed(raw(record.queue));
    to.u48(record.seq);
    if (layout & FanOut::has_delay)
      to.fixed(static_cast<std::uint32_t>(record.deliver_at.ms - record.sent.ms));
    if (layout & FanOut::has_dedup) to.fixed(record.dedup);
    if (layout & FanOut::has_subscription) to.fixed(record.subscription);
  }
  const SendRecord common = common_of(run.front());
  const std::uint16_t fields = fields_of(common, in_envelope);
  CHECK((fields & ~shared_fields) == 0, "fields {}", fields);
  write_parts(to, common, fields, in_envelope);
  return to.finish(RecordType::fan_out, fields, stream);
}

std::uint64_t fan_out_bytes_max(const Content& content, std::size_t queues, std::size_t bytes_max) {
  const std::size_t a_record = messages_max({.content = &content}, bytes_max);
  const std::size_t records = (queues + a_record - 1) / a_record;
  return records * (content.bytes() + send_head_bytes_max) + queues * entry_bytes_max;
}

void FanOut::parse(Decoder& in, std::uint16_t fields) {
  const auto count = in.fixed<std::uint32_t>();
  layout_ = in.fixed<std::uint8_t>();
  if (count == 0 || (layout_ & ~whole_layout) != 0) in.fail();
  entries_ = in.take(std::size_t{count} * entry_bytes(layout_));
  read_parts(in, fields, common_);
}

FanOut FanOut::read(Decoder& in, std::uint16_t fields) {
  FanOut shared;
  shared.parse(in, fields);
  const bool in_envelope = !shared.common_.content.notification.empty();
  if (shared.common_.producer.id != 0 || shared.common_.aged_apart || shared.common_.own_delay ||
      shared.common_.time_to_live.ms != 0 || shared.common_.content.subscription != MessageId{} ||
      in_envelope != ((shared.layout_ & has_subscription) != 0))
    in.fail();
  for (std::size_t i = 1; in.ok() && i < shared.size(); ++i)
    if (shared.queue(i) <= shared.queue(i - 1)) in.fail();
  return shared;
}

FanOut FanOut::trusted(const std::byte* record) {
  RecordHead head;
  std::memcpy(&head, record, sizeof head);
  CHECK(head.type == static_cast<std::uint8_t>(RecordType::fan_out), "type {}", head.type);
  CHECK(head.length > head_bytes + list_head_bytes && head.length <= record_bytes_max, "length {}",
        head.length);
  Decoder in({record + head_bytes, head.length - head_bytes});
  FanOut shared;
  shared.parse(in, head.fields);
  CHECK(in.done(), "a FAN_OUT of {} bytes ends too early", head.length);
  return shared;
}

QueueId FanOut::queue(std::size_t i) const {
  std::uint32_t id = 0;
  std::memcpy(&id, entries_.data() + i * entry_bytes(layout_), sizeof id);
  return QueueId{id};
}

StoredMessage FanOut::message(std::size_t i) const {
  const std::size_t bytes = entry_bytes(layout_);
  CHECK(i < size(), "message {} of {}", i, size());
  Decoder in(entries_.subspan(i * bytes, bytes));
  StoredMessage message = common_;
  message.shares = i > 0;
  message.queue = QueueId{in.fixed<std::uint32_t>()};
  message.seq = in.u48();
  if (layout_ & has_delay) message.deliver_at.ms += in.fixed<std::uint32_t>();
  if (layout_ & has_dedup) {
    message.dedup.high = in.fixed<std::uint64_t>();
    message.dedup.low = in.fixed<std::uint64_t>();
  }
  if (layout_ & has_subscription) {
    message.content.subscription.high = in.fixed<std::uint64_t>();
    message.content.subscription.low = in.fixed<std::uint64_t>();
  }
  if (message.content.subscription == MessageId{}) message.content.notification = {};
  return message;
}

std::optional<std::size_t> FanOut::find(QueueId wanted) const {
  std::size_t first = 0;
  for (std::size_t left = size(); left > 0;) {
    const std::size_t half = left / 2;
    if (queue(first + half) < wanted) {
      first += half + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  if (first == size() || queue(first) != wanted) return std::nullopt;
  return first;
}

std::size_t FanOut::encode_relocated(std::byte* out, std::span<const std::byte> record,
                                     std::span<const std::size_t> kept,
                                     std::uint64_t stream) const {
  RecordHead head;
  CHECK(!kept.empty(), "no message is left");
  std::memcpy(&head, record.data(), sizeof head);
  const auto text = [](std::span<const std::byte> bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const std::size_t bytes = entry_bytes(layout_);
  Encoder to(out);
  to.fixed(static_cast<std::uint32_t>(kept.size()));
  to.fixed(layout_);
  for (const std::size_t i : kept) {
    CHECK(i < size(), "message {} of {}", i, size());
    to.bytes(text(entries_.subspan(i * bytes, bytes)));
  }
  to.bytes(text(record.subspan(head_bytes + list_head_bytes + entries_.size())));
  return to.finish(RecordType::fan_out, static_cast<std::uint16_t>(head.fields | field_relocated),
                   stream);
}

bool is_whole_message(std::span<const std::byte> bytes, std::uint64_t stream) {
  const auto head = read_head(bytes, stream);
  if (!head || unknown_in(*head)) return false;
  if (head->type != static_cast<std::uint8_t>(RecordType::fan_out))
    return decode_send(bytes, stream).has_value();
  Decoder in(bytes.subspan(head_bytes, head->length - head_bytes));
  const FanOut shared = FanOut::read(in, head->fields);
  return in.done() && shared.common().unknown_extension == 0;
}

StoredMessage trusted_message(const std::byte* record, QueueId queue) {
  if (static_cast<std::uint8_t>(*record) == static_cast<std::uint8_t>(RecordType::send))
    return trusted_send(record);
  const FanOut shared = FanOut::trusted(record);
  const auto place = shared.find(queue);
  return place ? shared.message(*place) : StoredMessage{};
}

}  // namespace pawl

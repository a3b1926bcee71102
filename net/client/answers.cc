// SPDX-License-Identifier: Apache-2.0
#include "net/client/answers.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

#include "core/base/check.h"
#include "core/base/format.h"
#include "core/queue/request.h"
#include "proto/binary/frames.h"
#include "proto/binary/payloads.h"

namespace pawl::client {
namespace {

using Millis = std::chrono::milliseconds;  // core has a milliseconds() of its own

constexpr std::uint8_t kind_text = 1;
constexpr std::uint8_t kind_bytes = 2;

// The bytes of the attributes in their encoding. No value: a text is too long for it.
std::optional<std::size_t> encoded_size(std::span<const Client::Attribute> attributes) {
  std::size_t size = 0;
  for (const auto& [name, type, value] : attributes) {
    if (name.size() > UINT16_MAX || type.size() > UINT8_MAX || value.size() > frame_bytes_max)
      return std::nullopt;
    size += 2 + name.size() + 1 + type.size() + 1 + 4 + value.size();
  }
  return size;
}

// Appends attributes in the order of the wire, by name. The server checks their texts against SQS's
// rules.
void put_attributes(std::string& out, std::span<const Client::Attribute> attributes) {
  CHECK(attributes.size() <= attributes_max, "{} attributes", attributes.size());
  std::array<std::uint8_t, attributes_max> order{};
  const auto used = std::span(order).first(attributes.size());
  std::iota(used.begin(), used.end(), std::uint8_t{0});
  std::ranges::sort(used, {}, [&](std::uint8_t i) { return attributes[i].name; });
  for (const std::uint8_t i : used) {
    const auto& [name, type, value] = attributes[i];
    put_short(out, name);
    put(out, static_cast<std::uint8_t>(type.size()));
    out.append(type);
    put(out, type.starts_with("Binary") ? kind_bytes : kind_text);
    put_long(out, value);
  }
}

void put_time_to_live(std::string& out, Millis time) {
  const std::string value = format_text("{}ms", time.count());
  const Client::Attribute attribute[] = {
      {time_to_live_attribute, "String", value}
  };
  put_attributes(out, attribute);
}

void set_counts(Client::Counts& counts, const payload::Counts& from) {
  counts.visible = from.visible;
  counts.in_flight = from.in_flight;
  counts.delayed = from.delayed;
}

}  // namespace

std::uint32_t wire_ms(const std::optional<Millis>& duration) {
  if (!duration) return binary_queue_default;
  // A value out of range stays out of range: the server refuses it.
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(duration->count(), 0, binary_queue_default - 1));
}

std::string random_text(unsigned words) {
  std::random_device device;
  std::string out;
  for (; words > 0; --words)
    append_format(out, "{}",
                  {
                      Hex{device(), 8}
    });
  return out;
}

Client::Code put_message(std::string& out, const Client::Outgoing& message,
                         const Client::SendOptions& options) {
  if (message.body.size() > entry_body_mask) return Client::Code::too_large;
  if (message.attributes.size() > attributes_max) return Client::Code::bad_attributes;
  if (message.group.size() > UINT8_MAX || message.deduplication_id.size() > UINT8_MAX)
    return Client::Code::invalid;
  const std::optional<std::size_t> attribute_bytes = encoded_size(message.attributes);
  if (!attribute_bytes) return Client::Code::bad_attributes;
  std::string system;
  if (options.time_to_live) put_time_to_live(system, *options.time_to_live);
  const payload::MessageTexts texts{.body = message.body,
                                    .system = system,
                                    .group = message.group,
                                    .dedup_id = message.deduplication_id};
  payload::put_message(out, texts, wire_ms(message.delay), *attribute_bytes,
                       [&] { put_attributes(out, message.attributes); });
  return Client::Code::ok;
}

void put_receive(std::string& out, const Client::ReceiveOptions& options) {
  put_struct(out, payload::Receive{.max = options.max,
                                   .wait_ms = wire_ms(options.wait),
                                   .visibility_ms = wire_ms(options.visibility),
                                   .bytes_max = options.bytes_max});
}

void put_subscribe(std::string& out, const Client::SubscribeOptions& options) {
  put_struct(out, payload::Subscribe{.credit = options.credit,
                                     .visibility_ms = wire_ms(options.visibility),
                                     .bytes_max = options.bytes_max});
}

void put_receipts(std::string& out, std::span<const Client::Receipt> receipts,
                  std::optional<Millis> visibility) {
  CHECK(receipts.size() <= entries_max, "{} receipts", receipts.size());
  put_count<payload::Deletion>(out, receipts.size());
  for (const Client::Receipt& receipt : receipts) {
    if (visibility) {
      put_struct(out, payload::Change{receipt, wire_ms(visibility)});
    } else {
      put_struct(out, payload::Deletion{receipt});
    }
  }
}

Client::Code put_queue_attributes(std::string& out,
                                  std::span<const Client::QueueAttribute> attributes) {
  if (attributes.size() > UINT16_MAX) return Client::Code::too_large;
  put_count<payload::QueueAttribute>(out, attributes.size());
  for (const auto& [name, value] : attributes) {
    if (name.size() > UINT16_MAX || value.size() > frame_bytes_max) return Client::Code::too_large;
    put_struct(out, payload::QueueAttribute{name, {value}});
  }
  return Client::Code::ok;
}

bool take_server(std::string_view payload, Client::Server& server, std::uint32_t& features,
                 std::string_view& challenge) {
  BinaryReader in(payload);
  const auto response = take_struct<payload::HelloResponse>(in);
  features = response.features;
  server.credit_frames = response.credit_frames;
  server.credit_bytes = response.credit_bytes;
  server.boot_id = response.boot_id;
  server.shard = response.shard;
  server.shards = response.shards;
  take_rows<payload::ShardPort>(
      in, [&](const payload::ShardPort& row) { server.shard_ports.push_back(row.port); });
  if (response.minor >= 1) challenge = take_struct<payload::Challenge>(in).bytes;
  return in.ok() && response.major == binary_major;  // a later minor version may append fields
}

bool take_queue(std::string_view payload, Client::Queue& queue) {
  BinaryReader in(payload);
  const auto summary = take_struct<payload::QueueSummary>(in);
  queue.id = summary.id;
  queue.shard = summary.shard;
  queue.maximum_message_size = summary.maximum_message_size;
  queue.visibility = Millis(summary.visibility);
  queue.delay = Millis(summary.delay);
  queue.wait = Millis(summary.wait);
  queue.retention = Millis(summary.retention);
  return in.finished();
}

bool take_counts(std::string_view payload, Client::Counts& counts) {
  BinaryReader in(payload);
  set_counts(counts, take_struct<payload::Counts>(in));
  if (!in.finished()) counts.state_bytes = take_struct<payload::StateBytes>(in).bytes;
  return in.finished();
}

bool take_description(std::string_view payload, Client::QueueDescription& description) {
  BinaryReader in(payload);
  set_counts(description.counts, take_struct<payload::Counts>(in));
  const auto times = take_struct<payload::QueueTimes>(in);
  description.created = times.created;
  description.modified = times.modified;
  take_rows<payload::QueueAttribute>(in, [&](const payload::QueueAttribute& row) {
    description.attributes.emplace_back(row.name, row.value.text);
  });
  return in.finished();
}

bool take_names(std::string_view payload, Client::QueueList& list) {
  BinaryReader in(payload);
  list.more = take_struct<payload::NamesResponse>(in).more != 0;
  take_rows<payload::Name>(in,
                           [&](const payload::Name& row) { list.names.emplace_back(row.text); });
  return in.finished();
}

bool take_tags(std::string_view payload, Client::Tags& tags) {
  BinaryReader in(payload);
  take_rows<payload::Tag>(in,
                          [&](const payload::Tag& row) { tags.emplace_back(row.key, row.value); });
  return in.finished();
}

bool take_moves(std::string_view payload, std::vector<Client::Move>& moves) {
  BinaryReader in(payload);
  take_rows<payload::Move>(in, [&](const payload::Move& row) {
    Client::Move& move = moves.emplace_back();
    move.number = row.number;
    move.state = static_cast<Client::Move::State>(row.state);
    move.failure = static_cast<Client::Code>(row.failure);
    move.rate = row.rate;
    move.moved = row.moved;
    move.to_move = row.to_move;
    move.started = row.started;
    move.destination = row.destination;
  });
  return in.finished();
}

bool take_replays(std::string_view payload, std::vector<Client::Replay>& replays) {
  BinaryReader in(payload);
  take_rows<payload::Replay>(in, [&](const payload::Replay& row) {
    Client::Replay& replay = replays.emplace_back();
    replay.number = row.number;
    replay.state = static_cast<Client::Replay::State>(row.state);
    replay.failure = static_cast<Client::Code>(row.failure);
    replay.rate = row.rate;
    replay.from = row.from;
    replay.to = row.to;
    replay.started = row.started;
    replay.sent = row.sent;
    replay.unreadable = row.unreadable;
    replay.destination = row.destination;
    replay.filter = row.filter;
  });
  return in.finished();
}

bool take_sent(std::string_view payload, std::vector<Client::Sent>& sent) {
  BinaryReader in(payload);
  take_rows<payload::Sent>(in, [&](const payload::Sent& row) {
    Client::Sent& entry = sent.emplace_back();
    entry.code = static_cast<Client::Code>(row.status);
    entry.sequence = row.sequence;
    entry.id = row.id;
  });
  return in.finished();
}

bool take_messages(std::string_view payload, std::vector<Client::MessageView>& messages) {
  BinaryReader in(payload);
  take_rows<payload::Delivery>(in, [&](const payload::Delivery& row) {
    const payload::MessageTexts texts =
        payload::take_texts(in, payload::take_lengths(in, row.head));
    Client::MessageView& message = messages.emplace_back();
    message.receipt = row.receipt;
    message.id = row.id;
    message.sequence = row.sequence;
    message.sent = row.sent;
    message.first_received = row.first_received;
    message.receive_count = row.receive_count;
    message.body = texts.body;
    message.encoded_attributes = texts.attributes;
    message.encoded_system = texts.system;
    message.group = texts.group;
    message.deduplication_id = texts.dedup_id;
    message.origin = texts.origin;
    message.dead_letter_reason = Client::DeadLetterReason{texts.reason};
  });
  return in.finished();
}

bool take_cancelled(std::string_view payload, std::vector<Client::Cancelled>& outcomes) {
  BinaryReader in(payload);
  take_rows<payload::Cancelled>(in, [&](const payload::Cancelled& row) {
    outcomes.push_back({static_cast<Client::Code>(row.status), row.cancelled != 0});
  });
  return in.finished();
}

bool take_codes(std::string_view payload, std::vector<Client::Code>& codes) {
  BinaryReader in(payload);
  take_rows<payload::EntryStatus>(in, [&](const payload::EntryStatus& row) {
    codes.push_back(static_cast<Client::Code>(row.status));
  });
  return in.finished();
}

}  // namespace pawl::client

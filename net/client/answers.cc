// SPDX-License-Identifier: Apache-2.0
#include "net/client/answers.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "core/base/check.h"
#include "core/base/format.h"
#include "core/queue/request.h"
#include "proto/binary/frames.h"

namespace pawl::client {
namespace {

using Millis = std::chrono::milliseconds;  // core has a milliseconds() of its own

constexpr std::uint8_t kind_text = 1;
constexpr std::uint8_t kind_bytes = 2;

template <std::size_t Size>
std::array<std::uint8_t, Size> take_array(BinaryReader& in) {
  std::array<std::uint8_t, Size> bytes{};
  const std::string_view taken = in.take_bytes(Size);
  std::ranges::copy(taken, bytes.begin());
  return bytes;
}

// Appends attributes in the order of the wire, by name. The server checks their texts against SQS's
// rules.
bool put_attributes(std::string& out, std::span<const Client::Attribute> attributes) {
  CHECK(attributes.size() <= attributes_max, "{} attributes", attributes.size());
  std::array<std::uint8_t, attributes_max> order{};
  const auto used = std::span(order).first(attributes.size());
  std::iota(used.begin(), used.end(), std::uint8_t{0});
  std::ranges::sort(used, {}, [&](std::uint8_t i) { return attributes[i].name; });
  for (const std::uint8_t i : used) {
    const auto& [name, type, value] = attributes[i];
    if (name.size() > UINT16_MAX || type.size() > UINT8_MAX || value.size() > frame_bytes_max)
      return false;
    put_short(out, name);
    put(out, static_cast<std::uint8_t>(type.size()));
    out.append(type);
    put(out, type.starts_with("Binary") ? kind_bytes : kind_text);
    put_long(out, value);
  }
  return true;
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

Client::Code put_message(std::string& out, const Client::Outgoing& message) {
  if (message.body.size() > entry_body_mask) return Client::Code::too_large;
  if (message.attributes.size() > attributes_max) return Client::Code::bad_attributes;
  std::uint32_t head = static_cast<std::uint32_t>(message.body.size());
  if (!message.attributes.empty()) head |= entry_has_attributes;
  if (message.delay) head |= entry_has_delay;
  const bool names = !message.group.empty() || !message.deduplication_id.empty();
  if (names) head |= entry_has_names;
  if (message.group.size() > UINT8_MAX || message.deduplication_id.size() > UINT8_MAX)
    return Client::Code::invalid;
  put(out, head);
  const std::size_t length_at = out.size();
  if (!message.attributes.empty()) put(out, std::uint32_t{0});
  if (message.delay) put(out, wire_ms(message.delay));
  if (names) {
    put(out,
        static_cast<std::uint32_t>(message.group.size() | message.deduplication_id.size() << 8));
  }
  out.append(message.body);
  if (!message.attributes.empty()) {
    const std::size_t begin = out.size();
    if (!put_attributes(out, message.attributes)) return Client::Code::bad_attributes;
    const auto length = static_cast<std::uint32_t>(out.size() - begin);
    std::memcpy(out.data() + length_at, &length, sizeof length);
  }
  out.append(message.group).append(message.deduplication_id);
  return Client::Code::ok;
}

void put_receive(std::string& out, const Client::ReceiveOptions& options) {
  put(out, options.max);
  put(out, wire_ms(options.wait));
  put(out, wire_ms(options.visibility));
  put(out, options.bytes_max);
}

void put_subscribe(std::string& out, const Client::SubscribeOptions& options) {
  put(out, options.credit);
  put(out, wire_ms(options.visibility));
  put(out, options.bytes_max);
}

void put_receipts(std::string& out, std::span<const Client::Receipt> receipts,
                  std::optional<Millis> visibility) {
  CHECK(receipts.size() <= entries_max, "{} receipts", receipts.size());
  put(out, static_cast<std::uint32_t>(receipts.size()));
  for (const Client::Receipt& receipt : receipts) {
    out.append(reinterpret_cast<const char*>(receipt.data()), receipt.size());
    if (visibility) put(out, wire_ms(visibility));
  }
}

Client::Code put_queue_attributes(std::string& out,
                                  std::span<const Client::QueueAttribute> attributes) {
  if (attributes.size() > UINT16_MAX) return Client::Code::too_large;
  put(out, static_cast<std::uint16_t>(attributes.size()));
  for (const auto& [name, value] : attributes) {
    if (name.size() > UINT16_MAX || value.size() > frame_bytes_max) return Client::Code::too_large;
    put_short(out, name);
    put_long(out, value);
  }
  return Client::Code::ok;
}

bool take_server(std::string_view payload, Client::Server& server, std::uint32_t& features,
                 std::string_view& challenge) {
  BinaryReader in(payload);
  const auto major = in.take<std::uint16_t>();
  const auto minor = in.take<std::uint16_t>();
  features = in.take<std::uint32_t>();
  in.take<std::uint32_t>();  // longest frame: the protocol's limit
  server.credit_frames = in.take<std::uint32_t>();
  server.credit_bytes = in.take<std::uint32_t>();
  in.take<std::uint32_t>();  // most entries: the protocol's limit
  server.boot_id = in.take<std::uint64_t>();
  server.shard = in.take<std::uint32_t>();
  server.shards = in.take<std::uint32_t>();
  const auto ports = in.take<std::uint16_t>();
  for (std::uint32_t i = 0; i < ports && in.ok(); ++i)
    server.shard_ports.push_back(in.take<std::uint16_t>());
  if (minor >= 1) challenge = in.take_short();
  return in.ok() && major == binary_major;  // a later minor version may append fields
}

bool take_queue(std::string_view payload, Client::Queue& queue) {
  BinaryReader in(payload);
  queue.id = in.take<std::uint32_t>();
  queue.shard = in.take<std::uint32_t>();
  queue.maximum_message_size = in.take<std::uint32_t>();
  queue.visibility = Millis(in.take<std::uint32_t>());
  queue.delay = Millis(in.take<std::uint32_t>());
  queue.wait = Millis(in.take<std::uint32_t>());
  queue.retention = Millis(in.take<std::uint32_t>());
  return in.finished();
}

bool take_counts(std::string_view payload, Client::Counts& counts) {
  BinaryReader in(payload);
  counts.visible = in.take<std::uint64_t>();
  counts.in_flight = in.take<std::uint64_t>();
  counts.delayed = in.take<std::uint64_t>();
  if (!in.finished()) counts.state_bytes = in.take<std::uint64_t>();  // since 1.2
  return in.finished();
}

bool take_description(std::string_view payload, Client::QueueDescription& description) {
  BinaryReader in(payload);
  description.counts.visible = in.take<std::uint64_t>();
  description.counts.in_flight = in.take<std::uint64_t>();
  description.counts.delayed = in.take<std::uint64_t>();
  description.created = in.take<std::int64_t>();
  description.modified = in.take<std::int64_t>();
  const auto count = in.take<std::uint16_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const std::string_view name = in.take_short();
    description.attributes.emplace_back(name, in.take_long());
  }
  return in.finished();
}

bool take_names(std::string_view payload, Client::QueueList& list) {
  BinaryReader in(payload);
  list.more = in.take<std::uint8_t>() != 0;
  const auto count = in.take<std::uint16_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) list.names.emplace_back(in.take_short());
  return in.finished();
}

bool take_tags(std::string_view payload, Client::Tags& tags) {
  BinaryReader in(payload);
  const auto count = in.take<std::uint16_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const std::string_view key = in.take_short();
    tags.emplace_back(key, in.take_short());
  }
  return in.finished();
}

bool take_moves(std::string_view payload, std::vector<Client::Move>& moves) {
  BinaryReader in(payload);
  const auto count = in.take<std::uint16_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    Client::Move& move = moves.emplace_back();
    move.number = in.take<std::uint32_t>();
    move.state = static_cast<Client::Move::State>(in.take<std::uint8_t>());
    move.failure = static_cast<Client::Code>(in.take<std::uint16_t>());
    move.rate = in.take<std::uint32_t>();
    move.moved = in.take<std::uint64_t>();
    move.to_move = in.take<std::uint64_t>();
    move.started = in.take<std::int64_t>();
    move.destination = in.take_short();
  }
  return in.finished();
}

bool take_replays(std::string_view payload, std::vector<Client::Replay>& replays) {
  BinaryReader in(payload);
  const auto count = in.take<std::uint16_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    Client::Replay& replay = replays.emplace_back();
    replay.number = in.take<std::uint32_t>();
    replay.state = static_cast<Client::Replay::State>(in.take<std::uint8_t>());
    replay.failure = static_cast<Client::Code>(in.take<std::uint16_t>());
    replay.rate = in.take<std::uint32_t>();
    replay.from = in.take<std::int64_t>();
    replay.to = in.take<std::int64_t>();
    replay.started = in.take<std::int64_t>();
    replay.sent = in.take<std::uint64_t>();
    replay.unreadable = in.take<std::uint64_t>();
    replay.destination = in.take_short();
    replay.filter = in.take_short();
  }
  return in.finished();
}

bool take_sent(std::string_view payload, std::vector<Client::Sent>& sent) {
  BinaryReader in(payload);
  const auto count = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    Client::Sent entry;
    entry.code = static_cast<Client::Code>(in.take<std::uint16_t>());
    entry.sequence = in.take<std::uint64_t>();
    entry.id = take_array<16>(in);
    sent.push_back(entry);
  }
  return in.finished();
}

bool take_messages(std::string_view payload, std::vector<Client::MessageView>& messages) {
  BinaryReader in(payload);
  const auto count = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    Client::MessageView message;
    message.receipt = take_array<24>(in);
    message.id = take_array<16>(in);
    message.sequence = in.take<std::uint64_t>();
    message.sent = in.take<std::int64_t>();
    message.first_received = in.take<std::int64_t>();
    message.receive_count = in.take<std::uint32_t>();
    const auto head = in.take<std::uint32_t>();
    const std::uint32_t attributes = head & entry_has_attributes ? in.take<std::uint32_t>() : 0;
    const std::uint32_t system = head & entry_has_system ? in.take<std::uint32_t>() : 0;
    const std::uint32_t names = head & entry_has_names ? in.take<std::uint32_t>() : 0;
    message.body = in.take_bytes(head & entry_body_mask);
    message.encoded_attributes = in.take_bytes(attributes);
    message.encoded_system = in.take_bytes(system);
    message.group = in.take_bytes(names & 0xFF);
    message.deduplication_id = in.take_bytes(names >> 8 & 0xFF);
    message.origin = in.take_bytes(names >> 16 & 0xFF);
    messages.push_back(message);
  }
  return in.finished();
}

bool take_codes(std::string_view payload, std::vector<Client::Code>& codes) {
  BinaryReader in(payload);
  const auto count = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i)
    codes.push_back(static_cast<Client::Code>(in.take<std::uint16_t>()));
  return in.finished();
}

}  // namespace pawl::client

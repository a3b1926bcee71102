// SPDX-License-Identifier: Apache-2.0
// The payloads of the binary protocol: one struct for each part of a request or a response. The
// server, the client and the load generator encode and decode through them (put_struct, take_struct
// and take_rows of frames.h).
//
// Units:  milliseconds; times are since 1970.
// Errors: the reader's ok() and finished() say whether a payload was complete.
// Owner:  values; texts point into the payload.
// Source: proto/PROTOCOL.md, "Operations"
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/binary/frames.h"

namespace pawl::payload {

using Receipt = std::array<std::uint8_t, 24>;
using Uuid = std::array<std::uint8_t, 16>;
using Proof = std::array<std::uint8_t, 32>;

// --- the connection ---

// Followed by a QueueAddress since 1.5, if the client names the queue that it will use.
struct Hello {
  std::uint32_t magic = binary_magic;
  std::uint16_t major = binary_major, minor = binary_minor;
  std::uint32_t features = 0;
  std::uint8_t auth = auth_none;
  std::string_view client;
  static constexpr void fields(auto& s, auto&& each) {
    each(s.magic, s.major, s.minor, s.features, s.auth, s.client);
  }
};

// Followed by rows of ShardPort, and since 1.1 by a Challenge.
struct HelloResponse {
  std::uint16_t major = binary_major, minor = binary_minor;
  std::uint32_t features = 0;
  std::uint32_t frame_bytes = frame_bytes_max;
  std::uint32_t credit_frames = 0, credit_bytes = 0;
  std::uint32_t entries = 0;  // most in a batch
  std::uint64_t boot_id = 0;
  std::uint32_t shard = 0, shards = 0;
  static constexpr void fields(auto& s, auto&& each) {
    each(s.major, s.minor, s.features, s.frame_bytes, s.credit_frames, s.credit_bytes, s.entries,
         s.boot_id, s.shard, s.shards);
  }
};
struct ShardPort {
  using Count = std::uint16_t;
  std::uint16_t port = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.port); }
};
struct Challenge {
  std::string_view bytes;  // empty: the server requires no key
  static constexpr void fields(auto& s, auto&& each) { each(s.bytes); }
};

struct Authenticate {
  std::string_view key_id;
  Proof proof{};
  static constexpr void fields(auto& s, auto&& each) { each(s.key_id, s.proof); }
};

// --- queues ---

struct QueueAddress {  // OPEN_QUEUE; the end of HELLO
  std::string_view account, name;
  static constexpr void fields(auto& s, auto&& each) { each(s.account, s.name); }
};

// A row of names: CREATE_QUEUE begins with one that has no count.
struct Name {
  using Count = std::uint16_t;
  std::string_view text;
  static constexpr void fields(auto& s, auto&& each) { each(s.text); }
};
struct QueueAttribute {
  using Count = std::uint16_t;
  std::string_view name;
  LongText value;
  static constexpr void fields(auto& s, auto&& each) { each(s.name, s.value); }
};
struct Tag {
  using Count = std::uint16_t;
  std::string_view key, value;
  static constexpr void fields(auto& s, auto&& each) { each(s.key, s.value); }
};

struct QueueSummary {
  std::uint32_t id = 0, shard = 0, maximum_message_size = 0;
  std::uint32_t visibility = 0, delay = 0, wait = 0, retention = 0;
  static constexpr void fields(auto& s, auto&& each) {
    each(s.id, s.shard, s.maximum_message_size, s.visibility, s.delay, s.wait, s.retention);
  }
};

struct Counts {  // STATS, GET_ATTRIBUTES
  std::uint64_t visible = 0, in_flight = 0, delayed = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.visible, s.in_flight, s.delayed); }
};
struct StateBytes {  // the end of STATS, since 1.2
  std::uint64_t bytes = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.bytes); }
};
struct QueueTimes {  // GET_ATTRIBUTES, before the attributes
  std::int64_t created = 0, modified = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.created, s.modified); }
};

struct ListQueues {
  std::string_view prefix, after;
  std::uint16_t max = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.prefix, s.after, s.max); }
};
struct ListSources {
  std::string_view after;
  std::uint16_t max = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.after, s.max); }
};
struct NamesResponse {  // followed by rows of Name
  std::uint8_t more = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.more); }
};

// --- tasks ---

struct StartMove {
  std::string_view destination;
  std::uint32_t rate = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.destination, s.rate); }
};
struct StartReplay {
  std::string_view destination;
  std::uint32_t rate = 0;
  std::int64_t from = 0, to = 0;
  std::string_view filter;
  static constexpr void fields(auto& s, auto&& each) {
    each(s.destination, s.rate, s.from, s.to, s.filter);
  }
};
struct ReplayFlags {  // the end of START_REPLAY, since 1.4
  std::uint8_t bits = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.bits); }
};
struct TaskNumber {  // CANCEL_MOVE, CANCEL_REPLAY; the response to a start
  std::uint32_t number = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.number); }
};
struct TaskCount {  // the response to CANCEL_MOVE and CANCEL_REPLAY
  std::uint64_t messages = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.messages); }
};
struct Move {
  using Count = std::uint16_t;
  std::uint32_t number = 0;
  std::uint8_t state = 0;
  std::uint16_t failure = 0;
  std::uint32_t rate = 0;
  std::uint64_t moved = 0, to_move = 0;
  std::int64_t started = 0;
  std::string_view destination;
  static constexpr void fields(auto& s, auto&& each) {
    each(s.number, s.state, s.failure, s.rate, s.moved, s.to_move, s.started, s.destination);
  }
};
struct Replay {
  using Count = std::uint16_t;
  std::uint32_t number = 0;
  std::uint8_t state = 0;
  std::uint16_t failure = 0;
  std::uint32_t rate = 0;
  std::int64_t from = 0, to = 0, started = 0;
  std::uint64_t sent = 0, unreadable = 0;
  std::string_view destination, filter;
  static constexpr void fields(auto& s, auto&& each) {
    each(s.number, s.state, s.failure, s.rate, s.from, s.to, s.started, s.sent, s.unreadable,
         s.destination, s.filter);
  }
};

// --- messages ---

struct Producer {  // SEND_ONCE, before the messages
  std::uint64_t id = 0, first = 0, floor = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.id, s.first, s.floor); }
};

struct MessageTexts {
  std::string_view body = {}, attributes = {}, system = {};
  std::string_view group = {}, dedup_id = {}, origin = {};
  std::uint8_t reason = 0;  // a DeadLetterReason
};

// The words before the texts of a message: the head, and those of the others that its flags name.
struct MessageWords {
  using Count = std::uint32_t;  // of messages, and of deliveries
  std::uint32_t head = 0;       // length of the body, flags
  std::uint32_t attributes = 0, system = 0;
  std::uint32_t delay_ms = binary_queue_default;
  std::uint32_t names = 0;  // lengths of group, deduplication id and origin; the reason

  // `attribute_bytes`: of the attributes, which need not be in `texts`.
  static MessageWords of(const MessageTexts& texts, std::uint32_t delay,
                         std::size_t attribute_bytes) {
    MessageWords words{
        .attributes = static_cast<std::uint32_t>(attribute_bytes),
        .system = static_cast<std::uint32_t>(texts.system.size()),
        .delay_ms = delay,
        .names = static_cast<std::uint32_t>(texts.group.size() | texts.dedup_id.size() << 8 |
                                            texts.origin.size() << 16) |
                 std::uint32_t{texts.reason} << 24};
    words.head = static_cast<std::uint32_t>(texts.body.size()) |
                 (words.attributes == 0 ? 0 : entry_has_attributes) |
                 (words.system == 0 ? 0 : entry_has_system) |
                 (delay == binary_queue_default ? 0 : entry_has_delay) |
                 (words.names == 0 ? 0 : entry_has_names);
    return words;
  }
};

// The words after the head.
inline void put_lengths(std::string& out, const MessageWords& words) {
  if ((words.head & entry_has_attributes) != 0) put(out, words.attributes);
  if ((words.head & entry_has_system) != 0) put(out, words.system);
  if ((words.head & entry_has_delay) != 0) put(out, words.delay_ms);
  if ((words.head & entry_has_names) != 0) put(out, words.names);
}
inline MessageWords take_lengths(BinaryReader& in, std::uint32_t head) {
  MessageWords words{.head = head};
  if ((head & entry_has_attributes) != 0) words.attributes = in.take<std::uint32_t>();
  if ((head & entry_has_system) != 0) words.system = in.take<std::uint32_t>();
  if ((head & entry_has_delay) != 0) words.delay_ms = in.take<std::uint32_t>();
  if ((head & entry_has_names) != 0) words.names = in.take<std::uint32_t>();
  return words;
}
// Where the word `names` of an encoded message is.
inline std::size_t names_at(std::uint32_t head) {
  constexpr std::uint32_t before = entry_has_attributes | entry_has_system | entry_has_delay;
  return sizeof head * (1 + static_cast<std::size_t>(std::popcount(head & before)));
}

// `put_attributes` appends the attributes.
inline void put_texts(std::string& out, const MessageWords& words, const MessageTexts& texts,
                      auto&& put_attributes) {
  out.append(texts.body);
  put_attributes();
  out.append(texts.system);
  if (words.names != 0) out.append(texts.group).append(texts.dedup_id).append(texts.origin);
}
inline MessageTexts take_texts(BinaryReader& in, const MessageWords& words) {
  MessageTexts texts;
  texts.body = in.take_bytes(words.head & entry_body_mask);
  texts.attributes = in.take_bytes(words.attributes);
  texts.system = in.take_bytes(words.system);
  texts.group = in.take_bytes(words.names & 0xFF);
  texts.dedup_id = in.take_bytes(words.names >> 8 & 0xFF);
  texts.origin = in.take_bytes(words.names >> 16 & 0xFF);
  texts.reason = static_cast<std::uint8_t>(words.names >> 24);
  return texts;
}

// A message as a sender encodes it.
inline void put_message(std::string& out, const MessageTexts& texts, std::uint32_t delay,
                        std::size_t attribute_bytes, auto&& put_attributes) {
  const MessageWords words = MessageWords::of(texts, delay, attribute_bytes);
  put(out, words.head);
  put_lengths(out, words);
  put_texts(out, words, texts, put_attributes);
}
inline void put_message(std::string& out, const MessageTexts& texts,
                        std::uint32_t delay = binary_queue_default) {
  put_message(out, texts, delay, texts.attributes.size(), [&] { out.append(texts.attributes); });
}

struct Sent {  // of a message, in the response to SEND and SEND_ONCE
  using Count = std::uint32_t;
  std::uint16_t status = 0;
  std::uint64_t sequence = 0;
  Uuid id{};
  static constexpr void fields(auto& s, auto&& each) { each(s.status, s.sequence, s.id); }
};

struct Receive {  // with feature_groups, the attempt follows
  std::uint32_t max = 0, wait_ms = binary_queue_default, visibility_ms = binary_queue_default;
  std::uint32_t bytes_max = 0;
  static constexpr void fields(auto& s, auto&& each) {
    each(s.max, s.wait_ms, s.visibility_ms, s.bytes_max);
  }
};
struct Attempt {
  std::string_view id;
  static constexpr void fields(auto& s, auto&& each) { each(s.id); }
};

// Followed by the words after the head, and the texts.
struct Delivery {
  using Count = std::uint32_t;
  Receipt receipt{};
  Uuid id{};
  std::uint64_t sequence = 0;
  std::int64_t sent = 0, first_received = 0;
  std::uint32_t receive_count = 0;
  std::uint32_t head = 0;
  static constexpr void fields(auto& s, auto&& each) {
    each(s.receipt, s.id, s.sequence, s.sent, s.first_received, s.receive_count, s.head);
  }
};

struct Deletion {  // DELETE_MESSAGE, ACKNOWLEDGE
  using Count = std::uint32_t;
  Receipt receipt{};
  static constexpr void fields(auto& s, auto&& each) { each(s.receipt); }
};
struct Change {  // CHANGE, RETURN
  using Count = std::uint32_t;
  Receipt receipt{};
  std::uint32_t visibility_ms = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.receipt, s.visibility_ms); }
};
struct EntryStatus {  // of a receipt
  using Count = std::uint32_t;
  std::uint16_t status = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.status); }
};

// --- messages by their ids ---

struct Cancel {
  using Count = std::uint32_t;
  Uuid id{};
  std::uint8_t flags = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.id, s.flags); }
};
struct Cancelled {  // the response to CANCEL
  using Count = std::uint32_t;
  std::uint16_t status = 0;
  std::uint8_t cancelled = 0;  // 0: the message was gone
  static constexpr void fields(auto& s, auto&& each) { each(s.status, s.cancelled); }
};
struct Reschedule {
  using Count = std::uint32_t;
  Uuid id{};
  std::uint64_t delay_ms = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.id, s.delay_ms); }
};

// --- subscriptions ---

struct Subscribe {
  std::uint32_t credit = 0, visibility_ms = binary_queue_default, bytes_max = 0;
  static constexpr void fields(auto& s, auto&& each) {
    each(s.credit, s.visibility_ms, s.bytes_max);
  }
};
struct Unsubscribe {
  std::uint32_t subscription = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.subscription); }
};
struct Grant {  // ACKNOWLEDGE, before the receipts
  std::uint32_t subscription = 0, credit = 0;
  static constexpr void fields(auto& s, auto&& each) { each(s.subscription, s.credit); }
};

// --- pawl's own API ---

struct Call {
  std::string_view action;
  LongText members;  // a JSON object
  static constexpr void fields(auto& s, auto&& each) { each(s.action, s.members); }
};
struct CallResponse {
  std::uint16_t http_status = 0;
  LongText body;  // JSON
  static constexpr void fields(auto& s, auto&& each) { each(s.http_status, s.body); }
};

}  // namespace pawl::payload

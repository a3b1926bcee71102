// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of binary sessions: payloads, and one connection.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proto/aws/message_attributes.h"
#include "proto/binary/session.h"

namespace pawl {

using Next = BinaryCall::Next;

inline std::string hello(std::uint16_t major = binary_major, std::uint8_t auth = 0,
                         std::uint32_t features = feature_checksum | 0x80u,
                         std::uint16_t minor = binary_minor) {
  std::string payload;
  put(payload, binary_magic);
  put(payload, major);
  put(payload, minor);
  put(payload, features);
  put(payload, auth);
  put_short(payload, "tester");
  return payload;
}

inline std::string open(std::string_view name) {
  std::string payload;
  put_short(payload, "");
  put_short(payload, name);
  return payload;
}

inline std::string entry(std::string_view body, std::string_view attributes = {},
                         std::string_view system = {}, std::optional<std::uint32_t> delay_ms = {}) {
  std::string out;
  put(out, static_cast<std::uint32_t>(body.size()) |
               (attributes.empty() ? 0 : entry_has_attributes) |
               (system.empty() ? 0 : entry_has_system) | (delay_ms ? entry_has_delay : 0));
  if (!attributes.empty()) put(out, static_cast<std::uint32_t>(attributes.size()));
  if (!system.empty()) put(out, static_cast<std::uint32_t>(system.size()));
  if (delay_ms) put(out, *delay_ms);
  return out.append(body).append(attributes).append(system);
}

inline std::string batch(std::initializer_list<std::string> entries) {
  std::string out;
  put(out, static_cast<std::uint32_t>(entries.size()));
  for (const std::string& e : entries) out += e;
  return out;
}

inline std::string receive(std::uint32_t max, std::uint32_t wait = binary_queue_default,
                           std::uint32_t visibility = binary_queue_default,
                           std::uint32_t bytes = 0) {
  std::string out;
  put(out, max);
  put(out, wait);
  put(out, visibility);
  put(out, bytes);
  return out;
}

// The head of SEND_ONCE.
inline std::string producer(std::uint64_t id, std::uint64_t first, std::uint64_t floor) {
  std::string out;
  put_all(out, id, first, floor);
  return out;
}

inline std::string queue_attributes(
    std::initializer_list<std::pair<std::string_view, std::string_view>> all) {
  std::string out;
  put(out, static_cast<std::uint16_t>(all.size()));
  for (const auto& [name, value] : all) {
    put_short(out, name);
    put_long(out, value);
  }
  return out;
}

inline std::string create(std::string_view name,
                          const std::string& attributes = queue_attributes({})) {
  std::string out;
  put_short(out, name);
  out += attributes;
  put(out, std::uint16_t{0});
  return out;
}

inline std::string attribute(std::string_view name, std::string_view type, std::string_view value) {
  std::string out;
  append_attribute(out, {name, type, AttributeKind::text, value});
  return out;
}

struct Answer {
  FrameHeader header;
  std::string payload;
  Status status() const { return static_cast<Status>(header.status); }
};

// One connection of a server that has the queue "q", number 7, on shard 2.
class BinarySessionTest : public testing::Test {
 protected:
  BinarySessionTest() {
    for (std::size_t i = 0; i < config_.secret.size(); ++i)
      config_.secret[i] = static_cast<std::uint8_t>(i);
    config_.shards = 4;
    config_.home = ShardId{3};
    config_.shard_ports = {9001, 9002, 9003, 9004};
    config_.boot_id = 0xB007;
    auto queue = std::make_shared<QueueConfig>();
    queue->id = QueueId{7};
    queue->owner = ShardId{2};
    queue->account = config_.account;
    queue->name = "q";
    directory_.put(queue);
  }

  Next begin(BinaryOp op, std::string_view payload, std::uint32_t queue = 0,
             std::uint8_t flags = 0) {
    std::string frame;
    const FrameHeader header{.op = static_cast<std::uint8_t>(op),
                             .flags = flags,
                             .correlation = ++correlation_,
                             .queue = queue};
    const std::size_t at = begin_frame(frame, header);
    frame.append(payload);
    finish_frame(frame, at);
    return begin_frame_bytes(frame);
  }
  Next begin_frame_bytes(std::string_view frame) {
    call_.drop();  // the last call may still be routed: many tests only look at its request
    return call_.begin(session_, frame, directory_, config_);
  }
  Next resume() { return call_.resume(session_, directory_, config_); }

  Answer answer() {
    std::string out;
    call_.write_response(out);
    const auto header = parse_header(out);
    EXPECT_TRUE(header);
    if (!header) return {};
    const auto payload = payload_of(*header, out);
    EXPECT_TRUE(payload);
    return {*header, std::string(payload.value_or(""))};
  }
  Status refused(BinaryOp op, std::string_view payload, std::uint32_t queue = 0) {
    EXPECT_EQ(begin(op, payload, queue), Next::respond);
    return answer().status();
  }

  std::uint32_t greet_and_open() {
    EXPECT_EQ(begin(BinaryOp::hello, hello()), Next::respond);
    EXPECT_EQ(answer().status(), Status::ok);
    EXPECT_EQ(begin(BinaryOp::open_queue, open("q")), Next::respond);
    const Answer opened = answer();
    EXPECT_EQ(opened.status(), Status::ok);
    return opened.header.queue;
  }

  Directory directory_;
  BinarySettings config_;
  BinarySession session_;
  BinaryCall call_;
  std::uint32_t correlation_ = 0;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/client/dead_letter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "proto/binary/frames.h"

namespace pawl::client {
namespace {

std::string encoded(const Client::MessageView& message, bool fifo) {
  std::string out;
  put_dead_letter(out, message, fifo);
  return out;
}

TEST(DeadLetter, OfOnlyABodyIsItsLengthAndTheBody) {
  Client::MessageView message;
  message.body = "body";
  message.deduplication_id = "only for FIFO queues";
  std::string expected;
  put(expected, std::uint32_t{4});
  EXPECT_EQ(encoded(message, false), expected + "body");
}

TEST(DeadLetter, KeepsEveryPart) {
  Client::MessageView message;
  message.body = "body";
  message.encoded_attributes = "attributes";
  message.encoded_system = "trace";
  message.group = "group";
  message.deduplication_id = "id";
  std::string expected;
  put_all(expected, 4u | entry_has_attributes | entry_has_system | entry_has_names, 10u, 5u,
          5u | 2u << 8);
  EXPECT_EQ(encoded(message, true), expected + "bodyattributestracegroupid");
}

TEST(DeadLetter, LeavesTheTimeToLiveBehind) {
  const auto attribute = [](std::string_view name, std::string_view value) {
    std::string out;
    put_short(out, name);
    put(out, std::uint8_t{6});
    out += "String";
    put(out, std::uint8_t{1});
    put_long(out, value);
    return out;
  };
  const std::string trace = attribute("AWSTraceHeader", "x-ttl"), ttl = attribute("x-ttl", "30s"),
                    both = trace + ttl;
  Client::MessageView message;
  message.body = "b";
  message.encoded_system = both;
  std::string expected;
  put_all(expected, 1u | entry_has_system, static_cast<std::uint32_t>(trace.size()));
  EXPECT_EQ(encoded(message, false), expected + "b" + trace);
  message.encoded_system = ttl;
  expected.clear();
  put(expected, std::uint32_t{1});
  EXPECT_EQ(encoded(message, false), expected + "b");
}

TEST(DeadLetter, UsesTheMessageIdWhereAFifoQueueNeedsMore) {
  Client::MessageView message;
  message.body = "b";
  message.id.fill(0x5A);
  const std::string id = Client::to_string(message.id);
  std::string expected;
  put_all(expected, 1u | entry_has_names, 36u | 36u << 8);
  EXPECT_EQ(encoded(message, true), expected + "b" + id + id);
}

}  // namespace
}  // namespace pawl::client

// SPDX-License-Identifier: Apache-2.0
// MessageWriter: a message of a queue, in each form of response (result.h).
//
//   write()                                      a received message
//   begin_peeked() - further members - end()     one that was not received: it has no handle
//
// Units:  times are those of the wall clock in epoch ms, as in SQS.
// Errors: none; the content was checked when it was sent.
// Owner:  the call. Each text that a helper makes is valid only until the next one is made.
// Source: SQS API Reference, "Message", "ReceiveMessage".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/queue/request.h"
#include "proto/aws/call_types.h"
#include "proto/aws/message_attributes.h"
#include "proto/sqs/result.h"
#include "proto/text/digest.h"

namespace pawl {

// A bit for each name of a system attribute, such as SentTimestamp; 0: there is no such name.
std::uint32_t system_name_bit(std::string_view name);
inline constexpr std::string_view times_name = "x-times";
inline constexpr std::uint32_t all_system_names = 0x3FF;  // those of SQS, x-dead-letter-reason

// The queue of the messages, and the attributes to write.
struct MessageScope {
  const CallSettings& settings;
  QueueId queue = QueueId::none;
  std::string_view account;  // of the queue
  bool fifo = false;
  std::uint32_t system_names = all_system_names;
  const AttributeFilter& attributes;
};

class MessageWriter {
 public:
  using Pair = std::pair<std::string_view, std::string_view>;

  MessageWriter(const MessageScope& scope, SqsResult& result, std::string& scratch)
      : scope_(scope), result_(result), scratch_(scratch) {}

  void write(const Delivery& delivery, const Md5& body_md5);
  // `more` follow the system attributes.
  void begin_peeked(const Delivery& delivery, const Md5& body_md5, std::span<const Pair> more);
  void end() { result_.end_item("Message"); }

 private:
  void begin(const Delivery& delivery);
  void write_content(const Delivery& delivery, const Md5& body_md5, std::span<const Pair> more);
  void write_system(const Delivery& delivery, std::span<const Pair> more);
  std::string_view system_value(unsigned name, const Delivery& delivery);
  std::string_view times_of(const Delivery& delivery);
  std::string_view arn_of_origin(std::string_view origin);
  void write_attributes(std::string_view encoded);
  std::string_view base64(std::span<const std::uint8_t> bytes);
  std::string_view hex(const Md5& digest);
  std::string_view decimal(std::int64_t number);

  MessageScope scope_;
  SqsResult& result_;
  std::string& scratch_;
  std::array<char, 20> digits_{};
  Md5Text hex_{};
};

}  // namespace pawl

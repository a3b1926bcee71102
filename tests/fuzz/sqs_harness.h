// SPDX-License-Identifier: Apache-2.0
// Passes one SQS request through HttpCall; the input selects whether the broker succeeds or fails.
//
// Every call responds; its routed requests are within SQS's limits; a JSON response is valid JSON.
// Owner: each input has its own objects, except for the shared directory.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/queue/directory.h"
#include "proto/aws/message_attributes.h"
#include "proto/call.h"
#include "proto/http/parser.h"
#include "proto/sns/topic.h"
#include "proto/text/text.h"

namespace pawl::fuzz {

inline QueueConfig queue(std::uint32_t id, std::string_view name) {
  QueueConfig config;
  config.id = QueueId{id};
  config.account = "000000000000";
  config.name = name;
  config.tags = {
      {"k", "v"}
  };
  return config;
}

// A queue, its dead-letter queue and a FIFO queue; a topic with subscriptions of the first two
// queues, and a FIFO topic.
inline const Directory& directory() {
  static const Directory made = [] {
    Directory d;
    QueueConfig q = queue(1, "q"), fifo = queue(3, "q.fifo");
    q.apply({Attribute::dead_letter_target, -1, "000000000000/dlq"});
    fifo.apply({Attribute::fifo_queue, 1, {}});
    QueueConfig topic = queue(4, "t"), ordered = queue(5, "t.fifo");
    topic.set_name(topic_account("000000000000"), topic.name);
    ordered.set_name(topic_account("000000000000"), ordered.name);
    topic.apply({Attribute::topic, -1, R"({"subscriptions":[
        {"id":"1","endpoint":"arn:aws:sqs:r:000000000000:q","attributes":{"RawMessageDelivery":"true"}},
        {"id":"2","endpoint":"arn:aws:sqs:r:000000000000:dlq","attributes":{"FilterPolicy":"{\"a\":[\"x\",{\"anything-but\":[1]}]}",
         "FilterPolicyScope":"MessageBody","RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:r:000000000000:q\"}"}}]})"});
    ordered.apply({Attribute::topic, -1,
                   R"({"attributes":{"FifoTopic":"true","ContentBasedDeduplication":"true"},
        "subscriptions":[{"id":"3","endpoint":"arn:aws:sqs:r:000000000000:q.fifo","attributes":{}}]})"});
    for (const QueueConfig& config : {q, queue(2, "dlq"), fifo, topic, ordered}) {
      d.put(std::make_shared<QueueConfig>(config));
    }
    return d;
  }();
  return made;
}

inline bool within(Duration time, std::int64_t most) {
  return time >= seconds(0) && time <= seconds(most);
}

inline void check_changes(const Request& request) {
  for (const AttributeChange& change : request.changes) {
    const bool topic = change.attribute == Attribute::topic;
    CHECK(change.text.size() <= (topic ? SnsTopic::topic_bytes_max : 8192));
  }
  if (request.tags == nullptr) return;
  CHECK(request.tags->size() <= 50);
  CHECK(std::ranges::is_sorted(*request.tags));
}

inline void list_moves(Request& request) {
  CHECK(request.move.rate <= move_rate_max);
  CHECK(request.queue != QueueId::none);
  request.move.tasks = {
      {.number = 2},
      {.number = 1, .status = MoveTask::Status::failed, .destination = "000000000000/q"}
  };
}

// The queue must be the FIFO queue of the directory if the message has a deduplication id.
inline void check_queue(const SendEntry& entry, QueueId queue) {
  const bool fifo = queue == QueueId{3};
  CHECK(!fifo || (!entry.content.group.empty() && !entry.content.dedup_id.empty()));
  CHECK(fifo || entry.content.dedup_id.empty());
}

inline void check_numbers(Request& request) {
  CHECK(request.queue == QueueId{5} && !request.sends.empty());
  for (SendEntry& entry : request.sends) {
    CHECK(!entry.dedup_by.empty());
    entry.seq = 1;
  }
}

inline void check_sends(Request& request) {
  CHECK((request.op == Op::fan_out) == !request.targets.empty());
  CHECK(request.op != Op::fan_out || request.sends.size() == 1);
  std::size_t bytes = 0;
  for (SendEntry& entry : request.sends) {
    CHECK(!entry.content.body.empty());
    CHECK(check_text(entry.content.body) == TextFault::none);
    CHECK(entry.content.attributes.empty() ||
          check_attributes(entry.content.attributes) == Errc::ok);
    CHECK(entry.content.system.empty() || check_attributes(entry.content.system) == Errc::ok);
    bytes += entry.content.body.size();
    CHECK(entry.delay == queue_default || within(entry.delay, 900));
    CHECK(entry.content.group.size() <= 128);
    CHECK(entry.content.dedup_id.size() <= 128);
    if (request.targets.empty()) check_queue(entry, request.queue);
    for (FanOutTarget& target : request.targets) {
      check_queue(entry, target.queue);
      target.seq = 1;
    }
    entry.seq = 1;
  }
  CHECK(bytes <= 1 << 20);
}

inline const std::string& two_attributes() {
  static const std::string attributes = [] {
    std::string out;
    append_attribute(out, {"A", "String", AttributeKind::text, "\"x\""});
    append_attribute(out, {"B", "Binary", AttributeKind::bytes, std::string_view("\0\1", 2)});
    return out;
  }();
  return attributes;
}

// One row of the directory: a topic has none, every second queue has figures.
inline void list_queue(Request& request) {
  QueueSlice& slice = *request.slice;
  CHECK(slice.rows == 1 && slice.queues.empty() && slice.figures.empty());
  const ConfigPtr* const row = directory().first_from(request.queue);
  if (row == nullptr || (*row)->is_topic()) return;
  if (slice.wants_figures && raw((*row)->id) % 2 == 0) return;
  slice.queues.push_back({
      .config = *row, .counts = {3, 2, 1}
  });
  if (slice.wants_figures) slice.figures.emplace_back();
}

// A message in each state, which has a body or not; the last one ends the queue.
inline void peek(Request& request) {
  PeekSlice& slice = *request.peek;
  CHECK(request.queue != QueueId::none && !request.deliveries.empty());
  slice.messages.clear();
  for (Seq seq = std::max<Seq>(slice.from, 1); seq <= 6; ++seq) {
    const auto state = static_cast<PeekedMessage::State>(seq - 1);
    if ((slice.states & PeekSlice::bit(state)) == 0) continue;
    slice.messages.push_back({.seq = seq, .state = state, .receive_count = 1, .behind = seq - 1});
    if (seq % 3 == 0) continue;
    Delivery& delivery = request.deliveries[request.delivered++];
    delivery = Delivery();
    delivery.seq = seq;
    delivery.content.body = "body <&>";
    delivery.content.attributes = two_attributes();
    delivery.content.group = "g";
  }
  slice.next = slice.from < 3 ? 3 : 0;
}

inline void deliver(Request& request) {
  CHECK(request.receive.max >= 1 && request.receive.max <= request.deliveries.size());
  CHECK(request.receive.max <= 10);
  CHECK(request.receive.visibility == queue_default || within(request.receive.visibility, 43200));
  CHECK(request.receive.wait == queue_default || within(request.receive.wait, 20));
  request.delivered = request.receive.max;
  for (std::uint32_t i = 0; i < request.delivered; ++i) {
    Delivery& delivery = request.deliveries[i];
    delivery.seq = i + 1;
    delivery.receive_count = 1;
    delivery.content.body = "body <&> \r\n";
    delivery.content.attributes = two_attributes();
    delivery.content.group = "g";
    delivery.content.origin = "000000000000/q";
  }
}

// Acts as the broker: all succeeds, or the whole request or every entry fails with `outcome`.
inline void apply(Request& request, Errc outcome, bool entries_only) {
  request.op == Op::take_numbers ? check_numbers(request) : check_sends(request);
  check_changes(request);
  CHECK(request.receive.attempt.size() <= 128);
  CHECK(request.receipts.size() <= 10);
  for (SendEntry& entry : request.sends) entry.error = outcome;
  for (FanOutTarget& target : request.targets) target.error = outcome;
  for (ReceiptEntry& entry : request.receipts) {
    const bool by_handle = entry.by == ReceiptEntry::By::handle;
    CHECK(within(entry.visibility, by_handle ? 43200 : 900));
    CHECK(by_handle == (entry.id == MessageId{}));
    CHECK(!entry.uncounted || (by_handle && request.op == Op::change_visibility));
    if (entry.error == Errc::ok) entry.error = outcome;
  }
  if (!entries_only && outcome != Errc::ok) {
    request.error = outcome;
    request.config = *directory().find(QueueId{1});
    return;
  }
  if (request.op == Op::receive) deliver(request);
  if (request.op == Op::peek) peek(request);
  if (request.op == Op::list_queues) return list_queue(request);
  if (request.op == Op::list_moves) list_moves(request);
  request.config = *directory().find(QueueId{1});
}

// Serves one request; `choice` selects the broker's response.
inline void serve(const HttpRequest& http, std::uint8_t choice) {
  static const CallSettings config;
  HttpCall call;
  auto next = call.begin(http, directory(), config, Instant{1'700'000'000'000}, 7);
  for (int routed = 0; next == HttpCall::Next::route; ++routed) {
    CHECK(routed <= 8 + static_cast<int>(change_retries_max));
    constexpr int outcomes = static_cast<int>(Errc::message_numbers_used_up) + 1;
    const int outcome = (choice & 1) != 0 ? 0 : (choice >> 2) % outcomes;
    for (const CallRoute& route : call.routes()) {
      apply(*route.request, static_cast<Errc>(outcome), (choice & 2) != 0);
    }
    next = call.resume(directory());
  }
  std::string response;
  call.write_response(response, "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(call.status() >= 200 && call.status() < 600);
  CHECK(response.starts_with("HTTP/1.1 "));

  const std::string_view all = response;
  const std::size_t end = all.find("\r\n\r\n");
  CHECK(end != all.npos);
  const std::string_view head = all.substr(0, end), body = all.substr(end + 4);
  if (body.empty() || !head.contains("application/x-amz-json-1.0")) return;
  simdjson::dom::parser parser;
  CHECK(parser.parse(body.data(), body.size()).error() == simdjson::SUCCESS, "not JSON: {}", body);
}

// A body as the HTTP parser provides it, with slack behind it.
class Body {
 public:
  explicit Body(std::string_view text) : bytes_(text), size_(text.size()) {
    bytes_.append(HttpParser::body_slack, '\0');
  }
  std::string_view view() const { return std::string_view(bytes_).substr(0, size_); }

 private:
  std::string bytes_;
  std::size_t size_;
};

}  // namespace pawl::fuzz

// SPDX-License-Identifier: Apache-2.0
// A broker in one file for the tests of the SQS shim: requests as text in, responses as text out.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/queue/directory.h"
#include "proto/aws/notification.h"
#include "proto/call.h"
#include "proto/http/parser.h"
#include "proto/text/digest.h"
#include "proto/text/json_value.h"
#include "tests/proto/sqs/forms.h"

namespace pawl {

struct SqsResponse {
  int status = 0;
  std::string head;  // status line and headers
  std::string body;

  // The value of a header, empty when absent.
  std::string header(std::string_view name) const {
    const std::string key = fmt::format("\r\n{}: ", name);
    const std::size_t at = head.find(key);
    if (at == std::string::npos) return {};
    const std::size_t start = at + key.size();
    return head.substr(start, head.find("\r\n", start) - start);
  }
};

// Does to requests what core does, as simply as can be, and with the Errcs a test asks for.
class FakeBroker {
 public:
  struct QueuedMessage {
    Seq seq = 0;
    std::string body, attributes, system;
    Duration delay;
    std::string group, dedup_id;
    std::string origin = {};  // for a test to set, and the id too
    MessageId id = {};
    QueueId queue = QueueId::none;
    std::string deduplicated_by = {};
  };

  Directory directory;
  std::vector<QueuedMessage> messages;
  std::vector<std::uint8_t> returned;    // the first byte of the handles that came back undelivered
  std::vector<MoveTask> tasks;           // newest first
  std::function<void()> before_changes;  // what somebody else does before set_attributes is applied
  Errc refuse_with = Errc::ok;           // the request whole
  ConfigPtr refused_with_config;         // what such a refusal brings along
  std::vector<Errc> refuse_entries;      // entry by entry; ok where it ends
  MessageId gone_id;                     // of no message; those of other ids are there
  const Md5* body_md5 = nullptr;         // that was kept with all messages
  std::vector<ReplayTask> replays;       // newest first
  std::vector<PeekedMessage> peeked;     // by number; what a peek finds
  std::uint32_t peek_looks = 2;          // messages in a slice of a peek
  std::map<QueueId, QueueFigures> figures;  // of the labelled queues
  std::map<Op, int> seen;                   // how often each Op was applied
  Request last;                             // as it came
  Durability durability{};                  // what it promises

  // How many requests came.
  std::size_t applied() const {
    std::size_t count = 0;
    for (const auto& [op, times] : seen) count += static_cast<std::size_t>(times);
    return count;
  }

  void apply(Request& request) {
    ++seen[request.op];
    last = request;
    request.error = refuse_with;
    request.durability = durability;
    if (refuse_with != Errc::ok) {
      request.differing = Attribute::visibility_timeout;
      request.config = refused_with_config;
      return;
    }
    switch (request.op) {
      case Op::send:
        return send(request);
      case Op::fan_out:
        return fan_out(request);
      case Op::take_numbers:
        return take_numbers(request);
      case Op::receive:
        return receive(request);
      case Op::delete_message:
      case Op::change_visibility:
        return receipts(request);
      case Op::undeliver:
        for (const ReceiptEntry& entry : request.receipts) returned.push_back(entry.handle[0]);
        return;
      case Op::count:
        request.counts = {3, 2, 1};
        return;
      case Op::create_queue:
        return create(request);
      case Op::delete_queue:
        return directory.drop(request.queue);
      case Op::set_attributes:
        return set(request);
      case Op::purge:
        return messages.clear();
      case Op::start_move:
        tasks.insert(tasks.begin(), {.source = request.queue,
                                     .number = static_cast<std::uint32_t>(tasks.size() + 1),
                                     .rate = request.move.rate,
                                     .destination = std::string(request.move.destination)});
        request.move.number = tasks.front().number;
        return;
      case Op::cancel_move:
        request.move.moved = 40 + request.move.number;
        return;
      case Op::list_moves:
        request.move.tasks = tasks;
        return;
      case Op::start_replay:
        replays.insert(replays.begin(), {.number = static_cast<std::uint32_t>(replays.size() + 1),
                                         .rate = request.replay->rate,
                                         .from = request.replay->from,
                                         .to = request.replay->to,
                                         .destination = std::string(request.replay->destination),
                                         .filter = std::string(request.replay->filter),
                                         .copies = request.replay->copies});
        request.replay->number = replays.front().number;
        return;
      case Op::cancel_replay:
        request.replay->sent = 50 + request.replay->number;
        return;
      case Op::list_replays:
        request.replay->tasks = replays;
        return;
      case Op::transfer:
        FAIL() << "never routed";
      case Op::list_queues:
        return list(request);
      case Op::peek:
        return peek(request);
      case Op::none:
        return;
    }
  }

 private:
  Errc error_of(std::size_t i) const {
    return i < refuse_entries.size() ? refuse_entries[i] : Errc::ok;
  }

  void send(Request& request) {
    for (std::size_t i = 0; i < request.sends.size(); ++i) {
      request.sends[i].error = error_of(i);
      send_one(request.queue, request.sends[i]);
    }
  }

  void send_one(QueueId queue, SendEntry& entry) {
    if (entry.error != Errc::ok) return;
    const Content& content = entry.content;
    const std::string_view dedup = content.dedup_id.empty() ? entry.dedup_by : content.dedup_id;
    const auto first = std::ranges::find_if(messages, [&](const QueuedMessage& m) {
      return m.deduplicated_by == dedup && m.queue == queue;
    });
    entry.duplicate = !dedup.empty() && first != messages.end();
    entry.seq = entry.duplicate ? first->seq : ++seq_;
    if (entry.duplicate) return;
    messages.push_back({entry.seq, std::string(content.body), std::string(content.attributes),
                        std::string(content.system), entry.delay, std::string(content.group),
                        std::string(content.dedup_id)});
    messages.back().queue = queue;
    messages.back().deduplicated_by = dedup;
  }

  void take_numbers(Request& request) {
    for (SendEntry& entry : request.sends) {
      const auto [at, first] =
          numbers_.try_emplace({request.queue, std::string(entry.dedup_by)}, numbers_.size() + 1);
      entry.seq = at->second;
      entry.duplicate = !first;
    }
  }

  // Stores what a receiver would get.
  void fan_out(Request& request) {
    ASSERT_EQ(request.sends.size(), 1u);
    const Content content = request.sends.front().content;
    for (std::size_t i = 0; i < request.targets.size(); ++i) {
      FanOutTarget& target = request.targets[i];
      SendEntry entry = request.sends.front();
      entry.error = error_of(i);
      Delivery delivery{.content = content};
      delivery.content.subscription = target.subscription;
      std::string envelope;
      put_in_envelopes({&delivery, 1}, envelope);
      entry.content = delivery.content;
      send_one(target.queue, entry);
      target.error = entry.error;
    }
  }

  void receive(Request& request) {
    for (const QueuedMessage& message : messages) {
      if (request.delivered == request.receive.max) break;
      Delivery& delivery = request.deliveries[request.delivered++];
      fill(delivery, message);
      delivery.handle.fill(static_cast<std::uint8_t>(message.seq));
      delivery.receive_count = 7;
      delivery.first_received = Instant{1'700'000'000'456};
    }
  }

  void fill(Delivery& delivery, const QueuedMessage& message) {
    delivery = Delivery();
    delivery.seq = message.seq;
    delivery.sent = Instant{1'700'000'000'123};
    delivery.content.body = message.body;
    delivery.content.attributes = message.attributes;
    delivery.content.system = message.system;
    delivery.content.group = message.group;
    delivery.content.dedup_id = message.dedup_id;
    delivery.content.origin = message.origin;
    delivery.id = message.id;
    delivery.content.body_md5 = body_md5;
  }

  void peek(Request& request) {
    PeekSlice& slice = *request.peek;
    slice.messages.clear();
    slice.next = 0;
    std::uint32_t looks = 0;
    for (const PeekedMessage& message : peeked) {
      if (message.seq < slice.from) continue;
      if (looks++ == peek_looks) {
        slice.next = message.seq;
        return;
      }
      if ((slice.states & PeekSlice::bit(message.state)) == 0) continue;
      slice.messages.push_back(message);
      const auto stored = std::ranges::find(messages, message.seq, &QueuedMessage::seq);
      if (stored != messages.end()) fill(request.deliveries[request.delivered++], *stored);
    }
  }

  // A slice of one row, as core/shard/queue_list.h fills it.
  void list(Request& request) {
    QueueSlice& slice = *request.slice;
    ASSERT_EQ(slice.rows, 1u);
    slice.now = Instant{1'700'000'000'000};
    const ConfigPtr* const row = directory.first_from(request.queue);
    if (row == nullptr) return;
    const auto labelled = figures.find((*row)->id);
    if (slice.wants_figures && labelled == figures.end()) {
      slice.others.visible += 99;  // is no queue's own count
      return;
    }
    slice.queues.push_back({
        .config = *row, .counts = {3, 2, 1}
    });
    if (!slice.wants_figures) return;
    slice.queues.front().oldest_sent = Instant{1'699'999'990'000};
    slice.figures.push_back(labelled->second);
  }

  void receipts(Request& request) {
    for (std::size_t i = 0; i < request.receipts.size(); ++i) {
      ReceiptEntry& entry = request.receipts[i];
      if (entry.error == Errc::ok) entry.error = error_of(i);
      entry.cancelled = request.op == Op::delete_message && entry.by != ReceiptEntry::By::handle &&
                        entry.error == Errc::ok && entry.id != gone_id;
    }
  }

  void create(Request& request) {
    const QueueSpec& spec = *request.spec;
    if (const ConfigPtr* there = directory.find(spec.account, spec.name)) {
      for (const AttributeChange& change : spec.changes) {
        if ((*there)->has(change)) continue;
        request.error = Errc::queue_exists;
        request.differing = change.attribute;
        return;
      }
      request.config = *there;
      return;
    }
    auto config = std::make_shared<QueueConfig>();
    config->id = QueueId{++queues_};
    config->owner = ShardId{1};
    config->set_name(spec.account, spec.name);
    config->created = config->modified = Instant{1'700'000'000'000};
    for (const AttributeChange& change : spec.changes) config->apply(change);
    config->tags = spec.tags;
    directory.put(config);
    request.config = config;
  }

  void set(Request& request) {
    if (before_changes) before_changes();
    const ConfigPtr& is = *directory.find(request.queue);
    if (request.based_on && request.based_on != is) {
      request.error = Errc::changed_meanwhile;
      request.config = is;
      return;
    }
    auto config = std::make_shared<QueueConfig>(*is);
    if (request.tags != nullptr) config->tags = *request.tags;
    for (const AttributeChange& change : request.changes) config->apply(change);
    config->modified = Instant{1'700'000'060'000};
    directory.put(config);
    request.config = config;
  }

  Seq seq_ = 0;
  std::map<std::pair<QueueId, std::string>, Seq> numbers_;  // of FIFO topics
  std::uint32_t queues_ = 0;
};

class SqsTest : public testing::Test {
 protected:
  SqsTest() {
    for (std::size_t i = 0; i < config.secret.size(); ++i) {
      config.secret[i] = static_cast<std::uint8_t>(i * 7 + 1);
    }
  }

  // Any HTTP request, head and body as given but for Content-Length.
  SqsResponse http(std::string_view head, std::string_view body) {
    HttpParser parser;
    std::string text(head);
    if (!body.empty()) text += fmt::format("Content-Length: {}\r\n", body.size());
    text += "\r\n";
    text += body;
    for (std::size_t taken = 0; taken < text.size();) {
      std::size_t n = 0;
      parser.feed(std::string_view(text).substr(taken), n);
      if (n == 0) break;
      taken += n;
    }
    EXPECT_EQ(parser.error_status(), 0) << parser.error_text();
    if (parser.error_status() != 0) return {};
    HttpRequest request = parser.request();
    request.arrived = now + wall_ahead;
    auto next = call.begin(request, broker.directory, config, now, ++requests_);
    while (next == HttpCall::Next::route) {
      for (const CallRoute& route : call.routes()) broker.apply(*route.request);
      next = call.resume(broker.directory);
    }
    std::string out;
    call.write_response(out, "Thu, 01 Jan 1970 00:00:00 GMT");
    return split(out);
  }

  SqsResponse json(std::string_view action, std::string_view body, std::string_view path = "/",
                   std::string_view more = "x-amzn-query-mode: true\r\n") {
    const std::size_t applied = broker.applied();
    const SqsResponse answer = http(fmt::format("POST {} HTTP/1.1\r\nHost: broker.test:9324\r\n"
                                                "X-Amz-Target: AmazonSQS.{}\r\n"
                                                "Content-Type: application/x-amz-json-1.0\r\n{}",
                                                path, action, more),
                                    body);
    if (path == "/" && answer.body.starts_with("{\"__type") && broker.applied() == applied) {
      expect_same_refusal(answer, form_of(action, body));
    }
    return answer;
  }

  SqsResponse query(std::string_view form, std::string_view path = "/") {
    return http(fmt::format("POST {} HTTP/1.1\r\nHost: broker.test:9324\r\n"
                            "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n",
                            path),
                form);
  }

  SqsResponse get(std::string_view target) {
    return http(fmt::format("GET {} HTTP/1.1\r\nHost: broker.test:9324\r\n", target), "");
  }

  void make_queue(std::string_view name, std::string_view attributes = "{}") {
    const SqsResponse made = json(
        "CreateQueue", fmt::format(R"({{"QueueName":"{}","Attributes":{}}})", name, attributes));
    ASSERT_EQ(made.status, 200) << made.body;
  }

  // "SendMessage" with the members after QueueUrl.
  SqsResponse on_queue(std::string_view action, std::string_view members) {
    return json(action, fmt::format(R"({{"QueueUrl":"http://x/000000000000/q"{}{}}})",
                                    members.empty() ? "" : ",", members));
  }

  static void expect_error(const SqsResponse& answer, int status, std::string_view shape,
                           std::string_view text) {
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.body, error_json(shape, text));
  }

  static std::string error_json(std::string_view shape, std::string_view message) {
    return fmt::format(R"({{"__type":"{}","message":"{}"}})", shape, message);
  }

  FakeBroker broker;
  Instant now{1};
  Duration wall_ahead{0};  // the wall clock was set
  CallSettings config;
  HttpCall call;

 private:
  // A form is refused with the code and text of the JSON request that the broker never sees.
  void expect_same_refusal(const SqsResponse& refused, std::string_view form) {
    const auto of_json_only = {"SerializationException", "UnknownOperationException"};
    for (const std::string_view shape : of_json_only) {
      if (refused.body.contains(shape)) return;
    }
    if (form.empty()) return;
    const SqsResponse xml = query(form);
    const auto between = [&](std::string_view open, std::string_view close) {
      const std::size_t at = xml.body.find(open) + open.size();
      return xml_unescaped(xml.body.substr(at, xml.body.find(close, at) - at));
    };
    const std::string error = refused.header("x-amzn-query-error");
    EXPECT_EQ(between("<Code>", "</Code>"), error.substr(0, error.find(';'))) << form;
    std::string text = json_members(refused.body)->back().text;
    if (text == "The specified queue does not exist.") {
      text = "The specified queue does not exist for this wsdl version.";
    }
    EXPECT_EQ(between("<Message>", "</Message>"), text) << form;
  }

  static SqsResponse split(const std::string& out) {
    SqsResponse response;
    const std::size_t end = out.find("\r\n\r\n");
    EXPECT_NE(end, std::string::npos) << out;
    response.head = out.substr(0, end + 2);
    response.body = out.substr(end + 4);
    response.status = std::atoi(out.c_str() + 9);
    return response;
  }

  std::uint64_t requests_ = 0;
};

}  // namespace pawl

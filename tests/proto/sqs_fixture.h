// A broker in one file for the tests of the SQS shim: requests as text in, responses as text out.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/directory.h"
#include "proto/digest.h"
#include "proto/http.h"
#include "proto/sqs.h"

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
  struct Message {
    Seq seq = 0;
    std::string body, attributes, system;
    Duration delay;
  };

  Directory directory;
  std::vector<Message> messages;
  Errc refuse_with = Errc::ok;       // the request whole
  std::vector<Errc> refuse_entries;  // entry by entry; ok where it ends
  const Md5* body_md5 = nullptr;     // that was kept with all messages
  std::map<Op, int> seen;            // how often each Op was applied
  Request last;                      // as it came

  void apply(Request& request) {
    ++seen[request.op];
    last = request;
    request.error = refuse_with;
    if (refuse_with != Errc::ok) {
      request.differing = Attribute::visibility_timeout;
      return;
    }
    switch (request.op) {
      case Op::send:
        return send(request);
      case Op::receive:
        return receive(request);
      case Op::remove:
      case Op::change_visibility:
        return receipts(request);
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
      case Op::undeliver:
      case Op::none:
        FAIL() << "never routed";
    }
  }

 private:
  Errc error_of(std::size_t i) const {
    return i < refuse_entries.size() ? refuse_entries[i] : Errc::ok;
  }

  void send(Request& request) {
    for (std::size_t i = 0; i < request.sends.size(); ++i) {
      SendEntry& entry = request.sends[i];
      entry.error = error_of(i);
      if (entry.error != Errc::ok) continue;
      entry.seq = ++seq_;
      const Content& content = entry.content;
      messages.push_back({entry.seq, std::string(content.body), std::string(content.attributes),
                          std::string(content.system), entry.delay});
    }
  }

  void receive(Request& request) {
    for (const Message& message : messages) {
      if (request.delivered == request.receive.max) break;
      Delivery& delivery = request.deliveries[request.delivered++];
      delivery.seq = message.seq;
      delivery.handle.fill(static_cast<std::uint8_t>(message.seq));
      delivery.receive_count = 7;
      delivery.sent = Instant{1'700'000'000'123};
      delivery.first_received = Instant{1'700'000'000'456};
      delivery.content.body = message.body;
      delivery.content.attributes = message.attributes;
      delivery.content.system = message.system;
      delivery.content.body_md5 = body_md5;
    }
  }

  void receipts(Request& request) {
    for (std::size_t i = 0; i < request.receipts.size(); ++i) {
      if (request.receipts[i].error == Errc::ok) request.receipts[i].error = error_of(i);
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
    config->account = spec.account;
    config->name = spec.name;
    config->created = config->modified = Instant{1'700'000'000'000};
    for (const AttributeChange& change : spec.changes) config->apply(change);
    config->tags = spec.tags;
    directory.put(config);
    request.config = config;
  }

  void set(Request& request) {
    auto config = std::make_shared<QueueConfig>(**directory.find(request.queue));
    for (const AttributeChange& change : request.changes) config->apply(change);
    config->modified = Instant{1'700'000'060'000};
    directory.put(config);
    request.config = config;
  }

  Seq seq_ = 0;
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
    auto next = call.begin(parser.request(), broker.directory, config, Instant{1}, ++requests_);
    while (next == SqsCall::Next::route) {
      broker.apply(call.request());
      next = call.resume(broker.directory, config);
    }
    std::string out;
    call.write_response(out, "Thu, 01 Jan 1970 00:00:00 GMT");
    return split(out);
  }

  SqsResponse json(std::string_view action, std::string_view body, std::string_view path = "/",
                   std::string_view more = "x-amzn-query-mode: true\r\n") {
    return http(fmt::format("POST {} HTTP/1.1\r\nHost: broker.test:9324\r\n"
                            "X-Amz-Target: AmazonSQS.{}\r\n"
                            "Content-Type: application/x-amz-json-1.0\r\n{}",
                            path, action, more),
                body);
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

  static std::string error_json(std::string_view shape, std::string_view message) {
    return fmt::format(R"({{"__type":"{}","message":"{}"}})", shape, message);
  }

  FakeBroker broker;
  SqsConfig config;
  SqsCall call;

 private:
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

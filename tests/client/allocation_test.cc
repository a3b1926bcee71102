// SPDX-License-Identifier: Apache-2.0
// Binary calls, the client and the Producer allocate no memory in a steady state.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pawl/client.h>
#include <pawl/producer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "proto/binary/session.h"
#include "tests/core/allocations.h"

namespace pawl {
namespace {

std::string frame(BinaryOp op, std::string_view payload, std::uint32_t queue = 0) {
  std::string out;
  const std::size_t begin =
      begin_frame(out, {.op = static_cast<std::uint8_t>(op), .correlation = 1, .queue = queue});
  out.append(payload);
  finish_frame(out, begin);
  return out;
}

std::string hello_payload() {
  std::string payload;
  put(payload, binary_magic);
  put(payload, binary_major);
  put(payload, binary_minor);
  put(payload, std::uint32_t{0});
  put(payload, std::uint8_t{0});
  put_short(payload, "");
  return payload;
}

TEST(BinaryCallMemory, IsNotAskedForOnceTheBuffersHaveGrown) {
  BinarySettings config;
  config.secret.fill(1);
  Directory directory;
  auto queue = std::make_shared<QueueConfig>();
  queue->id = QueueId{1};
  queue->account = config.account;
  queue->name = "q";
  directory.put(queue);
  BinarySession session;
  BinaryCall call;
  std::string out;

  std::string send;
  put(send, std::uint32_t{10});
  for (int i = 0; i < 10; ++i) {
    put(send, std::uint32_t{128});
    send.append(128, 'a');
  }
  std::string receive;
  put(receive, std::uint32_t{10});
  for (int i = 0; i < 3; ++i) put(receive, std::uint32_t{0});
  std::string receipts;
  put(receipts, std::uint32_t{10});
  receipts.append(10 * receipt_bytes, 'r');
  const std::string body(128, 'b');
  const std::string opening[] = {frame(BinaryOp::hello, hello_payload()),
                                 frame(BinaryOp::open_queue, std::string_view("\0\0\1\0q", 5))};
  const std::string steady[] = {
      frame(BinaryOp::send, send, 1), frame(BinaryOp::receive, receive, 1),
      frame(BinaryOp::delete_message, receipts, 1), frame(BinaryOp::stats, "", 1)};
  const auto run = [&](const std::string& bytes) {
    out.clear();
    BinaryCall::Next next = call.begin(session, bytes, directory, config);
    while (next == BinaryCall::Next::route) {
      Request& request = call.request();
      for (Delivery& delivery : request.deliveries) delivery.content.body = body;
      request.delivered = static_cast<std::uint32_t>(request.deliveries.size());
      next = call.resume(session, directory, config);
    }
    call.write_response(out);
  };
  for (const std::string& bytes : opening) run(bytes);
  for (int i = 0; i < 3; ++i) {
    for (const std::string& bytes : steady) run(bytes);
  }
  const std::uint64_t before = test::allocations();
  for (int i = 0; i < 1000; ++i) {
    for (const std::string& bytes : steady) run(bytes);
  }
  EXPECT_EQ(test::allocations(), before);
}

// Answers HELLO, OPEN_QUEUE and SENDs from fixed buffers until the client closes.
class CannedServer {
 public:
  CannedServer() {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~CannedServer() {
    thread_.join();
    ::close(listener_);
  }
  std::uint16_t port() const { return port_; }

 private:
  void serve() {
    std::string in(1 << 20, '\0');
    std::string out;
    out.reserve(1 << 20);
    const int socket = ::accept(listener_, nullptr, nullptr);
    std::size_t filled = 0;
    while (true) {
      const ssize_t n = ::recv(socket, in.data() + filled, in.size() - filled, 0);
      if (n <= 0) break;
      filled += static_cast<std::size_t>(n);
      std::size_t taken = 0;
      out.clear();
      while (filled - taken >= frame_header_bytes) {
        const std::string_view rest = std::string_view(in).substr(taken, filled - taken);
        const auto header = parse_header(rest);
        if (!header || rest.size() < header->length) break;
        std::uint32_t count = 0;  // of messages in a SEND
        std::memcpy(&count, rest.data() + frame_header_bytes, sizeof count);
        answer(*header, count, out);
        taken += header->length;
      }
      std::memmove(in.data(), in.data() + taken, filled - taken);
      filled -= taken;
      if (::send(socket, out.data(), out.size(), MSG_NOSIGNAL) < 0) break;
    }
    ::close(socket);
  }

  static void answer(FrameHeader header, std::uint32_t count, std::string& out) {
    header.flags = flag_answer;
    const std::size_t begin = begin_frame(out, header);
    if (header.op == static_cast<std::uint8_t>(BinaryOp::hello)) {
      put(out, binary_major);
      put(out, binary_minor);
      put(out, feature_groups);
      put(out, frame_bytes_max);
      put(out, std::uint32_t{64});
      put(out, std::uint32_t{1 << 20});
      out.append(4 + 8 + 4 + 4 + 2 + 2, '\0');  // entries to the empty challenge
    } else if (header.op == static_cast<std::uint8_t>(BinaryOp::open_queue)) {
      out.append(7 * 4, '\0');
    } else {
      put(out, count);
      out.append(count * (2 + 8 + 16), '\0');
    }
    finish_frame(out, begin);
  }

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST(ClientMemory, IsNotAskedForOnceTheBuffersHaveGrown) {
  CannedServer server;
  Client::Options options;
  options.port = server.port();
  auto client = Client::connect(options);
  ASSERT_TRUE(client);
  const auto queue = client->open_queue("q");
  ASSERT_TRUE(queue);
  const std::string body(128, 'b');
  const Client::Attribute attributes[] = {
      {"A", "String", "x"}
  };
  const Client::Outgoing message[] = {
      {.body = body, .attributes = attributes}
  };
  std::vector<Client::Completion> completions;
  completions.reserve(64);
  std::uint64_t done = 0;
  const auto run = [&](std::uint64_t count) {
    const std::uint64_t end = done + count;
    while (done < end) {
      while (client->submit_send(*queue, message)) continue;
      const auto polled = client->poll(completions, std::chrono::seconds(5));
      ASSERT_TRUE(polled);
      done += *polled;
    }
  };
  run(10'000);
  const std::uint64_t before = test::allocations();
  run(100'000);
  EXPECT_EQ(test::allocations(), before);
}

// Many messages are in flight; each completion sends the next one.
TEST(ProducerMemory, IsNotAskedForOnceTheBuffersHaveGrown) {
  CannedServer server;
  struct Load {
    Producer* producer = nullptr;
    std::uint64_t completed = 0, refused = 0;
    std::string body = std::string(128, 'b');
    Client::Attribute attributes[1] = {
        {"A", "String", "x"}
    };
    void send() {
      const Client::Outgoing message{.body = body, .attributes = attributes};
      refused += producer->send(message, completed).accepted() ? 0 : 1;
    }
  } load;
  const auto on_complete = [](void* context, std::uint64_t, const Client::Result<Client::Sent>&) {
    auto& self = *static_cast<Load*>(context);
    ++self.completed;
    self.send();
  };
  Producer::Options options{.queue = "q"};
  options.endpoint.connection.port = server.port();
  auto producer = Producer::create_on_loop(options, on_complete, &load);
  ASSERT_TRUE(producer);
  load.producer = &*producer;
  for (int i = 0; i < 5000; ++i) load.send();
  const auto run = [&](std::uint64_t count) {
    for (const std::uint64_t end = load.completed + count; load.completed < end;)
      producer->on_ready(Producer::Clock::now());
  };
  run(20'000);
  const std::uint64_t before = test::allocations();
  run(200'000);
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ(load.refused, 0u);
}

// Messages of many sizes fill the memory again and again. What this thread has allocated is the
// Producer's: messages, bookkeeping and buffers.
TEST(ProducerMemory, StaysBelowItsLimit) {
  CannedServer server;
  const test::BrokerMemory counted;
  const std::uint64_t before = test::BrokerMemory::held();
  std::uint64_t completed = 0, accepted = 0, most = 0;
  const auto on_complete = [](void* context, std::uint64_t, const Client::Result<Client::Sent>&) {
    ++*static_cast<std::uint64_t*>(context);
  };
  Producer::Options options{.queue = "q", .memory_limit = 1 << 20};
  options.endpoint.connection.port = server.port();
  auto producer = Producer::create_on_loop(options, on_complete, &completed);
  ASSERT_TRUE(producer);
  constexpr char bytes[100'000] = {};
  int full = 0;
  for (std::uint64_t number = 0; full < 50 || completed < accepted; ++number) {
    const std::string_view body(bytes, 1 + number * 7919 % (number % 10 == 0 ? sizeof bytes : 500));
    if (full < 50) {
      const SendResult result = producer->send({.body = body}, number);
      accepted += result.accepted() ? 1 : 0;
      if (result.accepted()) continue;
      EXPECT_EQ(result.status, SendResult::Status::full);
      ++full;
    }
    const std::uint64_t done = completed;
    while (completed == done && done < accepted) producer->on_ready(Producer::Clock::now());
    most = std::max(most, test::BrokerMemory::held() - before);
  }
  EXPECT_GT(accepted, 1000u);
  EXPECT_LE(most, options.memory_limit);
  EXPECT_GT(most, options.memory_limit / 2);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// A server for one test, with real rings, sockets and files, on free loopback ports.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/server/server.h"
#include "pawl/client.h"

namespace pawl {

inline std::uint16_t port_of(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

// A connected socket, or -errno.
inline int try_connect(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  ::close(fd);
  return -error;
}

// A connected socket whose reads time out after a minute.
inline int connect_to(std::uint16_t port) {
  const int fd = try_connect(port);
  EXPECT_GE(fd, 0) << -fd;
  timeval limit{.tv_sec = 60, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return fd;
}

class LiveServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pawl-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    options_.data = directory_ + "/data";
    options_.http = options_.admin = options_.binary = "127.0.0.1:0";
    options_.shards = 2;
    if (const char* io = std::getenv("PAWL_SERVER_IO"); io != nullptr) options_.io = io;
    options_.segment_bytes = 8 << 20;
    options_.memory = 256 << 20;
    // Only the tests of these times depend on them: a slow machine closes no connection.
    options_.times = {.head = seconds(3600), .body = seconds(3600), .idle = seconds(3600)};
  }
  void TearDown() override {
    if (server_) server_->stop();
    server_.reset();
    std::filesystem::remove_all(directory_);
  }
  void start() {
    auto server = Server::start(options_);
    // On a slow disk the kernel keeps the lock of the server before until its last write has ended.
    for (int i = 0; i < 100 && !server && server.error().text.contains("in use by another"); ++i)
      server = Server::start(options_);
    ASSERT_TRUE(server) << server.error().text;
    server_ = std::move(*server);
  }
  std::uint16_t port(Protocol protocol) const { return port_of(server_->address(protocol)); }
  int connect_http() const { return connect_to(port(Protocol::http)); }
  Client::Options client_options() const {
    Client::Options options;
    options.port = port(Protocol::binary);
    return options;
  }

  std::string directory_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

// A live server and its client.
class LiveClientTest : public LiveServerTest {
 protected:
  void connect() {
    auto client = Client::connect(client_options());
    ASSERT_TRUE(client) << Client::name_of(client.error().code);
    client_.emplace(std::move(*client));
  }
  void restart() {
    client_.reset();
    server_->stop();
    server_.reset();
    options_.shards = 0;  // the directory's own number
    start();
    connect();
  }

  std::optional<Client> client_;
};

inline std::string json_request(const std::string& action, const std::string& body,
                                const std::string& more_headers = {}) {
  return "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS." + action +
         "\r\nContent-Type: application/x-amz-json-1.0\r\n" + more_headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// End of the response that begins there; npos: it is not complete.
inline std::size_t end_of_response(const std::string& text, std::size_t begin) {
  constexpr std::string_view length = "Content-Length: ", ending = "\r\n0\r\n\r\n";
  const std::size_t head = text.find("\r\n\r\n", begin);
  if (head == std::string::npos) return head;
  if (const std::size_t at = text.find(length, begin); at < head) {
    const std::size_t end = head + 4 + std::stoul(text.substr(at + length.size()));
    return end <= text.size() ? end : std::string::npos;
  }
  if (text.find("Transfer-Encoding: chunked", begin) > head) return head + 4;
  const std::size_t end = text.find(ending, head);
  return end == std::string::npos ? end : end + ending.size();
}

// Calls `read` (bytes into a buffer, like recv) until `count` whole responses arrived or it ends.
template <typename Read>
std::string read_responses(Read&& read, int count) {
  std::string text;
  char bytes[16384];
  for (;;) {
    int whole = 0;
    for (std::size_t at = 0; (at = end_of_response(text, at)) != std::string::npos;) ++whole;
    if (whole >= count) return text;
    const ssize_t n = read(bytes, sizeof bytes);
    if (n <= 0) return text;
    text.append(bytes, static_cast<std::size_t>(n));
  }
}

inline std::string read_responses(int fd, int count) {
  return read_responses([fd](char* into, std::size_t size) { return recv(fd, into, size, 0); },
                        count);
}

inline void send_all(int fd, const std::string& bytes) {
  ASSERT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

// True if the server responds on the connection; false if it closes it at once.
inline bool is_served(int fd) {
  const std::string request = json_request("ListQueues", "{}");
  send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  return read_responses(fd, 1).starts_with("HTTP/1.1 200");
}

// Seconds until the server closes the connection by itself.
inline double closed_after(int fd) {
  const auto begun = std::chrono::steady_clock::now();
  char byte = 0;
  EXPECT_EQ(recv(fd, &byte, 1, 0), 0);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace pawl

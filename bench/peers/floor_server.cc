// SPDX-License-Identifier: Apache-2.0
// bench_floor: servers that do nothing, for the floors of a measurement.
//
//   bench_floor echo    returns the bytes that it receives
//   bench_floor http    answers each request with the same response
//
// Prints its port on loopback, then serves until it is killed. One thread, epoll, level-triggered.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::string_view response_body =
    "{\"MD5OfMessageBody\":\"00000000000000000000000000000000\",\"MessageId\":"
    "\"0000000000000000\"}";
const std::string response =
    "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: " +
    std::to_string(response_body.size()) + "\r\n\r\n" + std::string(response_body);

// Bytes of the request at the front; 0: incomplete.
std::size_t request_bytes(std::string_view bytes) {
  constexpr std::string_view length_header = "\r\nContent-Length: ";
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == bytes.npos) return 0;
  const std::size_t at = bytes.find(length_header);
  std::size_t length = 0;
  if (at < end)
    std::from_chars(bytes.data() + at + length_header.size(), bytes.data() + end, length);
  const std::size_t whole = end + 4 + length;
  return bytes.size() < whole ? 0 : whole;
}

struct Peer {
  std::string in, out;
};

class FloorServer {
 public:
  explicit FloorServer(bool http) : http_(http) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_, any, size) == 0 && ::listen(listener_, 1024) == 0 &&
          ::getsockname(listener_, any, &size) == 0);
    watch(listener_);
    std::printf("%d\n", ntohs(address.sin_port));
    std::fflush(stdout);
  }

  void serve() {
    while (true) {
      epoll_event events[256];
      const int count = ::epoll_wait(epoll_, events, 256, -1);
      for (int i = 0; i < count; ++i) {
        const int socket = events[i].data.fd;
        if (socket == listener_) {
          accept();
        } else if (!turn(socket)) {
          peers_.erase(socket);
          ::close(socket);
        }
      }
    }
  }

 private:
  void watch(int socket) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
    CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) == 0);
  }

  void accept() {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    peers_[socket];
    watch(socket);
  }

  // False: the connection is over. A blocking send is enough: responses are short.
  bool turn(int socket) {
    Peer& peer = peers_[socket];
    char buffer[64 << 10];
    const ssize_t n = ::recv(socket, buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    peer.in.append(buffer, static_cast<std::size_t>(n));
    respond(peer);
    const bool sent =
        ::send(socket, peer.out.data(), peer.out.size(), MSG_NOSIGNAL) >= 0 || peer.out.empty();
    peer.out.clear();
    return sent;
  }

  void respond(Peer& peer) const {
    if (!http_) {
      peer.out.swap(peer.in);
      return;
    }
    std::size_t taken = 0;
    while (const std::size_t bytes = request_bytes(std::string_view(peer.in).substr(taken))) {
      peer.out += response;
      taken += bytes;
    }
    peer.in.erase(0, taken);
  }

  bool http_;
  int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::map<int, Peer> peers_;
};

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) {
  const std::string_view mode = argc == 2 ? argv[1] : "";
  if (mode != "echo" && mode != "http") {
    std::fprintf(stderr, "usage: bench_floor echo|http\n");
    return 2;
  }
  pawl::FloorServer(mode == "http").serve();
}

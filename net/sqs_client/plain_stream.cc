// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/plain_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "net/client/socket.h"

namespace pawl::sqs_client {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t read_bytes = 64 << 10;

class PlainStream : public Stream {
 public:
  explicit PlainStream(client::Socket socket) : socket_(std::move(socket)) {}

  Count send(std::string_view bytes) override {
    const ssize_t n = ::send(descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n < 0) return std::unexpected(std::strerror(errno));
    CHECK(static_cast<std::size_t>(n) <= bytes.size(), "{} bytes are sent of {}", n, bytes.size());
    return static_cast<std::size_t>(n);
  }

  Count receive(std::string& into) override {
    const std::size_t before = into.size();
    into.resize(before + read_bytes);
    const ssize_t n = ::recv(descriptor(), into.data() + before, read_bytes, MSG_DONTWAIT);
    const int error = errno;
    into.resize(before + (n > 0 ? static_cast<std::size_t>(n) : 0));
    if (n == 0) return std::unexpected("end of the stream");
    if (n < 0 && (error == EAGAIN || error == EINTR)) return 0;
    if (n < 0) return std::unexpected(std::strerror(error));
    return static_cast<std::size_t>(n);
  }

  int descriptor() const override { return socket_.descriptor(); }

 private:
  client::Socket socket_;
};

// A connected socket, or errno.
std::expected<client::Socket, int> connect_one(const client::Address& address,
                                               SteadyClock::time_point deadline) {
  auto socket = client::Socket::open(address);
  if (!socket) return std::unexpected(socket.error());
  if (!wait_until(socket->descriptor(), POLLOUT, deadline)) return std::unexpected(ETIMEDOUT);
  const auto connected = socket->connected();
  if (!connected) return std::unexpected(connected.error());
  if (!*connected) return std::unexpected(ETIMEDOUT);
  return socket;
}

}  // namespace

CallError unreachable_error(const Endpoint& endpoint, const std::string& reason) {
  return {.kind = ErrorKind::unreachable,
          .text = "cannot reach " + url_of(endpoint) + ": " + reason +
                  ". Is the server running, and is this its HTTP port? `pawl serve` starts one."};
}

OpenedStream open_plain_stream(const Endpoint& endpoint, const StreamOptions& options) {
  CHECK(!endpoint.tls, "a plain stream to {}", url_of(endpoint));
  CHECK(options.connect_timeout.count() > 0, "a timeout of {} ms", options.connect_timeout.count());
  const auto addresses = client::resolve(endpoint.host, endpoint.port);
  if (!addresses)
    return std::unexpected(unreachable_error(endpoint, "the host name has no address"));
  const SteadyClock::time_point deadline = SteadyClock::now() + options.connect_timeout;
  int error = 0;
  for (const client::Address& address : *addresses) {
    auto socket = connect_one(address, deadline);
    if (socket) return std::make_unique<PlainStream>(std::move(*socket));
    error = socket.error();
  }
  CHECK(error != 0, "no address of {} was tried", endpoint.host);
  const std::string reason =
      error == ETIMEDOUT
          ? "no connection within " + std::to_string(options.connect_timeout.count()) + " ms"
          : std::strerror(error);
  return std::unexpected(unreachable_error(endpoint, reason));
}

}  // namespace pawl::sqs_client

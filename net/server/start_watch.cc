// SPDX-License-Identifier: Apache-2.0
#include "net/server/start_watch.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "net/connection/connection_host.h"
#include "net/events/event_log.h"
#include "net/io/listen.h"
#include "proto/http/parser.h"

namespace pawl {
namespace {

constexpr std::chrono::milliseconds report_every{5000};
constexpr int patience_ms = 250;  // for the next bytes of a client
constexpr int reads_max = 16;

// The bytes of a client, with TLS or without.
class ProbeStream {
 public:
  explicit ProbeStream(const TlsContext* context) {
    if (context != nullptr) tls_.emplace(*context, "http/1.1", openssl_bytes_);
  }

  // The plain bytes, until the next call.
  std::string_view open(std::string_view received) {
    if (!tls_) return received;
    if (!tls_->begun() && begins_as_http(received)) {
      append_response(tls_->out(), 400, "text/plain; charset=utf-8", {}, {},
                      "This port of pawl speaks TLS.\n", false, false, {});
      over_ = true;
      return {};
    }
    plain_.clear();
    tls_->feed(received);
    for (Tls::Read read = Tls::Read::data; read == Tls::Read::data;) {
      char bytes[1024];
      std::size_t count = 0;
      read = tls_->read(bytes, count);
      plain_.append(bytes, count);
      over_ = read == Tls::Read::failed || read == Tls::Read::closed;
    }
    tls_->feed({});
    return plain_;
  }
  void write(std::string_view plain) {
    if (!tls_) {
      out_ += plain;
    } else if (tls_->write(plain) == plain.size()) {
      tls_->close();
    }
  }
  std::string& out() { return tls_ ? tls_->out() : out_; }
  bool over() const { return over_; }

 private:
  std::int64_t openssl_bytes_ = 0;
  std::optional<Tls> tls_;
  std::string plain_, out_;
  bool over_ = false;
};

// The bytes are few and the socket new: its send buffer has space. False: there are none, or the
// client is gone.
bool send_now(int socket, std::string& bytes) {
  const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  bytes.clear();
  return sent > 0;
}

}  // namespace

StartWatch::StartWatch(Port port, std::span<const RecoveryProgress> shards,
                       const ServiceManager& manager)
    : port_(std::move(port)), end_fd_(eventfd(0, EFD_CLOEXEC)), shards_(shards), manager_(manager) {
  CHECK(end_fd_ >= 0 && listen_on(port_.listener, 16) == 0, "{}", std::strerror(errno));
  thread_ = std::thread([this] { run(); });
}

StartWatch::~StartWatch() {
  const std::uint64_t one = 1;
  CHECK(::write(end_fd_, &one, sizeof one) == sizeof one, "{}", std::strerror(errno));
  thread_.join();
  ::close(end_fd_);
}

void StartWatch::run() {
  manager_.progress(text());
  for (auto report_at = begun_ + report_every;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        report_at - std::chrono::steady_clock::now());
    const bool asked = readable(port_.listener, std::max(0, static_cast<int>(left.count()) + 1));
    if (over_) return;
    if (std::chrono::steady_clock::now() >= report_at) {  // also while a client asks often
      report_at += report_every;
      const std::string progress = text();
      emit(Event{EventCode::recovery_progress, progress});
      manager_.progress(progress);
    }
    if (!asked) continue;
    const int socket = ::accept4(port_.listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;  // the client has disconnected
    answer(socket);
    ::close(socket);
  }
}

// Whether the socket became readable within the time, and before the end.
bool StartWatch::readable(int socket, int timeout_ms) {
  pollfd ready[] = {
      {.fd = end_fd_, .events = POLLIN, .revents = 0},
      {.fd = socket,  .events = POLLIN, .revents = 0}
  };
  ::poll(ready, 2, timeout_ms);
  over_ = ready[0].revents != 0;
  return !over_ && ready[1].revents != 0;
}

void StartWatch::answer(int socket) {
  ProbeStream stream(port_.tls.get());
  HttpParser parser;
  HttpParser::State state = HttpParser::State::need_more;
  char bytes[1024];
  for (int reads = 0; state == HttpParser::State::need_more && reads < reads_max; ++reads) {
    if (!readable(socket, patience_ms)) return;
    const ssize_t n = ::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0) return;
    const std::string_view plain = stream.open({bytes, static_cast<std::size_t>(n)});
    std::size_t consumed = 0;
    if (!plain.empty()) state = parser.feed(plain, consumed);
    send_now(socket, stream.out());
    if (stream.over()) break;
  }
  if (state == HttpParser::State::complete) stream.write(response_to(parser.request()));
  if (send_now(socket, stream.out())) ::shutdown(socket, SHUT_WR);
}

std::string StartWatch::response_to(const HttpRequest& request) const {
  int status = 403;
  std::string body = port_.guard.refuse(request);
  if (body.empty()) {
    const bool alive = request.path == "/livez";
    status = alive ? 200 : 503;
    body = alive ? "ok\n" : text() + "\n";
  }
  std::string out;
  append_response(out, status, "text/plain; charset=utf-8", {}, {}, body, false,
                  request.method == "HEAD", {}, request.version_minor);
  return out;
}

std::string StartWatch::text() const {
  std::uint64_t read = 0, total = 0;
  for (const RecoveryProgress& shard : shards_) {
    read += shard.read.load(std::memory_order_relaxed);
    total += shard.total.load(std::memory_order_relaxed);
  }
  if (total == 0) return "starting: the log is being opened";
  read = std::min(read, total);
  constexpr std::uint64_t mib = 1 << 20;
  const std::uint64_t percent = read * 100 / total;
  const double passed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  const std::string left =
      percent == 0
          ? ""
          : fmt::format(
                ", about {:.0f} s left",
                passed * static_cast<double>(total - read) / static_cast<double>(read) + 0.5);
  return fmt::format("starting: {} % of the log is read, {} of {} MiB{}", percent, read / mib,
                     total / mib, left);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// TLS of the client, against OpenSSL's own server.
#include "net/client/secure.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "core/base/check.h"
#include "tests/net/tls_peer.h"

namespace pawl::client {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

struct Free {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// Completes the handshake. Null if it fails or takes longer than `timeout`.
std::unique_ptr<Secure> start(int descriptor, const TlsOptions& options,
                              std::chrono::milliseconds timeout) {
  std::unique_ptr<Secure> secure = Secure::begin(descriptor, options);
  while (secure) {
    const Handshake state = secure->handshake();
    if (state == Handshake::done) return secure;
    const short events = state == Handshake::want_read ? POLLIN : POLLOUT;
    pollfd entry{.fd = descriptor, .events = events, .revents = 0};
    const int limit = static_cast<int>(timeout.count());
    if (state == Handshake::failed || ::poll(&entry, 1, limit) <= 0) secure.reset();
  }
  return secure;
}

class SecureTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pawl-secure-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    files_ = make_certificate(directory_, "server");
    connect();
  }
  void TearDown() override {
    client_.reset();
    server_.reset();
    close_all();
    std::filesystem::remove_all(directory_);
  }
  void close_all() {
    for (int& fd : fds_) {
      if (fd >= 0) ::close(fd);
      fd = -1;
    }
  }
  // A new pair of sockets; the client's does not block.
  void connect() {
    client_.reset();
    server_.reset();
    close_all();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds_.data()) == 0);
    CHECK(fcntl(fds_[0], F_SETFL, O_NONBLOCK) == 0);
  }
  // Handshakes on both ends at once.
  bool handshake(const TlsOptions& options) {
    context_.reset(SSL_CTX_new(TLS_server_method()));
    CHECK(SSL_CTX_use_certificate_file(context_.get(), files_.certificate.c_str(),
                                       SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(context_.get(), files_.key.c_str(), SSL_FILETYPE_PEM) == 1);
    SSL_CTX_set_num_tickets(context_.get(), 0);
    server_.reset(SSL_new(context_.get()));
    SSL_set_fd(server_.get(), fds_[1]);
    std::thread accepting([this] {
      // OpenSSL's own sockets raise SIGPIPE, unlike those of the client.
      sigset_t broken_pipe;
      sigemptyset(&broken_pipe);
      sigaddset(&broken_pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
      SSL_accept(server_.get());
    });
    client_ = start(fds_[0], options, 10s);
    if (!client_) shutdown(fds_[0], SHUT_RDWR);
    accepting.join();
    return client_ != nullptr;
  }
  void server_sends(std::string_view bytes) {
    std::size_t sent = 0;
    ASSERT_EQ(SSL_write_ex(server_.get(), bytes.data(), bytes.size(), &sent), 1);
  }
  void wait_until_readable() const {
    pollfd entry{.fd = fds_[0], .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&entry, 1, 10'000), 1);
  }

  std::string directory_;
  CertificateFiles files_;
  std::array<int, 2> fds_{-1, -1};  // client, server
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> server_;
  std::unique_ptr<Secure> client_;
};

TEST_F(SecureTest, StartsOnlyWithACertificateThatIsTrustedAndForTheHost) {
  const CertificateFiles other = make_certificate(directory_, "other");
  const struct {
    const char* name;
    TlsOptions options;
    bool starts;
  } cases[] = {
      {"trusted",          {.host = "127.0.0.1", .ca_file = files_.certificate},  true },
      {"not verified",     {.host = "127.0.0.1", .ca_file = "", .verify = false}, true },
      {"of another CA",    {.host = "127.0.0.1", .ca_file = other.certificate},   false},
      {"of a system's CA", {.host = "127.0.0.1", .ca_file = ""},                  false},
      {"another address",  {.host = "127.0.0.2", .ca_file = files_.certificate},  false},
      {"another name",     {.host = "localhost", .ca_file = files_.certificate},  false},
      {"no CA file",       {.host = "127.0.0.1", .ca_file = "/none"},             false},
  };
  for (const auto& c : cases) {
    connect();
    EXPECT_EQ(handshake(c.options), c.starts) << c.name;
  }
}

TEST_F(SecureTest, GivesUpOnASilentServerAndOnOneWithoutTls) {
  const TlsOptions options{.host = "127.0.0.1", .ca_file = files_.certificate};
  EXPECT_EQ(start(fds_[0], options, 10ms), nullptr);
  connect();
  const std::string answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
  ASSERT_EQ(::write(fds_[1], answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
  EXPECT_EQ(start(fds_[0], options, 10s), nullptr);
}

TEST_F(SecureTest, ReadsAndWritesWithoutWaiting) {
  ASSERT_TRUE(handshake({.host = "127.0.0.1", .ca_file = files_.certificate}));
  std::array<char, 100> into{};
  EXPECT_EQ(client_->read(into), 0u) << "nothing has arrived";
  const std::string bytes(64 << 10, 'x');
  std::size_t total = 0;
  for (std::size_t n = 1; n > 0 && total < 64 << 20; total += n) {
    const auto written = client_->write(bytes);
    ASSERT_TRUE(written);
    n = *written;
  }
  EXPECT_LT(total, std::size_t{64} << 20) << "the server reads nothing";
}

// poll(2) does not report the rest of a record.
TEST_F(SecureTest, ReportsTheRestOfARecordAsPending) {
  ASSERT_TRUE(handshake({.host = "127.0.0.1", .ca_file = files_.certificate}));
  EXPECT_EQ(client_->pending(), 0u);
  server_sends(std::string(10'000, 'x'));
  wait_until_readable();
  std::array<char, 100> into{};
  EXPECT_EQ(client_->read(into), into.size());
  EXPECT_EQ(client_->pending(), 10'000 - into.size());
  std::string rest(10'000, '\0');
  EXPECT_EQ(client_->read(rest), 10'000 - into.size());
  EXPECT_EQ(client_->pending(), 0u);
}

TEST_F(SecureTest, DistinguishesTheEndOfTheStreamFromAFailure) {
  std::array<char, 100> into{};
  ASSERT_TRUE(handshake({.host = "127.0.0.1", .ca_file = files_.certificate}));
  server_sends("last");
  SSL_shutdown(server_.get());
  wait_until_readable();
  EXPECT_EQ(client_->read(into), 4u);
  const auto ended = client_->read(into);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error(), ECONNRESET);

  connect();
  ASSERT_TRUE(handshake({.host = "127.0.0.1", .ca_file = files_.certificate}));
  ASSERT_EQ(::write(fds_[1], "this is no record of TLS", 24), 24);
  const auto failed = client_->read(into);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), EPROTO);

  connect();
  ASSERT_TRUE(handshake({.host = "127.0.0.1", .ca_file = files_.certificate}));
  ::close(fds_[1]);
  fds_[1] = -1;
  const auto cut = client_->read(into);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error(), ECONNRESET) << "closed without the alert";
}

// The process would die of a SIGPIPE.
TEST_F(SecureTest, SurvivesAWriteToAServerThatHasClosed) {
  ASSERT_TRUE(handshake({.host = "127.0.0.1", .ca_file = files_.certificate}));
  ::close(fds_[1]);
  fds_[1] = -1;
  const auto written = client_->write("x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error(), EPIPE);
}

}  // namespace
}  // namespace pawl::client

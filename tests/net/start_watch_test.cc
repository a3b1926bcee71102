// SPDX-License-Identifier: Apache-2.0
#include "net/server/start_watch.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "net/events/event_log.h"
#include "net/io/listen.h"
#include "tests/net/live_server.h"
#include "tests/net/manager_socket.h"
#include "tests/net/tls_peer.h"

namespace pawl {
namespace {

class StartWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto bound = bind_to("admin", "127.0.0.1:0", false);
    ASSERT_TRUE(bound) << bound.error();
    listener_ = *bound;
  }
  void TearDown() override { ::close(listener_); }

  int connect() const { return connect_to(port_of(address_text(listener_))); }
  std::string ask(const std::string& request) const {
    const int socket = connect();
    send_all(socket, request);
    std::string answer = read_responses(socket, 1);
    ::close(socket);
    return answer;
  }
  std::string get(const std::string& path, const std::string& host = "localhost") const {
    return ask("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  }

  int listener_ = -1;
  HttpGuard guard_{[] {
    HttpGuardRules rules;
    rules.ask = true;
    return rules;
  }()};
  RecoveryProgress progress_[2];
};

TEST_F(StartWatchTest, SaysHowFarTheStartIs) {
  const StartWatch watch({listener_, guard_}, progress_);
  EXPECT_NE(get("/readyz").find("503"), std::string::npos);
  progress_[0].read = 100 << 20;
  progress_[0].total = 200 << 20;
  progress_[1].read = 10 << 20;
  progress_[1].total = 50 << 20;
  const std::string answer = get("/readyz");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_NE(answer.find("44 % of the log is read, 110 of 250 MiB, about "), std::string::npos)
      << answer;
  EXPECT_TRUE(get("/livez").starts_with("HTTP/1.1 200 "));
}

TEST_F(StartWatchTest, KeepsForeignPagesOut) {
  const StartWatch watch({listener_, guard_}, progress_);
  EXPECT_TRUE(get("/readyz", "evil.example").starts_with("HTTP/1.1 403 "));
}

TEST_F(StartWatchTest, TellsTheServiceManagerThatTheStartMayTakeLonger) {
  const ManagerSocket socket("@pawl-start-" + std::to_string(::getpid()));
  const ServiceManager manager({.socket = socket.name()}, 0);
  progress_[0].total = 200 << 20;
  const StartWatch watch({listener_, guard_}, progress_, manager);
  EXPECT_EQ(
      socket.next(),
      "STATUS=starting: 0 % of the log is read, 0 of 200 MiB\nEXTEND_TIMEOUT_USEC=60000000\n");
  progress_[0].read = 100 << 20;
  event_log().write_as(LogFormat::json);
  testing::internal::CaptureStderr();
  std::string later;  // probes of the admin port must not hold the next report back
  for (int i = 0; i < 100 && later.empty(); ++i) {
    EXPECT_FALSE(get("/livez").empty());
    later = socket.next(100);
  }
  event_log().write_as(LogFormat::text);
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(lines.contains(name_of(EventCode::recovery_progress))) << lines;
  EXPECT_TRUE(later.starts_with("STATUS=starting: 50 % ")) << later;
  EXPECT_TRUE(later.ends_with("\nEXTEND_TIMEOUT_USEC=60000000\n")) << later;
}

TEST_F(StartWatchTest, SpeaksTlsWhereTheServerWill) {
  const CertificateFiles files = make_certificate(testing::TempDir(), "localhost");
  const auto tls = TlsContext::load(files.certificate, files.key);
  ASSERT_TRUE(tls) << tls.error();
  const StartWatch watch({listener_, guard_, *tls}, progress_);
  for (const auto& [path, status] : {
           std::pair{"/livez",  "200"},
           std::pair{"/readyz", "503"}
  }) {
    TlsPeer peer(connect());
    ASSERT_TRUE(peer.connected());
    ASSERT_TRUE(peer.send(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path)));
    char answer[1024];
    const long got = peer.read(answer, sizeof answer);
    ASSERT_GT(got, 0);
    EXPECT_TRUE(std::string_view(answer, static_cast<std::size_t>(got))
                    .starts_with(fmt::format("HTTP/1.1 {} ", status)));
    EXPECT_EQ(peer.read(answer, sizeof answer), 0) << "the stream ends in order";
  }
  const std::string plain = get("/livez");
  EXPECT_TRUE(plain.starts_with("HTTP/1.1 400 ")) << plain;
  EXPECT_TRUE(plain.contains("This port of pawl speaks TLS.")) << plain;
}

TEST_F(StartWatchTest, EndsWhileSomebodyIsSlow) {
  int socket = -1;
  {
    const StartWatch watch({listener_, guard_}, progress_);
    socket = connect();
    send_all(socket, "GET");
  }
  ::close(socket);
}

TEST_F(StartWatchTest, HangsUpOnWhatIsNoRequest) {
  const StartWatch watch({listener_, guard_}, progress_);
  EXPECT_EQ(ask("\x16\x03\x01 nonsense\r\n\r\n"), "");
  EXPECT_EQ(ask("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x')), "");
  EXPECT_TRUE(get("/livez").starts_with("HTTP/1.1 200 ")) << "and goes on with others";
}

}  // namespace
}  // namespace pawl

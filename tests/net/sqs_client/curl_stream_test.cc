// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/curl_stream.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/net/live_server.h"
#include "tests/net/sqs_client/scripted_peer.h"
#include "tests/net/tls_peer.h"

namespace pawl::sqs_client {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class CurlStreamTest : public LiveServerTest {
 protected:
  void SetUp() override {
    LiveServerTest::SetUp();
    ::setenv("no_proxy", "127.0.0.1", 1);  // libcurl reads it
    const CertificateFiles files = make_certificate(directory_, "first");
    options_.tls_certificate = files.certificate;
    options_.tls_key = files.key;
    trusting_.ca_file = files.certificate;
    start();
  }
  Endpoint endpoint(const char* host = "127.0.0.1") const {
    return {.tls = true, .host = host, .port = port(Protocol::http)};
  }
  StreamOptions trusting_;
};

TEST_F(CurlStreamTest, CarriesBytesInBothDirectionsUntilItsEnd) {
  const auto opened = open_curl_stream(endpoint(), trusting_);
  ASSERT_TRUE(opened) << opened.error().text;
  Stream& stream = **opened;
  std::string received;
  EXPECT_EQ(stream.receive(received), 0u) << "there is nothing yet";
  const std::string request = json_request("ListQueues", "{}", "Connection: close\r\n");
  EXPECT_EQ(stream.send(request), request.size());
  while (true) {
    const Stream::Count got = stream.receive(received);
    if (!got) break;
    if (*got > 0) continue;
    ASSERT_TRUE(wait_until(stream.descriptor(), POLLIN, Clock::now() + 60s));
  }
  EXPECT_TRUE(received.starts_with("HTTP/1.1 200 ")) << received;
}

TEST_F(CurlStreamTest, IsRefusedUnlessTheCertificateIsTrusted) {
  const CertificateFiles other = make_certificate(directory_, "other");
  struct Case {
    const char* name;
    const char* host;
    std::string ca_file;
  };
  const Case cases[] = {
      {"the CAs of the system", "127.0.0.1", ""                  },
      {"another CA",            "127.0.0.1", other.certificate   },
      {"no such CA file",       "127.0.0.1", directory_ + "/none"},
      {"another host name",     "localhost", trusting_.ca_file   },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    StreamOptions options;
    options.ca_file = c.ca_file;
    const auto opened = open_curl_stream(endpoint(c.host), options);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, ErrorKind::untrusted);
    EXPECT_TRUE(opened.error().text.starts_with("no TLS connection to https://" +
                                                std::string(c.host) + ":"))
        << opened.error().text;
    EXPECT_NE(opened.error().text.find("CA file"), std::string::npos) << opened.error().text;
  }
}

TEST_F(CurlStreamTest, IsTheSameWithTheOtherLibcurl) {
  StreamOptions options = trusting_;
  options.libcurls = {StreamOptions().libcurls.back()};
  const auto opened = open_curl_stream(endpoint(), options);
  if (!opened && opened.error().kind == ErrorKind::no_library)
    GTEST_SKIP() << "libcurl3-gnutls is not installed";
  ASSERT_TRUE(opened) << opened.error().text;
  StreamOptions distrusting;
  distrusting.libcurls = options.libcurls;
  const auto refused = open_curl_stream(endpoint(), distrusting);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::untrusted) << refused.error().text;
}

TEST(CurlStream, NeedsTheLibrary) {
  StreamOptions options;
  options.libcurls = {"libnone.so.9"};
  const auto opened = open_curl_stream({.tls = true, .host = "127.0.0.1", .port = 1}, options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::no_library);
  EXPECT_TRUE(opened.error().text.starts_with(
      "cannot call https://127.0.0.1:1: https needs libcurl, and it cannot be loaded"))
      << opened.error().text;
}

TEST(CurlStream, NamesTheAddressThatCannotBeReached) {
  ::setenv("no_proxy", "127.0.0.1", 1);
  std::uint16_t port = 0;
  {
    port = ScriptedPeer([](int) {}).port();
  }  // it listens no more
  const auto opened = open_curl_stream({.tls = true, .host = "127.0.0.1", .port = port}, {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::unreachable);
  EXPECT_TRUE(opened.error().text.starts_with(
      "cannot reach https://127.0.0.1:" + std::to_string(port) + ": "))
      << opened.error().text;
}

TEST(CurlStream, HandshakesForALimitedTimeAndOnlyWithTls) {
  ::setenv("no_proxy", "127.0.0.1", 1);
  const ScriptedPeer silent([](int connection) { wait_for_end(connection); });
  StreamOptions options;
  options.connect_timeout = 100ms;
  const auto waited =
      open_curl_stream({.tls = true, .host = "127.0.0.1", .port = silent.port()}, options);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::unreachable) << waited.error().text;
  const ScriptedPeer plain([](int connection) {
    write_all(connection, "HTTP/1.1 400 Bad Request\r\n\r\n");
    wait_for_end(connection);
  });
  const auto refused =
      open_curl_stream({.tls = true, .host = "127.0.0.1", .port = plain.port()}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::untrusted) << refused.error().text;
}

}  // namespace
}  // namespace pawl::sqs_client

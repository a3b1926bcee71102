// SPDX-License-Identifier: Apache-2.0
// Unauthenticated peers must not take resources from authenticated ones.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/live_server.h"
#include "tests/proto/auth/signer.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::SignedRequest;
using test::Signer;

class StrangersTest : public LiveServerTest {
 protected:
  void SetUp() override {
    LiveServerTest::SetUp();
    options_.shards = 1;
    options_.memory = 128 << 20;  // 64 MiB for connection buffers
    options_.auth = "sigv4";
    options_.load_keys = [this]() -> std::expected<std::shared_ptr<const Keyring>, std::string> {
      auto ring = std::make_shared<Keyring>();
      if (ring->add({signer_.id, signer_.secret, "000000000000"}) != KeyFault::none)
        return std::unexpected("a bad key");
      return ring;
    };
    signer_.at = Instant{std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count()};
  }
  // `digest` adds X-Amz-Content-Sha256: the signature can then be checked before the body.
  std::string signed_request(const Signer& signer, const std::string& action, std::string body,
                             bool digest) const {
    SignedRequest request;
    request.headers = {
        {"content-type", "application/x-amz-json-1.0"},
        {"host",         "localhost"                 },
        {"x-amz-target", "AmazonSQS." + action       }
    };
    if (digest) {
      std::string hex;
      for (const std::uint8_t byte : sha256(body)) hex += fmt::format("{:02x}", byte);
      request.headers.emplace_back("x-amz-content-sha256", hex);
    }
    request.body = std::move(body);
    return signer.sign(request).text();
  }
  std::string ask(int fd, const std::string& action, const std::string& body, bool digest = false) {
    const std::string text = signed_request(signer_, action, body, digest);
    return send_some(fd, text) == text.size() ? read_responses(fd, 1) : "the server has closed";
  }
  // Sends the text; returns the bytes sent before the server closed the connection.
  static std::size_t send_some(int fd, std::string_view text) {
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<std::size_t>(n);
    }
    return sent;
  }
  // `count` quotes as JSON escapes them: twice as many bytes.
  static std::string quotes(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += "\\\"";
    return text;
  }
  static bool closed(int fd) {
    char byte = 0;
    const ssize_t n = ::recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  }
  // True if a response is there or the connection is closed.
  static bool is_answered(int fd) {
    char byte = 0;
    return ::recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0 || errno == ECONNRESET;
  }
  // Starts signed clients: one sends, then twenty request 2 MiB each and do not read yet.
  void begin_receives() {
    const int fd = connect_http();
    ASSERT_TRUE(ask(fd, "CreateQueue", R"({"QueueName":"q"})").starts_with("HTTP/1.1 200"));
    const std::string message = R"({"QueueUrl":"q","MessageBody":")" + quotes(1 << 20) + "\"}";
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(ask(fd, "SendMessage", message).starts_with("HTTP/1.1 200")) << i;
    ::close(fd);
    for (int i = 0; i < 20; ++i) {
      receivers_.push_back(connect_http());
      const std::string text =
          signed_request(signer_, "ReceiveMessage", R"({"QueueUrl":"q"})", false);
      ASSERT_EQ(send_some(receivers_.back(), text), text.size());
    }
  }
  // Sends 66 incomplete bodies of 960 KiB.
  void come(const std::string& request) {
    const std::string_view part =
        std::string_view(request).substr(0, request.find("\r\n\r\n") + 4 + (960 << 10));
    for (int i = 0; i < 66; ++i) {
      strangers_.push_back(connect_http());
      send_some(strangers_.back(), part);
    }
    // Memory is counted once a second; a connection that sent in the last two seconds is protected.
    for (int i = 0; i < 300 && std::ranges::count_if(strangers_, is_answered) <= 40; ++i)
      std::this_thread::sleep_for(100ms);
    std::this_thread::sleep_for(2s);
  }
  // Checks that clients with a key are served meanwhile.
  void expect_served() {
    const std::string message =
        R"({"QueueUrl":"q","MessageBody":")" + std::string(1 << 20, 'n') + "\"}";
    for (const bool digest : {false, true}) {
      const int fd = connect_http();
      const std::string answer = ask(fd, "SendMessage", message, digest);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer.substr(0, 400);
      ::close(fd);
    }
    int whole = 0;
    for (const int fd : receivers_) {
      const std::string answer = read_responses(fd, 1);
      whole += answer.starts_with("HTTP/1.1 200") && answer.size() > (std::size_t{2} << 20);
    }
    EXPECT_EQ(whole, 20) << "signed answers of 2 MiB that came whole";
  }
  void TearDown() override {
    for (const int fd : receivers_) ::close(fd);
    for (const int fd : strangers_) ::close(fd);
    LiveServerTest::TearDown();
  }

  Signer signer_;
  std::vector<int> receivers_, strangers_;
};

const std::string body = R"({"QueueUrl":"q","MessageBody":")" + std::string(1 << 20, 'x') + "\"}";

TEST_F(StrangersTest, UnsignedBodiesAreRefusedBeforeTheyAreTaken) {
  start();
  begin_receives();
  come(json_request("SendMessage", body));
  expect_served();
}

TEST_F(StrangersTest, BodiesWithForgedSignaturesHaveABudgetOfTheirOwn) {
  start();
  begin_receives();
  Signer forger = signer_;
  forger.id = "NOBODYSKEY";
  come(signed_request(forger, "SendMessage", body, false));
  expect_served();
  const auto gone = std::ranges::count_if(strangers_, closed);
  EXPECT_GT(gone, 40) << "16 MiB are for all of them";
  // How many fit depends on how far their buffers have grown when they are counted.
  EXPECT_LT(gone, 66) << "those that fit into the budget stay";
}

TEST_F(StrangersTest, ChunkedBodiesGrowWithinTheBudget) {
  start();
  begin_receives();
  Signer forger = signer_;
  forger.secret = "another";
  const std::string whole = signed_request(forger, "SendMessage", body, false);
  const std::size_t length = whole.find("Content-Length"), end = whole.find("\r\n\r\n");
  come(whole.substr(0, length) + "Transfer-Encoding: chunked\r\n\r\n" +
       fmt::format("{:x}\r\n", body.size()) + whole.substr(end + 4));
  expect_served();
  EXPECT_GT(std::ranges::count_if(strangers_, closed), 40);
}

TEST_F(StrangersTest, TheHeadAloneIsAnsweredWhenItCannotBeRight) {
  start();
  Signer late = signer_, forger = signer_;
  late.at = Instant{signer_.at.ms - 3'600'000};
  forger.secret = "another";
  const auto head_of = [](const std::string& request) {
    return request.substr(0, request.find("\r\n\r\n") + 4);
  };
  const std::string expect = "Expect: 100-continue\r\n";
  const struct {
    const char* name;
    std::string head;
    const char *status, *text;
  } cases[] = {
      {"unsigned", head_of(json_request("SendMessage", body, expect)), "HTTP/1.1 400",
       "MissingAuthenticationToken"},
      {"an old date", head_of(signed_request(late, "SendMessage", body, false)), "HTTP/1.1 400",
       "Signature expired"},
      {"a wrong signature of a known digest",
       head_of(signed_request(forger, "SendMessage", body, true)), "HTTP/1.1 400",
       "SignatureDoesNotMatch"},
      {"longer than any request of the action",
       "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ListQueues\r\n" + expect +
           "Content-Length: 1048576\r\n\r\n", "HTTP/1.1 413", "262144"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const int fd = connect_http();
    send_all(fd, c.head);
    const std::string answer = read_responses(fd, 1);
    EXPECT_TRUE(answer.starts_with(c.status)) << answer;
    EXPECT_TRUE(answer.contains(c.text)) << answer;
    EXPECT_FALSE(answer.contains("100 Continue")) << answer;
    ::close(fd);
  }
  // A head that may be valid gets 100 Continue.
  const std::string request = signed_request(signer_, "SendMessage", body, true);
  std::string head = head_of(request);
  head.insert(head.size() - 2, expect);
  const int fd = connect_http();
  send_all(fd, head);
  char answer[64];
  const ssize_t n = recv(fd, answer, sizeof answer, 0);
  EXPECT_EQ(std::string_view(answer, n > 0 ? static_cast<std::size_t>(n) : 0),
            "HTTP/1.1 100 Continue\r\n\r\n");
  ::close(fd);
}

}  // namespace
}  // namespace pawl

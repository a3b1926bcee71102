// SPDX-License-Identifier: Apache-2.0
// TLS of the HTTP and the binary port, against OpenSSL's own client.
#include "net/io/tls.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "proto/binary/frames.h"
#include "tests/net/live_server.h"
#include "tests/net/tls_peer.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

std::string ask(TlsPeer& peer, const std::string& request, int count = 1) {
  EXPECT_TRUE(peer.send(request));
  return read_responses([&](char* into, std::size_t size) { return peer.read(into, size); }, count);
}

class TlsTest : public LiveServerTest {
 protected:
  void SetUp() override {
    LiveServerTest::SetUp();
    files_ = make_certificate(directory_, "first");
    options_.tls_certificate = files_.certificate;
    options_.tls_key = files_.key;
  }
  CertificateFiles files_;
};

TEST_F(TlsTest, HttpIsServedInBothVersionsAndQueueUrlsSayHttps) {
  start();
  for (const auto& [version, name] : {
           std::pair(TLS1_2_VERSION, "TLSv1.2"), {TLS1_3_VERSION, "TLSv1.3"}
  }) {
    TlsPeer peer(connect_http(), {.version_max = version, .protocols = "\x02h2\x08http/1.1"});
    ASSERT_TRUE(peer.connected());
    EXPECT_EQ(peer.version(), name);
    EXPECT_EQ(peer.protocol(), "http/1.1");
    const std::string answer = ask(peer, json_request("CreateQueue", R"({"QueueName":"q"})"));
    EXPECT_NE(answer.find(R"("QueueUrl":"https://localhost/000000000000/q")"), std::string::npos)
        << answer;
  }
}

TEST_F(TlsTest, WhatIsNotTlsOfTodayIsRefused) {
  start();
  TlsPeer old(connect_http(), {.version_max = TLS1_1_VERSION});
  EXPECT_FALSE(old.connected());
  TlsPeer foreign(connect_http(), {.protocols = "\x02h2"});
  EXPECT_FALSE(foreign.connected());
  TlsPeer wrong_port(connect_to(port(Protocol::binary)), {.protocols = "\x08http/1.1"});
  EXPECT_FALSE(wrong_port.connected());
  const int plain = connect_http();
  send_all(plain, json_request("ListQueues", "{}"));
  const std::string answer = read_responses(plain, 1);
  ::close(plain);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_NE(answer.find("speaks TLS"), std::string::npos) << answer;
}

TEST_F(TlsTest, TheBinaryPortIsServedToo) {
  start();
  TlsPeer peer(connect_to(port(Protocol::binary)));
  ASSERT_TRUE(peer.connected());
  std::string hello;
  const std::size_t begin =
      begin_frame(hello, {.op = static_cast<std::uint8_t>(BinaryOp::hello), .correlation = 7});
  put(hello, binary_magic);
  put(hello, binary_major);
  put(hello, binary_minor);
  put(hello, std::uint32_t{0});
  put(hello, auth_none);
  put_short(hello, "test");
  finish_frame(hello, begin);
  for (const char byte : hello) ASSERT_TRUE(peer.send(std::string(1, byte)));  // a record each
  char answer[256];
  ASSERT_GE(peer.read(answer, sizeof answer), static_cast<long>(frame_header_bytes));
  const auto header = parse_header({answer, sizeof answer});
  ASSERT_TRUE(header);
  EXPECT_EQ(header->status, 0);
  EXPECT_EQ(header->correlation, 7u);
}

TEST_F(TlsTest, TheClientLibraryComesInIfItTrustsTheServer) {
  start();
  const CertificateFiles other = make_certificate(directory_, "other");
  const struct {
    const char* name;
    bool tls, verify;
    std::string host, ca_file;
    Client::Code code;
  } cases[] = {
      {"trusted",             true,  true,  "127.0.0.1", files_.certificate, Client::Code::ok       },
      {"whoever it is",       true,  false, "127.0.0.1", "",                 Client::Code::ok       },
      {"vouched for by none", true,  true,  "127.0.0.1", "",                 Client::Code::untrusted},
      {"by somebody else",    true,  true,  "127.0.0.1", other.certificate,  Client::Code::untrusted},
      {"of another name",     true,  true,  "localhost", files_.certificate, Client::Code::untrusted},
      {"no such CA file",     true,  true,  "127.0.0.1", "/none",            Client::Code::untrusted},
      {"in the clear",        false, true,  "127.0.0.1", "",                 Client::Code::broken   },
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Client::Options options = client_options();
    options.host = c.host;
    options.tls = c.tls;
    options.tls_verify = c.verify;
    options.ca_file = c.ca_file;
    auto client = Client::connect(options);
    ASSERT_EQ(client ? Client::Code::ok : client.error().code, c.code);
    if (!client) continue;
    auto queue = client->create_queue("q");
    ASSERT_TRUE(queue);
    const std::string body(300'000, 'b');  // several records, and more than a socket takes at once
    const std::vector<Client::Outgoing> batch(10, Client::Outgoing{.body = body});
    ASSERT_TRUE(client->send(*queue, batch));
    for (int got = 0; got < 10;) {
      auto messages = client->receive(*queue, {.max = 10, .wait = 5s});
      ASSERT_TRUE(messages && !messages->empty());
      for (const Client::Message& message : *messages) {
        EXPECT_EQ(message.body, body);
        ASSERT_TRUE(client->delete_message(*queue, message.receipt));
        ++got;
      }
    }
  }
}

TEST_F(TlsTest, LargeMessagesComeThroughWholeInBothDirections) {
  start();
  TlsPeer peer(connect_http());
  ASSERT_TRUE(peer.connected());
  ask(peer, json_request("CreateQueue", R"({"QueueName":"q"})"));
  std::string body;
  while (body.size() < 1'000'000) body += std::to_string(body.size()) + " ";
  const std::string sent =
      ask(peer, json_request("SendMessage", R"({"QueueUrl":"q","MessageBody":")" + body + "\"}"));
  EXPECT_TRUE(sent.starts_with("HTTP/1.1 200")) << sent.substr(0, 300);
  const std::string got =
      ask(peer, json_request("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":5})"));
  EXPECT_NE(got.find(body), std::string::npos) << got.substr(0, 300);
}

TEST_F(TlsTest, ALongPollWakesAndOneWhoseClientSaysGoodbyeConsumesNothing) {
  start();
  TlsPeer sender(connect_http());
  ask(sender, json_request("CreateQueue", R"({"QueueName":"q"})"));
  const std::string poll = json_request(
      "ReceiveMessage",
      R"({"QueueUrl":"q","WaitTimeSeconds":20,"AttributeNames":["ApproximateReceiveCount"]})");
  TlsPeer gone(connect_http());
  ASSERT_TRUE(gone.send(poll));
  std::this_thread::sleep_for(50ms);
  gone.say_goodbye();  // the socket stays open
  std::this_thread::sleep_for(50ms);
  TlsPeer waiting(connect_http());
  ASSERT_TRUE(waiting.send(poll));
  std::this_thread::sleep_for(50ms);
  ask(sender, json_request("SendMessage", R"({"QueueUrl":"q","MessageBody":"hello"})"));
  const std::string got =
      read_responses([&](char* into, std::size_t size) { return waiting.read(into, size); }, 1);
  EXPECT_NE(got.find(R"("Body":"hello")"), std::string::npos) << got;
  EXPECT_NE(got.find(R"("ApproximateReceiveCount":"1")"), std::string::npos) << got;
}

TEST_F(TlsTest, TheServerSaysGoodbyeBeforeItCloses) {
  start();
  TlsPeer peer(connect_http());
  const std::string answer = ask(peer, json_request("ListQueues", "{}", "Connection: close\r\n"));
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  char more[16];
  EXPECT_EQ(peer.read(more, sizeof more), 0);  // -1 would be a connection that was cut
}

TEST_F(TlsTest, HalfAHandshakeIsNotWaitedFor) {
  options_.times.head = seconds(1);
  start();
  const int half = connect_http();
  send_all(half, std::string("\x16\x03\x01\x02\x00\x01", 6));  // the beginning of a ClientHello
  TlsPeer other(connect_http());
  EXPECT_TRUE(other.connected());
  const auto begun = SteadyClock::now();
  char byte = 0;
  EXPECT_EQ(recv(half, &byte, 1, 0), 0);
  EXPECT_LT(SteadyClock::now() - begun, 8s);
  ::close(half);
}

TEST_F(TlsTest, ANewCertificateIsForNewConnectionsAndABrokenOneForNobody) {
  start();
  TlsPeer before(connect_http());
  EXPECT_EQ(before.name(), "first");
  const CertificateFiles second = make_certificate(directory_, "second");
  std::filesystem::rename(second.certificate, files_.certificate);
  server_->reload();  // refused: the key is still the first certificate's
  EXPECT_EQ(TlsPeer(connect_http()).name(), "first");
  std::filesystem::rename(second.key, files_.key);
  server_->reload();
  EXPECT_EQ(TlsPeer(connect_http()).name(), "second");
  EXPECT_NE(ask(before, json_request("ListQueues", "{}")).find("200 OK"), std::string::npos);
}

TEST_F(TlsTest, EveryUnusableFileIsNamedWithTheReason) {
  const CertificateFiles other = make_certificate(directory_, "other");
  const std::string empty = directory_ + "/empty", locked = directory_ + "/locked";
  std::ofstream(empty).close();
  ASSERT_EQ(chmod(empty.c_str(), 0600), 0);
  std::filesystem::copy_file(files_.key, locked);
  ASSERT_EQ(chmod(locked.c_str(), 0644), 0);
  const struct {
    const char* name;
    std::string certificate, key, named, reason;
  } cases[] = {
      {"no certificate",   directory_ + "/none", files_.key,           "/none",     "No such file"  },
      {"no key",           files_.certificate,   directory_ + "/none", "/none",     "No such file"  },
      {"not PEM",          empty,                files_.key,           "/empty",    "PEM"           },
      {"no key in it",     files_.certificate,   empty,                "/empty",    "no private key"},
      {"key of another",   files_.certificate,   other.key,            "other",     "not the key"   },
      {"open to everyone", files_.certificate,   locked,               "locked",    "chmod o= "     },
      {"a directory",      files_.certificate,   directory_,           "--tls-key", "readable"      },
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto loaded = TlsContext::load(c.certificate, c.key);
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().find(c.named), std::string::npos) << loaded.error();
    EXPECT_NE(loaded.error().find(c.reason), std::string::npos) << loaded.error();
  }
}

// A Tls and an OpenSSL client, connected in memory.
class TlsPair {
 public:
  explicit TlsPair(const TlsContext& context)
      : tls(context, "http/1.1", account),
        client_context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        client(SSL_new(client_context_.get()), SSL_free),
        from_server_(BIO_new(BIO_s_mem())),
        to_server_(BIO_new(BIO_s_mem())) {
    SSL_set_bio(client.get(), from_server_, to_server_);
    SSL_set_connect_state(client.get());
    for (int i = 0; i < 4 && !tls.established(); ++i) {
      SSL_do_handshake(client.get());
      to_server();
      to_client();
    }
  }
  Tls::Read to_server() {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(to_server_, &bytes);
    tls.feed({bytes, static_cast<std::size_t>(size)});
    std::size_t count = 0;
    const Tls::Read read = tls.read(plain_, count);
    (void)BIO_reset(to_server_);
    return read;
  }
  void to_client() {
    BIO_write(from_server_, tls.out().data(), static_cast<int>(tls.out().size()));
    tls.out().clear();
  }

  std::int64_t account = 0;  // bytes that `tls` holds
  Tls tls;

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> client_context_;

 public:
  std::unique_ptr<SSL, decltype(&SSL_free)> client;

 private:
  BIO* from_server_;  // owned by the client
  BIO* to_server_;
  char plain_[1024];
};

TEST_F(TlsTest, TheAccountHasWhatOpenSslHolds) {
  const auto context = TlsContext::load(files_.certificate, files_.key);
  EXPECT_GT((*context)->not_after_s(), ::time(nullptr));
  ASSERT_TRUE(context);
  TlsPair first(**context);  // makes OpenSSL's one-time allocations
  ASSERT_TRUE(first.tls.established());
  EXPECT_GE(first.account, 4096) << "one that is idle";
  std::int64_t account = 0;
  std::vector<std::unique_ptr<Tls>> many;
  many.reserve(500);
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 500; ++i)
    many.push_back(std::make_unique<Tls>(**context, "http/1.1", account));
  const std::size_t held = mallinfo2().uordblks - before;
  EXPECT_GE(account, 500 * 1024);
  if (held != 0) {  // a sanitizer's allocator reports 0
    EXPECT_LE(held, static_cast<std::size_t>(account) * 115 / 100 + (256 << 10));
    EXPECT_LE(static_cast<std::size_t>(account), held);
  }
  many.clear();
  EXPECT_EQ(account, 0);
}

// A peer that causes output without reading it must not take unbounded memory: the owner of a Tls
// sees its output grow.
TEST_F(TlsTest, AnswersToAPeerThatOnlyRekeysPileUpWhereTheyAreSeen) {
  const auto context = TlsContext::load(files_.certificate, files_.key);
  ASSERT_TRUE(context);
  TlsPair pair(**context);
  ASSERT_TRUE(pair.tls.established());
  std::size_t rounds = 0;
  Tls::Read read = Tls::Read::want_more;
  while (pair.tls.out().size() <= Tls::pending_max && read != Tls::Read::failed &&
         rounds++ < 10'000) {
    ASSERT_EQ(SSL_key_update(pair.client.get(), SSL_KEY_UPDATE_REQUESTED), 1);
    SSL_do_handshake(pair.client.get());
    read = pair.to_server();
  }
  EXPECT_LT(rounds, 10'000u);
}

TEST_F(TlsTest, ALargeAnswerIsSealedInSlices) {
  const auto context = TlsContext::load(files_.certificate, files_.key);
  ASSERT_TRUE(context);
  TlsPair pair(**context);
  ASSERT_TRUE(pair.tls.established());
  const std::string answer(Tls::seal_bytes_max * 3 + 1000, 'a');
  std::size_t sealed = 0, slices = 0;
  std::string read;
  char plain[16384];
  while (sealed < answer.size() && slices < 10) {
    const std::size_t count = pair.tls.write(std::string_view(answer).substr(sealed));
    ASSERT_LE(count, Tls::seal_bytes_max);
    ASSERT_LT(pair.tls.out().size(), Tls::seal_bytes_max + 1024);
    sealed += count;
    ++slices;
    pair.to_client();
    std::size_t more = 0;
    while (SSL_read_ex(pair.client.get(), plain, sizeof plain, &more) == 1)
      read.append(plain, more);
  }
  EXPECT_EQ(slices, 4u);
  EXPECT_TRUE(read == answer);
}

}  // namespace
}  // namespace pawl

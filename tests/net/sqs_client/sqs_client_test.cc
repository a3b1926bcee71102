// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/sqs_client.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "net/sqs_client/http_response.h"
#include "proto/text/json_dom.h"
#include "tests/net/live_server.h"
#include "tests/net/sqs_client/fixed_environment.h"
#include "tests/net/sqs_client/scripted_peer.h"
#include "tests/net/tls_peer.h"

namespace pawl::sqs_client {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::string text_in(const std::string& body, const char* member) {
  JsonDom dom;
  const auto document = dom.parse(body);
  const auto value = document ? document->member(member) : std::nullopt;
  return std::string(value ? value->text().value_or("") : "");
}

SqsClient client_of(ClientOptions options) {
  auto client = SqsClient::make(std::move(options));
  EXPECT_TRUE(client) << client.error().text;
  return std::move(*client);
}

// --- against the server ---

class LiveSqsClient : public LiveServerTest {
 protected:
  ClientOptions to_server(const char* scheme = "http") const {
    return {.url = std::string(scheme) + "://127.0.0.1:" + std::to_string(port(Protocol::http))};
  }
  // Creates a queue, sends a message and receives it.
  void send_and_receive(SqsClient& client) {
    const auto created = client.call("CreateQueue", R"({"QueueName":"q"})");
    ASSERT_TRUE(created) << created.error().text;
    EXPECT_EQ(created->status, 200);
    const std::string queue = "{\"QueueUrl\":\"" + text_in(created->body, "QueueUrl") + "\"";
    const std::string body(300'000, 'b');
    const auto sent = client.call("SendMessage", queue + ",\"MessageBody\":\"" + body + "\"}");
    ASSERT_TRUE(sent) << sent.error().text;
    const auto received = client.call("ReceiveMessage", queue + ",\"WaitTimeSeconds\":20}");
    ASSERT_TRUE(received) << received.error().text;
    EXPECT_NE(received->body.find("\"" + body + "\""), std::string::npos);
  }
  void require_key() {
    options_.auth = "sigv4";
    options_.load_keys = [this]() -> std::expected<std::shared_ptr<const Keyring>, std::string> {
      auto ring = std::make_shared<Keyring>();
      EXPECT_EQ(ring->add({key_.id, key_.secret, "111111111111"}), KeyFault::none);
      return ring;
    };
  }
  const SigningKey key_{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", ""};
};

TEST_F(LiveSqsClient, CallsActionsOverOneConnection) {
  start();
  SqsClient client = client_of(to_server());
  send_and_receive(client);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(client.call("ListQueues", "{}"));
}

TEST_F(LiveSqsClient, CallsActionsThatMethodAndPathName) {
  require_key();
  start();
  ClientOptions options = to_server();
  options.api = scheduler_api;
  options.key = key_;
  SqsClient client = client_of(options);
  const auto missing = client.call(RestAction{"GetSchedule", "GET", "/schedules/n", "groupName=g"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().status, 404);
  EXPECT_EQ(missing.error().code, "ResourceNotFoundException");
  EXPECT_EQ(missing.error().message, "Schedule group g does not exist.");
  const auto made =
      client.call(RestAction{"CreateScheduleGroup", "POST", "/schedule-groups/g"}, "{}");
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_EQ(text_in(made->body, "ScheduleGroupArn"),
            "arn:aws:scheduler:us-east-1:111111111111:schedule-group/g");
  EXPECT_TRUE(client.call(RestAction{"DeleteScheduleGroup", "DELETE", "/schedule-groups/g"}));
}

TEST_F(LiveSqsClient, ReportsTheErrorOfTheServerAndGoesOn) {
  start();
  SqsClient client = client_of(to_server());
  const auto refused =
      client.call("SendMessage", R"({"QueueUrl":"http://h/1/none","MessageBody":"b"})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_EQ(refused.error().status, 400);
  EXPECT_EQ(refused.error().code, "QueueDoesNotExist");
  EXPECT_EQ(refused.error().message, "The specified queue does not exist.");
  EXPECT_EQ(refused.error().text, url_of(client.endpoint()) +
                                      " refuses SendMessage: QueueDoesNotExist: The specified "
                                      "queue does not exist.");
  const auto unknown = client.call("NoSuchAction", "{}");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::refused) << unknown.error().text;
  EXPECT_TRUE(client.call("ListQueues", "{}"));
}

TEST_F(LiveSqsClient, SignsWithTheKeyOfTheEnvironment) {
  require_key();
  start();
  const FixedEnvironment environment({
      {"AWS_ACCESS_KEY_ID",     key_.id    },
      {"AWS_SECRET_ACCESS_KEY", key_.secret},
      {"AWS_REGION",            "eu-west-1"},
  });
  ClientOptions options = to_server();
  options.key = key_of_environment();
  options.region = region_of_environment();
  SqsClient client = client_of(options);
  send_and_receive(client);
}

TEST_F(LiveSqsClient, IsRefusedWithoutTheRightKey) {
  require_key();
  start();
  const auto unsigned_call = client_of(to_server()).call("ListQueues", "{}");
  ASSERT_FALSE(unsigned_call);
  EXPECT_EQ(unsigned_call.error().kind, ErrorKind::refused) << unsigned_call.error().text;
  EXPECT_NE(unsigned_call.error().text.find("set AWS_ACCESS_KEY_ID"), std::string::npos)
      << unsigned_call.error().text;
  ClientOptions options = to_server();
  options.key = {key_.id, "another secret", ""};
  const auto wrong = client_of(options).call("ListQueues", "{}");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "InvalidSignatureException") << wrong.error().text;
  EXPECT_EQ(wrong.error().text.find("not signed"), std::string::npos) << wrong.error().text;
}

TEST_F(LiveSqsClient, CallsOverTlsWithLibcurl) {
  ::setenv("no_proxy", "127.0.0.1", 1);  // libcurl reads it
  const CertificateFiles files = make_certificate(directory_, "first");
  options_.tls_certificate = files.certificate;
  options_.tls_key = files.key;
  require_key();
  start();
  ClientOptions options = to_server("https");
  options.key = key_;
  options.stream.ca_file = files.certificate;
  SqsClient client = client_of(options);
  send_and_receive(client);
  const auto refused = client.call("DeleteQueue", R"({"QueueUrl":"none"})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "QueueDoesNotExist") << refused.error().text;
  options.stream.libcurls = {"libnone.so.9"};
  const auto hidden = client_of(options).call("ListQueues", "{}");
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().kind, ErrorKind::no_library) << hidden.error().text;
  const auto in_the_clear = client_of(to_server()).call("ListQueues", "{}");
  ASSERT_FALSE(in_the_clear);
  EXPECT_NE(in_the_clear.error().text.find("speaks TLS"), std::string::npos)
      << in_the_clear.error().text;
}

TEST_F(LiveSqsClient, ConnectsAgainAfterTheServerClosedTheIdleConnection) {
  start();
  SqsClient client = client_of(to_server());
  ASSERT_TRUE(client.call("ListQueues", "{}"));
  const std::string http = server_->address(Protocol::http);
  server_->stop();
  server_.reset();
  const auto stopped = client.call("ListQueues", "{}");
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::unreachable) << stopped.error().text;
  options_.http = http;
  start();
  EXPECT_TRUE(client.call("ListQueues", "{}"));
}

// --- against peers that misbehave ---

TEST(SqsClientOptions, ThatCannotBeUsedAreNamed) {
  struct Case {
    const char* name;
    ClientOptions options;
    const char* text;
  };
  const Case cases[] = {
      {"no URL",               {.url = "9324"},                         "the endpoint \"9324\""},
      {"no secret",            {.key = {"AKID", "", ""}},               "AWS_SECRET_ACCESS_KEY"},
      {"no id",                {.key = {"", "secret", ""}},             "AWS_ACCESS_KEY_ID"    },
      {"a line in the id",     {.key = {"AKID\r\nX: y", "secret", ""}}, "AWS_ACCESS_KEY_ID"    },
      {"a line in the token",  {.key = {"AKID", "secret", "\n"}},       "AWS_SESSION_TOKEN"    },
      {"a line in the region", {.region = "us\r\n"},                    "the region"           },
      {"no region",            {.region = ""},                          "us-east-1"            },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto client = SqsClient::make(c.options);
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().kind, ErrorKind::bad_options);
    EXPECT_NE(client.error().text.find(c.text), std::string::npos) << client.error().text;
    EXPECT_TRUE(client.error().text.ends_with('.')) << client.error().text;
  }
}

// The client's error when each connection reads a request and then behaves as the script says.
CallError error_of(const ScriptedPeer::Script& script, ClientOptions options = {},
                   const std::string& body = "{}") {
  const ScriptedPeer peer(script);
  options.url = peer.url();
  const auto response = client_of(options).call("ListQueues", body);
  EXPECT_FALSE(response);
  if (response) return {};
  EXPECT_NE(response.error().text.find(peer.url()), std::string::npos) << response.error().text;
  return response.error();
}

TEST(SqsClientErrors, TellHowTheResponseFailed) {
  const std::string whole = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
  struct Case {
    const char* name;
    std::string response;
    ErrorKind kind;
    const char* text;
  };
  const Case cases[] = {
      {"no response",               "",                                                             ErrorKind::closed,  "closed the connection"             },
      {"half a head",               "HTTP/1.1 200",                                                 ErrorKind::closed,  "closed the connection"             },
      {"half a body",               whole + "12345",                                                ErrorKind::closed,  "may have been carried out"         },
      {"half a chunk",              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
       ErrorKind::closed,                                                                                               "closed the connection"             },
      {"no length",                 "HTTP/1.1 200 OK\r\n\r\n{}",                                    ErrorKind::broken,  "HTTP/1.1"                          },
      {"another protocol",          "SSH-2.0-OpenSSH_9.2\r\n",                                      ErrorKind::broken,  "HTTP/1.1"                          },
      {"a proxy's error",           "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops",
       ErrorKind::refused,                                                                                              "refuses ListQueues: HTTP 502: oops"},
      {"an error without a length", "HTTP/1.0 503 Busy\r\n\r\nx",                                   ErrorKind::refused,
       "refuses ListQueues: HTTP 503"                                                                                                                       },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const CallError error = error_of([&](int connection) {
      read_request(connection);
      write_all(connection, c.response);
    });
    EXPECT_EQ(error.kind, c.kind) << error.text;
    EXPECT_NE(error.text.find(c.text), std::string::npos) << error.text;
  }
}

TEST(SqsClientErrors, APeerThatRespondsNothingIsNotWaitedForLonger) {
  const Clock::time_point begun = Clock::now();
  const CallError error =
      error_of([](int connection) { wait_for_end(connection); }, {.response_timeout = 100ms});
  EXPECT_EQ(error.kind, ErrorKind::timed_out);
  EXPECT_NE(error.text.find("did not respond to ListQueues within 100 ms"), std::string::npos)
      << error.text;
  EXPECT_GE(Clock::now() - begun, 100ms);
  EXPECT_LT(Clock::now() - begun, 10s);
}

TEST(SqsClientErrors, APeerThatRespondsSlowlyIsNotWaitedForLonger) {
  const CallError error = error_of(
      [](int connection) {
        std::string_view response = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
        for (int i = 0; i < 30'000 && write_all(connection, response); ++i, response = "x")
          ::usleep(2000);
      },
      {.response_timeout = 100ms});
  EXPECT_EQ(error.kind, ErrorKind::timed_out) << error.text;
}

TEST(SqsClientErrors, APeerThatReadsNothingIsNotWaitedForLonger) {
  std::promise<void> over;  // before it the peer must not close: signing may take a second
  const ScriptedPeer peer([&](int) { over.get_future().wait_for(60s); });
  ClientOptions options{.response_timeout = 100ms};
  options.url = peer.url();
  const auto response =
      client_of(options).call("ListQueues", "\"" + std::string(16 << 20, 'x') + "\"");
  over.set_value();
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::timed_out) << response.error().text;
}

TEST(SqsClientErrors, AResponseIsLimited) {
  const auto large = [](int connection) {
    read_request(connection);
    write_all(connection, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    write_all(connection, std::string(100'000, 'x'));
    wait_for_end(connection);
  };
  const CallError error = error_of(large, {.response_bytes_max = 50'000});
  EXPECT_EQ(error.kind, ErrorKind::too_large);
  EXPECT_NE(error.text.find("to ListQueues has more than 50000 bytes"), std::string::npos)
      << error.text;
  const auto endless = [](int connection) {
    read_request(connection);
    write_all(connection, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (write_all(connection, "1000\r\n" + std::string(0x1000, 'x') + "\r\n")) {
    }
  };
  EXPECT_EQ(error_of(endless, {.response_bytes_max = 1 << 20}).kind, ErrorKind::too_large);
}

TEST(SqsClient, ReadsChunkedResponsesInPiecesAndKeepsTheConnection) {
  const ScriptedPeer peer([](int connection) {
    const std::string response =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "9\r\n{\"a\":\"one\r\n5;x=y\r\n two\"\r\n1\r\n}\r\n0\r\n\r\n";
    while (!read_request(connection).empty()) {
      for (const char& byte : response)
        if (!write_all(connection, {&byte, 1})) return;
    }
  });
  SqsClient client = client_of({.url = peer.url()});
  for (int i = 0; i < 3; ++i) {
    const auto response = client.call("ListQueues", "{}");
    ASSERT_TRUE(response) << response.error().text;
    EXPECT_EQ(response->body, R"({"a":"one two"})");
  }
  EXPECT_EQ(peer.connections(), 1);
}

TEST(SqsClient, MakesANewConnectionWhereThePeerWantsOne) {
  const ScriptedPeer peer([](int connection) {
    read_request(connection);
    write_all(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}");
    wait_for_end(connection);
  });
  SqsClient client = client_of({.url = peer.url()});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.call("ListQueues", "{}"));
  EXPECT_EQ(peer.connections(), 3);
}

TEST(SqsClient, DropsAConnectionWithMoreBytesThanItsResponse) {
  const ScriptedPeer peer([](int connection) {
    read_request(connection);
    write_all(connection, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n");
    wait_for_end(connection);
  });
  SqsClient client = client_of({.url = peer.url()});
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(client.call("ListQueues", "{}"));
  EXPECT_EQ(peer.connections(), 2);
}

TEST(SqsClient, ReadsARefusalThatComesBeforeTheRequestIsSent) {
  const CallError error = error_of(
      [](int connection) {
        char bytes[1024];
        ::recv(connection, bytes, sizeof bytes, 0);
        write_all(connection, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
        ::usleep(200'000);
      },
      {}, "\"" + std::string(16 << 20, 'x') + "\"");
  EXPECT_EQ(error.kind, ErrorKind::refused) << error.text;
  EXPECT_EQ(error.status, 413);
}

TEST(SqsClient, SendsTheTargetOfItsApiAndTheHost) {
  std::string request;
  const ScriptedPeer peer([&](int connection) {
    request = read_request(connection);
    write_all(connection, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    wait_for_end(connection);
  });
  ASSERT_TRUE(client_of({.url = peer.url() + "/1/q", .api = pawl_api}).call("Peek", R"({"a":1})"));
  EXPECT_TRUE(request.starts_with("POST / HTTP/1.1\r\nHost: 127.0.0.1:" +
                                  std::to_string(peer.port()) + "\r\nX-Amz-Target: Pawl.Peek\r\n"))
      << request;
  EXPECT_TRUE(request.ends_with("\r\nContent-Length: 7\r\n\r\n{\"a\":1}")) << request;
}

}  // namespace
}  // namespace pawl::sqs_client

// SPDX-License-Identifier: Apache-2.0
#include "proto/dev/dev_call.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {
namespace {

class DevCallTest : public ::testing::Test, protected DevControl {
 protected:
  DevCallTest() { settings_.dev = this; }
  void advance_clock(Duration by) override { advanced_ = advanced_ + by; }
  std::uint32_t shards() const override { return 3; }

  void add(std::string_view account, std::string_view name) {
    QueueConfig config;
    config.id = QueueId{++ids_};
    config.account = account;
    config.name = name;
    directory_.put(std::make_shared<const QueueConfig>(std::move(config)));
  }

  CallStep begin(std::string_view method, const std::string& target, const std::string& body = {}) {
    bytes_ = fmt::format("{} {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", method,
                         target, body.size(), body);
    parser_ = HttpParser();
    std::size_t consumed = 0;
    EXPECT_EQ(parser_.feed(bytes_, consumed), HttpParser::State::complete) << target;
    return call_.begin(parser_.request(), "000000000000", directory_, settings_, Instant{});
  }

  void refused(std::uint16_t status, std::string_view part, std::string_view method,
               const std::string& target, const std::string& body = {}) {
    EXPECT_EQ(begin(method, target, body), CallStep::respond) << target;
    EXPECT_EQ(call_.status(), status) << target << ' ' << call_.body();
    EXPECT_NE(call_.body().find(part), std::string_view::npos) << target << ' ' << call_.body();
    EXPECT_EQ(advanced_.ms, 0);
  }

  // Answers all routes until the response. Returns the ids that were to be deleted.
  std::multiset<std::uint64_t> deleted(CallStep step, Errc error = Errc::ok) {
    std::multiset<std::uint64_t> ids;
    for (; step == CallStep::route; step = call_.resume()) {
      EXPECT_LE(call_.routes().size(), DevCall::routes_max);
      for (const CallRoute& route : call_.routes()) {
        EXPECT_EQ(route.request->op, Op::delete_queue);
        EXPECT_EQ(route.target, control_shard);
        ids.insert(static_cast<std::uint64_t>(route.request->queue));
        route.request->error = error;
      }
    }
    return ids;
  }

  Directory directory_;
  CallSettings settings_;
  Duration advanced_{0};
  std::uint32_t ids_ = 0;
  std::string bytes_;
  HttpParser parser_;
  DevCall call_;
};

TEST_F(DevCallTest, OwnsItsPathsAndNoQueues) {
  for (const char* path : {"/_pawl/reset", "/_pawl/", "/_localstack/health", "/_aws/sqs/messages"})
    EXPECT_TRUE(DevCall::owns(path)) << path;
  for (const char* path : {"/", "/_pawl", "/000000000000/_pawl", "/q", "/health", "/_aws"})
    EXPECT_FALSE(DevCall::owns(path)) << path;
}

TEST_F(DevCallTest, HasNoPagesWithoutDev) {
  settings_.dev = nullptr;
  for (const char* path :
       {"/_pawl/reset", "/_pawl/clock", "/_localstack/health", "/_aws/sqs/messages", "/_pawl/x"}) {
    refused(404, "--dev", "POST", path, R"({"advance":"15m"})");
    refused(404, "--dev", "GET", path);
  }
}

TEST_F(DevCallTest, NamesItsPagesAndTheirMethods) {
  refused(404, "POST /_pawl/reset", "GET", "/_pawl/x");
  refused(405, "/_pawl/reset must be a POST", "GET", "/_pawl/reset");
  refused(405, "/_pawl/clock must be a POST", "HEAD", "/_pawl/clock");
  refused(405, "must be a GET", "POST", "/_localstack/health");
}

TEST_F(DevCallTest, AnswersAsLocalStackDoes) {
  EXPECT_EQ(begin("GET", "/_localstack/health"), CallStep::respond);
  EXPECT_EQ(call_.status(), 200);
  EXPECT_EQ(call_.content_type(), "application/json");
  EXPECT_NE(call_.body().find(R"("sqs":"running")"), std::string_view::npos);
}

TEST_F(DevCallTest, AResetDeletesAllQueuesOfAllOrOfOneAccount) {
  EXPECT_EQ(begin("POST", "/_pawl/reset"), CallStep::respond) << "there is no queue";
  EXPECT_EQ(call_.status(), 200);
  add("000000000000", "a");
  add("111111111111", "b");
  add("111111111111", "c");
  EXPECT_EQ(deleted(begin("POST", "/_pawl/reset?account=111111111111")),
            (std::multiset<std::uint64_t>{2, 3}));
  EXPECT_EQ(call_.status(), 200);
  EXPECT_EQ(deleted(begin("POST", "/_pawl/reset"), Errc::no_such_queue),
            (std::multiset<std::uint64_t>{1, 2, 3}))
      << "deleted meanwhile is deleted";
  EXPECT_EQ(call_.status(), 200);
  EXPECT_FALSE(deleted(begin("POST", "/_pawl/reset"), Errc::overloaded).empty());
  EXPECT_EQ(call_.status(), 503);
}

// A declaration of one request.
class FakeDeclared final : public RoutedWork {
 public:
  FakeDeclared(std::string account, std::string& begun, std::string fault)
      : account_(std::move(account)), begun_(&begun), fault_(std::move(fault)) {}
  CallStep begin(const Directory&, Instant) override {
    *begun_ = account_.empty() ? "all" : account_;
    routes_.push_back({&request_, control_shard});
    return CallStep::route;
  }
  std::span<const CallRoute> routes() const override { return routes_; }
  CallStep resume() override { return CallStep::respond; }
  std::string_view fault() const override { return fault_; }
  bool may_retry() const override { return false; }
  std::string_view summary() const override { return {}; }

 private:
  std::string account_;
  std::string* begun_;
  std::string fault_;
  Request request_;
  std::vector<CallRoute> routes_;
};

TEST_F(DevCallTest, AResetMakesDeclaredQueuesAfterTheDeletions) {
  std::string begun, fault;
  settings_.declare = [&](std::string_view account) {
    return std::make_unique<FakeDeclared>(std::string(account), begun, fault);
  };
  EXPECT_EQ(begin("POST", "/_pawl/reset"), CallStep::route) << "there is no queue";
  EXPECT_EQ(begun, "all");
  EXPECT_EQ(call_.resume(), CallStep::respond);
  EXPECT_EQ(call_.status(), 200);
  add("111111111111", "b");
  begun.clear();
  fault = "f:1:1: no";
  EXPECT_EQ(begin("POST", "/_pawl/reset?account=111111111111"), CallStep::route);
  EXPECT_EQ(begun, "") << "the deletions come first";
  EXPECT_EQ(call_.resume(), CallStep::route);
  EXPECT_EQ(begun, "111111111111");
  EXPECT_EQ(call_.resume(), CallStep::respond);
  EXPECT_EQ(call_.status(), 503);
  EXPECT_EQ(call_.body(), "f:1:1: no\n");
}

TEST_F(DevCallTest, AResetOfManyQueuesTakesSeveralRounds) {
  for (std::size_t i = 0; i < 2 * DevCall::routes_max + 5; ++i)
    add("000000000000", fmt::format("q{}", i));
  const auto ids = deleted(begin("POST", "/_pawl/reset"));
  EXPECT_EQ(ids.size(), 2 * DevCall::routes_max + 5);
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size()) << "each once";
}

TEST_F(DevCallTest, AResetRefusesOtherParameters) {
  add("000000000000", "a");
  for (const char* query : {"account=1", "account=", "acount=000000000000", "account=00000000000a"})
    refused(400, "12 digits", "POST", fmt::format("/_pawl/reset?{}", query));
  refused(400, "account=ID", "POST", "/_pawl/reset?account=%zz");
}

TEST_F(DevCallTest, TheClockAdvancesForEveryShard) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {R"({"advance":"15m"})",   900'000    },
      {R"({ "advance" : 90 })",  90'000     },
      {R"({"advance":"250ms"})", 250        },
      {R"({"advance":"3d"})",    259'200'000},
      {R"({"advance":"0"})",     0          },
  };
  for (const auto& [body, ms] : cases) {
    advanced_ = Duration{0};
    ASSERT_EQ(begin("POST", "/_pawl/clock", body), CallStep::route) << body;
    EXPECT_EQ(advanced_.ms, ms) << body;
    std::set<std::uint8_t> shards;
    for (const CallRoute& route : call_.routes()) {
      EXPECT_EQ(route.request->op, Op::none);
      shards.insert(static_cast<std::uint8_t>(route.target));
    }
    EXPECT_EQ(shards, (std::set<std::uint8_t>{0, 1, 2})) << "each has a turn";
    EXPECT_EQ(call_.resume(), CallStep::respond);
    EXPECT_EQ(call_.status(), 200);
  }
}

// Each count gets the next of the given numbers, and later ones the last.
TEST_F(DevCallTest, AWaitEndsWhenEnoughMessagesAreVisible) {
  add("000000000000", "q");
  const auto counts_until_answer = [&](const std::string& target, std::vector<QueueCounts> counts) {
    std::size_t asked = 0;
    for (CallStep step = begin("GET", target); step == CallStep::route; step = call_.resume()) {
      EXPECT_EQ(call_.routes().size(), 1U);
      Request& request = *call_.routes().front().request;
      if (request.op == Op::none) {
        EXPECT_EQ(request.receive.wait, DevCall::rest);
        continue;
      }
      EXPECT_EQ(request.op, Op::count);
      EXPECT_EQ(request.queue, QueueId{1});
      request.counts = counts[std::min(asked++, counts.size() - 1)];
    }
    return asked;
  };
  EXPECT_EQ(counts_until_answer("/_pawl/wait?queue=q&visible=3",
                                {
                                    {0, 5, 0},
                                    {2, 0, 0},
                                    {4, 1, 0}
  }),
            3U);
  EXPECT_EQ(call_.status(), 200);
  EXPECT_EQ(call_.body(), "{\"visible\":4,\"in_flight\":1,\"delayed\":0}\n");
  EXPECT_EQ(counts_until_answer("/_pawl/wait?queue=q&visible=0",
                                {
                                    {1, 0, 0},
                                    {0, 1, 0},
                                    {0, 0, 1},
                                    {0, 0, 0}
  }),
            4U)
      << "empty in all states";
  EXPECT_EQ(call_.status(), 200);
  EXPECT_EQ(counts_until_answer("/_pawl/wait?queue=q&visible=3&timeout=50ms",
                                {
                                    {2, 0, 7}
  }),
            11U);
  EXPECT_EQ(call_.status(), 408);
  EXPECT_EQ(call_.body(), "{\"visible\":2,\"in_flight\":0,\"delayed\":7}\n");
  EXPECT_EQ(counts_until_answer("/_pawl/wait?queue=q&visible=3&timeout=0",
                                {
                                    {2, 0, 7}
  }),
            1U);
  EXPECT_EQ(call_.status(), 408);
}

TEST_F(DevCallTest, AWaitRefusesWhatItCannotWaitFor) {
  add("000000000000", "q");
  add("111111111111", "other");
  refused(404, "no queue missing of account 000000000000", "GET",
          "/_pawl/wait?queue=missing&visible=1");
  refused(404, "no queue other", "GET", "/_pawl/wait?queue=other&visible=1");
  EXPECT_EQ(begin("GET", "/_pawl/wait?queue=other&visible=1&account=111111111111"),
            CallStep::route);
  for (const char* query : {"", "queue=q", "visible=1", "queue=&visible=1"})
    refused(400, "queue=NAME", "GET", fmt::format("/_pawl/wait?{}", query));
  for (const char* query : {"visible=-1", "visible=1.5", "visible=", "timeout=61s", "timeout=x",
                            "limit=3", "account=1"})
    refused(400, "is not valid", "GET", fmt::format("/_pawl/wait?queue=q&{}", query));
  refused(400, "each name once", "GET", "/_pawl/wait?queue=q&queue=q&visible=1");
  refused(405, "must be a GET", "POST", "/_pawl/wait?queue=q&visible=1");
  EXPECT_EQ(begin("GET", "/_pawl/wait?queue=q&visible=1"), CallStep::route);
  call_.routes().front().request->error = Errc::no_such_queue;
  EXPECT_EQ(call_.resume(), CallStep::respond);
  EXPECT_EQ(call_.status(), 404);
}

TEST_F(DevCallTest, TheClockRefusesOtherTimes) {
  for (const char* body : {"", "15m", "{}", R"({"advance":true})", R"({"advance":"15m","to":"1"})",
                           R"({"back":"15m"})", R"(["15m"])"})
    refused(400, R"({"advance":"15m"})", "POST", "/_pawl/clock", body);
  for (const char* time : {"\"-15m\"", "-1", "1.5", "\"15 minutes\"", "\"99999d\"", "\"\""})
    refused(400, "250ms, 90s, 15m, 2h or 3d", "POST", "/_pawl/clock",
            fmt::format(R"({{"advance":{}}})", time));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/declared/declared_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/scheduler/schedule.h"

namespace pawl {
namespace {

constexpr Instant noon{1'798'113'600'000};

// A server of one directory: it creates queues and accepts sends.
class DeclaredCallTest : public ::testing::Test {
 protected:
  void declare(DeclaredKind kind, std::string name, std::string account = "000000000000") {
    DeclaredRow row;
    row.kind = kind;
    row.name = std::move(name);
    row.account = std::move(account);
    row.where = "f:3:1";
    row.body = "hello";
    rows_.push_back(std::move(row));
  }

  void apply(const CallRoute& route) {
    Request& request = *route.request;
    request.error = error_;
    ops_.push_back(request.op);
    if (request.op == Op::count) request.counts.visible = messages_;
    if (error_ != Errc::ok) return;
    if (request.op == Op::set_attributes && request.tags != nullptr) {
      QueueConfig changed = **directory_.find(request.queue);
      changed.tags = *request.tags;
      request.config = std::make_shared<const QueueConfig>(std::move(changed));
      directory_.put(request.config);
    }
    if (request.op != Op::create_queue) return;
    QueueConfig config;
    config.tags = request.spec->tags;
    config.id = QueueId{++ids_};
    config.set_name(request.spec->account, request.spec->name);
    for (const AttributeChange& change : request.spec->changes) config.apply(change);
    request.config = std::make_shared<const QueueConfig>(std::move(config));
    directory_.put(request.config);
  }

  // Returns the fault.
  std::string run(std::string_view account = {}) {
    DeclaredCall call(std::make_shared<const DeclaredRows>(rows_), account, settings_, 1);
    for (CallStep step = call.begin(directory_, noon); step == CallStep::route;
         step = call.resume()) {
      EXPECT_FALSE(call.routes().empty());
      EXPECT_LE(call.routes().size(), DeclaredCall::calls_max);
      for (const CallRoute& route : call.routes()) apply(route);
    }
    may_retry_ = call.may_retry();
    return std::string(call.fault());
  }

  DeclaredRows rows_;
  Directory directory_;
  CallSettings settings_;
  Errc error_ = Errc::ok;
  std::uint64_t messages_ = 0;
  std::uint32_t ids_ = 0;
  std::vector<Op> ops_;
  bool may_retry_ = false;
};

TEST_F(DeclaredCallTest, CreatesQueuesAndThenSends) {
  declare(DeclaredKind::message, "q");
  declare(DeclaredKind::queue, "q");
  EXPECT_EQ(run(), "");
  EXPECT_EQ(ops_, (std::vector{Op::create_queue, Op::send, Op::set_attributes}));
  EXPECT_NE(directory_.find("000000000000", "q"), nullptr);
  ops_.clear();
  EXPECT_EQ(run(), "");
  EXPECT_TRUE(ops_.empty()) << "a second time has nothing to do";
}

TEST_F(DeclaredCallTest, CreatesSchedulesAndTheirGroupsOnce) {
  declare(DeclaredKind::queue, "q");
  declare(DeclaredKind::schedule, "s");
  rows_.back().group = "g";
  rows_.back().attributes = {
      {"expression", "rate(1 hour)",                         "f:4:1"},
      {"queue",      "arn:aws:sqs:us-east-1:000000000000:q", "f:5:1"},
      {"start",      "2020-01-01T00:00:00Z",                 "f:6:1"},
      {"end",        "2021-01-01T00:00:00Z",                 "f:7:1"},
  };
  EXPECT_EQ(run(), "") << "dates that have passed are accepted";
  EXPECT_EQ(ops_, (std::vector{Op::create_queue, Op::create_queue, Op::create_queue}));
  EXPECT_NE(directory_.find("scheduler/000000000000", "g"), nullptr);
  const ConfigPtr* const row = directory_.find("scheduler/000000000000", "g/s");
  ASSERT_NE(row, nullptr);
  const auto made = Schedule::from_text((*row)->text(Attribute::schedule));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->created, noon);
  EXPECT_EQ(made->from, noon) << "no fire before its creation, for it has a start";
  EXPECT_EQ(made->target.arn, "arn:aws:sqs:us-east-1:000000000000:q");
  ops_.clear();
  EXPECT_EQ(run(), "");
  EXPECT_TRUE(ops_.empty()) << "an unchanged schedule is not touched";
  rows_.back().attributes.front().value = "rate(2 hours)";
  EXPECT_EQ(run(), "");
  EXPECT_EQ(ops_, (std::vector{Op::set_attributes}));
}

TEST_F(DeclaredCallTest, AScheduleThatIsRefusedHasThePlaceOfItsTable) {
  declare(DeclaredKind::queue, "q");
  EXPECT_EQ(run(), "");
  declare(DeclaredKind::schedule, "s");
  rows_.back().group = "default";
  rows_.back().attributes = {
      {"expression", "rate(1 hour)",                         "f:4:1"},
      {"queue",      "arn:aws:sqs:us-east-1:000000000000:q", "f:5:1"},
  };
  error_ = Errc::directory_full;
  const std::string fault = run();
  EXPECT_TRUE(fault.starts_with("f:3:1: CreateSchedule is refused for the schedule s: ")) << fault;
  EXPECT_EQ(fault.find('{'), fault.npos) << "the text alone, without its JSON: " << fault;
  EXPECT_TRUE(may_retry_) << "the limit may be higher at the next start";
}

TEST_F(DeclaredCallTest, ACheckAcceptsARateThatFiresWhenItIsMade) {
  declare(DeclaredKind::queue, "q");
  declare(DeclaredKind::schedule, "s");
  rows_.back().group = "g";
  rows_.back().attributes = {
      {"expression", "rate(1 hour)",                         "f:4:1"},
      {"queue",      "arn:aws:sqs:us-east-1:000000000000:q", "f:5:1"},
  };
  DeclaredCall call(std::make_shared<const DeclaredRows>(rows_), {}, settings_, 1);
  EXPECT_EQ(call.check(directory_), std::vector<std::string>());
}

TEST_F(DeclaredCallTest, ACheckFindsAllFaultsAndCallsNothing) {
  declare(DeclaredKind::queue, "q");
  rows_.back().attributes = {
      {"DelaySeconds",      "901",   "f:4:9"},
      {"VisibilityTimeout", "43201", "f:5:9"}
  };
  declare(DeclaredKind::topic, "t");
  rows_.back().attributes = {
      {"FifoTopic", "true", "f:6:9"}
  };
  declare(DeclaredKind::subscription, "t");
  rows_.back().endpoint = "arn:aws:sqs:us-east-1:000000000000:q";
  rows_.back().attributes = {
      {"FilterPolicy", R"({"a":"red"})", "f:9:1"}
  };
  DeclaredCall call(std::make_shared<const DeclaredRows>(rows_), "", settings_, 1);
  const std::vector<std::string> faults = call.check(directory_);
  ASSERT_EQ(faults.size(), 4u);
  const char* const places[] = {"f:4:9: DelaySeconds", "f:5:9: VisibilityTimeout",
                                "f:6:9: FifoTopic", "f:9:1: Subscribe is refused"};
  for (std::size_t i = 0; i < faults.size(); ++i)
    EXPECT_TRUE(faults[i].starts_with(places[i])) << faults[i];
  EXPECT_TRUE(call.routes().empty());
}

TEST_F(DeclaredCallTest, ARefusedCallIsFoundBeforeAnythingChanges) {
  declare(DeclaredKind::queue, "q");
  declare(DeclaredKind::topic, "t");
  declare(DeclaredKind::subscription, "t");
  rows_.back().endpoint = "arn:aws:sqs:us-east-1:000000000000:q";
  rows_.back().attributes = {
      {"FilterPolicy",      R"({"a":"red"})", "f:9:1"},
      {"FilterPolicyScope", "MessageBody",    "f:8:1"}
  };
  const std::string fault = run();
  EXPECT_TRUE(fault.starts_with("f:9:1: Subscribe is refused for the subscription to topic t: "))
      << fault;
  EXPECT_FALSE(may_retry_);
  EXPECT_TRUE(ops_.empty());
  EXPECT_EQ(directory_.size(), 0U);
}

TEST_F(DeclaredCallTest, MakesManyInSeveralRounds) {
  for (std::size_t i = 0; i < 2 * DeclaredCall::calls_max + 1; ++i)
    declare(DeclaredKind::queue, "q" + std::to_string(i), i == 0 ? "111111111111" : "000000000000");
  EXPECT_EQ(run("000000000000"), "");
  EXPECT_EQ(directory_.size(), 2 * DeclaredCall::calls_max) << "of one account";
  EXPECT_EQ(run(), "");
  EXPECT_NE(directory_.find("111111111111", "q0"), nullptr);
}

TEST_F(DeclaredCallTest, AFailedCallNamesItsRow) {
  declare(DeclaredKind::queue, "q");
  error_ = Errc::overloaded;
  const std::string fault = run();
  EXPECT_TRUE(fault.starts_with("f:3:1: CreateQueue is refused for the queue q: ")) << fault;
  EXPECT_TRUE(may_retry_);
}

TEST_F(DeclaredCallTest, AQueueWithMessagesKeepsItsRetention) {
  declare(DeclaredKind::queue, "q");
  EXPECT_EQ(run(), "");
  rows_[0].attributes = {
      {"MessageRetentionPeriod", "60", "f:4:1"}
  };
  messages_ = 1;
  EXPECT_TRUE(run().starts_with("f:4:1: MessageRetentionPeriod = 60 of queue q: "));
  EXPECT_FALSE(may_retry_);
  EXPECT_EQ(ops_.back(), Op::count);
  messages_ = 0;
  EXPECT_EQ(run(), "");
  EXPECT_EQ(ops_.back(), Op::set_attributes);
}

TEST(DeclaredErrorText, IsTheMessageOfEitherProtocol) {
  EXPECT_EQ(
      declared_error_text("HTTP/1.1 400 x\r\na: b\r\n\r\n{\"__type\":\"t\",\"message\":\"no\"}"),
      "no");
  EXPECT_EQ(
      declared_error_text("HTTP/1.1 400 x\r\n\r\n<E><Message>a &lt;b&gt; &amp;lt;</Message></E>"),
      "a <b> &lt;");
  EXPECT_EQ(declared_error_text("HTTP/1.1 400 x\r\n\r\nplain"), "plain");
  EXPECT_EQ(declared_error_text(""), "");
}

}  // namespace
}  // namespace pawl

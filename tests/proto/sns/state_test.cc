// SPDX-License-Identifier: Apache-2.0
// The errors of SNS.
#include "proto/sns/state.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "proto/errors/errors.h"

namespace pawl {
namespace {

TEST(SnsFaults, HaveACodeOfTheirOwnAndAStatus) {
  std::set<std::string_view> codes;
  for (int i = 1; i <= static_cast<int>(SnsFault::internal_error); ++i) {
    const SnsFaultInfo& fault = info(static_cast<SnsFault>(i));
    EXPECT_FALSE(fault.code.empty()) << i;
    EXPECT_TRUE(codes.insert(fault.code).second) << fault.code;
    EXPECT_TRUE(fault.status / 100 == 4 || fault.status / 100 == 5) << fault.code;
    EXPECT_FALSE(fault.sender && fault.status / 100 == 5) << fault.code;
  }
}

TEST(SnsRefusal, BeginsWithInvalidParameterForAParameter) {
  SnsRefusal refusal;
  EXPECT_FALSE(refusal);
  EXPECT_FALSE(refusal.parameter("{} is too long", "Subject"));
  EXPECT_TRUE(refusal);
  EXPECT_EQ(refusal.fault, SnsFault::invalid_parameter);
  EXPECT_EQ(refusal.text, "Invalid parameter: Subject is too long");
}

// A client retries what is throttled; every other error of a shard is final.
TEST(SnsRefusal, IsThrottledExactlyWhenARetryMayHelp) {
  for (std::size_t i = 1; i < errc_count; ++i) {
    const auto code = static_cast<Errc>(i);
    SnsRefusal refusal;
    EXPECT_FALSE(refusal.broker(code));
    EXPECT_TRUE(refusal) << name_of(code);
    EXPECT_FALSE(refusal.text.empty()) << name_of(code);
    if (row_of(code).sqs_retry_ms > 0) {
      EXPECT_EQ(refusal.fault, SnsFault::throttled) << name_of(code);
    }
  }
  SnsRefusal full;
  full.broker(Errc::directory_full);
  EXPECT_EQ(full.fault, SnsFault::topic_limit);
  SnsRefusal failed;
  failed.broker(Errc::io);
  EXPECT_EQ(failed.fault, SnsFault::internal_error);
}

TEST(SnsState, RoutesAChangeToTheControlShard) {
  SnsState state;
  EXPECT_EQ(state.route_to_control(), CallStep::route);
  ASSERT_EQ(state.routes.size(), 1u);
  EXPECT_EQ(state.routes[0].request, &state.request);
  EXPECT_EQ(state.routes[0].target, control_shard);
  state.route_to_control();
  EXPECT_EQ(state.routes.size(), 1u) << "a repeated change replaces the route";
  EXPECT_FALSE(state.has_result);
  state.answer().element("A", "b");
  EXPECT_TRUE(state.has_result);
  EXPECT_EQ(state.result, "<A>b</A>");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/state.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pawl {
namespace {

TEST(SchedulerState, HasAnErrorOfAwsForEachFault) {
  std::set<std::string_view> codes;
  for (auto i = static_cast<int>(SchedulerFault::validation);
       i <= static_cast<int>(SchedulerFault::unknown_operation); ++i) {
    const SchedulerFaultInfo& fault = info(static_cast<SchedulerFault>(i));
    EXPECT_TRUE(codes.insert(fault.code).second && fault.code.ends_with("Exception")) << fault.code;
    EXPECT_GE(fault.status, 400);
  }
  EXPECT_EQ(info(SchedulerFault::none).status, 200);
}

TEST(SchedulerState, TranslatesErrorsOfShards) {
  const auto fault_of_errc = [](Errc code) {
    SchedulerRefusal refusal;
    refusal.broker(code);
    EXPECT_FALSE(refusal.text.empty());
    return refusal.fault;
  };
  EXPECT_EQ(fault_of_errc(Errc::directory_full), SchedulerFault::quota_exceeded);
  EXPECT_EQ(fault_of_errc(Errc::overloaded), SchedulerFault::throttling);
  EXPECT_EQ(fault_of_errc(Errc::io), SchedulerFault::internal);
}

TEST(SchedulerState, RoutesOneRequestToTheControlShard) {
  SchedulerState s;
  Request request;
  request.op = Op::none;
  const auto next = [](SchedulerState&) { return CallStep::respond; };
  EXPECT_EQ(s.route(request, next), CallStep::route);
  ASSERT_EQ(s.routes.size(), 1u);
  EXPECT_EQ(s.routes[0].request, &s.requests[0]);
  EXPECT_EQ(s.routes[0].target, control_shard);
  EXPECT_EQ(s.outcome(), Errc::ok);
  s.requests.resize(3);
  s.requests[1].error = Errc::no_such_queue;
  EXPECT_EQ(s.outcome(), Errc::ok) << "gone already";
  s.requests[2].error = Errc::overloaded;
  EXPECT_EQ(s.outcome(), Errc::overloaded);
}

}  // namespace
}  // namespace pawl

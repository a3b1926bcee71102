// SPDX-License-Identifier: Apache-2.0
// DeclaredCall: carries out a plan of declared_plan.h, as calls of SQS, SNS and EventBridge
// Scheduler.
//
//   begin --respond--> fault()
//     \--route--> [each of routes() applied] -> resume --respond--> fault()
//                  ^                              |
//                  +------------route-------------+
//
// First it begins each call against the planned directory and drops it: so a call that would be
// refused is found before anything changes. Then it counts the messages of the queues that must be
// empty, and makes the calls, phase after phase, calls_max at once. The first failed call ends it;
// those before it stay done.
//
// Limits: calls_max.
// Errors: fault(): "FILE:LINE:COLUMN: ...". may_retry() tells whether the server was at its limits.
// Owner:  the connection or the call of a reset. Memory used by the requests stays valid until the
//         next resume().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/aws/call_types.h"
#include "proto/declared/declared_plan.h"

namespace pawl {

class DeclaredCall final : public RoutedWork {
 public:
  static constexpr std::size_t calls_max = 64;

  // `request_number`: see HttpCall::begin(). Rows of other accounts than `account` are left out,
  // unless it is empty.
  DeclaredCall(const std::shared_ptr<const DeclaredRows>& rows, std::string_view account,
               const CallSettings& settings, std::uint64_t request_number);
  ~DeclaredCall() override;

  // All faults, without a call that is carried out. Instead of begin().
  std::vector<std::string> check(const Directory& directory);

  CallStep begin(const Directory& directory, Instant now) override;
  std::span<const CallRoute> routes() const override { return routes_; }
  CallStep resume() override;
  std::string_view fault() const override { return fault_; }
  bool may_retry() const override { return may_retry_; }
  std::string_view summary() const override { return plan_.summary; }

 private:
  struct One;  // a call under way

  // Calls refused() for each call that would be refused; it returns whether to go on.
  template <typename Refused>
  void check_calls(Refused&& refused);
  CallStep begin_calls();
  CallStep judge_counts();
  CallStep go_on();
  const Directory& directory_for(const DeclaredAction& action) const;
  std::unique_ptr<One> begin_call(const DeclaredAction& action, const Directory& directory);
  static void fill_request(One& one);
  void note_end(One& one);

  DeclaredRows rows_;
  CallSettings settings_;  // of the account of the latest call
  std::uint64_t request_number_;
  const Directory* directory_ = nullptr;
  Instant now_;  // engine time
  DeclaredPlan plan_;
  std::vector<Request> counts_;
  std::size_t phase_ = 0, next_ = 0;  // the next action
  std::vector<std::unique_ptr<One>> calls_;
  std::vector<CallRoute> routes_;
  std::string fault_;
  bool may_retry_ = false;
};

// The text of an error response, and of the code that the client would see.
std::string declared_error_text(std::string_view response);

}  // namespace pawl

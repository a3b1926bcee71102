// SPDX-License-Identifier: Apache-2.0
// Policies: any text gets a decision. An added permission keeps an allowed request allowed, and its
// removal restores the earlier decision.
//
// Input: the text of a Policy attribute.
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "proto/sqs/policy.h"

namespace pawl::fuzz {
namespace {

constexpr PolicyQuestion question{.account = "222222222222",
                                  .permission = "SendMessage",
                                  .queue_arn = "arn:aws:sqs:us-east-1:111111111111:q"};

void check(std::string_view policy) {
  const bool allowed = policy_allows(policy, question);
  CHECK(!allowed || policy.contains("llow"));  // however it is escaped
  CHECK(!policy_allows(policy, {question.account, "", question.queue_arn}));

  constexpr std::string_view accounts[] = {question.account}, actions[] = {question.permission};
  const PermissionGrant grant{.label = "fuzz", .accounts = accounts, .actions = actions};
  std::string added, removed;
  Refusal refusal;
  if (!add_permission(policy, question.queue_arn, grant, added, refusal)) {
    CHECK(refusal.fault != SqsFault::none);
    return;
  }
  CHECK(added.size() <= policy_bytes_max);
  CHECK(!allowed || policy_allows(added, question));
  CHECK(remove_permission(added, grant.label, removed, refusal), "{}", refusal.text);
  CHECK(policy_allows(removed, question) == allowed);
  CHECK(!remove_permission(removed, grant.label, added, refusal));
}

}  // namespace
}  // namespace pawl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pawl::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}

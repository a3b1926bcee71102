// SPDX-License-Identifier: Apache-2.0
#include "net/server/policy_filter.h"

#include <string>
#include <utility>

#include "core/base/check.h"
#include "proto/sns/filter_policy.h"

namespace pawl {
namespace {

class PolicyFilter final : public MessageFilter {
 public:
  explicit PolicyFilter(std::shared_ptr<const FilterPolicy> policy) : policy_(std::move(policy)) {
    CHECK(policy_ != nullptr, "a filter without a policy");
  }
  bool wants(const Content& content) const override {
    // In an envelope the attributes are part of the body.
    const bool in_envelope = content.subscription != MessageId{};
    return policy_->matches(in_envelope ? std::string_view() : content.attributes, content.body);
  }

 private:
  std::shared_ptr<const FilterPolicy> policy_;
};

}  // namespace

std::unique_ptr<MessageFilter> filter_by_policy(std::string_view text) {
  std::string why;
  auto policy = FilterPolicy::parse(text, FilterPolicy::Scope::attributes, why);
  return policy == nullptr ? nullptr : std::make_unique<PolicyFilter>(std::move(policy));
}

}  // namespace pawl

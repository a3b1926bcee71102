// SPDX-License-Identifier: Apache-2.0
// SNS filter policies: any text is a policy or gets a reason why it is none. A policy evaluates any
// message, and an "$or" of the policy with itself has the same result.
//
// Input: scope (low bit), the policy, a NUL, and the message: it is the body, and the text of the
// attributes "a", "b" and "n".
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"
#include "proto/sns/filter_policy.h"

namespace pawl::fuzz {
namespace {

std::string attributes_of(std::string_view text) {
  std::string encoded;
  append_attribute(encoded, {"a", "String", AttributeKind::text, text});
  append_attribute(encoded, {"b", "String.Array", AttributeKind::text, text});
  append_attribute(encoded, {"n", "Number", AttributeKind::text, text});
  return encoded;
}

void check(FilterPolicy::Scope scope, std::string_view policy, std::string_view message) {
  std::string why;
  const auto filter = FilterPolicy::parse(policy, scope, why);
  CHECK((filter == nullptr) == !why.empty());
  if (filter == nullptr) return;
  const std::string attributes = attributes_of(message);
  const bool wanted = filter->matches(attributes, message);
  std::string either(R"({"$or":[)");
  either.append(policy).append(",").append(policy).append("]}");
  // The "$or" has twice as many keys, so it may be too complex or too deep.
  if (const auto twice = FilterPolicy::parse(either, scope, why)) {
    CHECK(twice->matches(attributes, message) == wanted, "{}", policy);
  }
}

}  // namespace
}  // namespace pawl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t nul = all.find('\0');
  const std::string_view message = nul == all.npos ? std::string_view() : all.substr(nul + 1);
  pawl::fuzz::check(
      (data[0] & 1) != 0 ? pawl::FilterPolicy::Scope::body : pawl::FilterPolicy::Scope::attributes,
      all.substr(0, nul), message);
  return 0;
}

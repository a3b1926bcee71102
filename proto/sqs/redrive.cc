// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/redrive.h"

#include <fmt/core.h>
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "core/base/check.h"
#include "proto/aws/arn.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using F = SqsFault;
using JsonKind = JsonMember::Kind;

constexpr std::size_t source_arns_max = 10;  // an error text has the number too

const JsonMember* member_named(const std::vector<JsonMember>& members, std::string_view key) {
  const auto it = std::ranges::find(members, key, &JsonMember::key);
  return it == members.end() ? nullptr : &*it;
}

// Refuses a RedrivePolicy or a RedriveAllowPolicy; the error text repeats the value.
template <typename... Args>
bool refuse_policy(Refusal& refusal, std::string_view attribute, std::string_view value,
                   fmt::format_string<Args...> reason, Args&&... args) {
  return refusal.because(F::invalid_parameter_value,
                         "Value {} for parameter {} is invalid. Reason: {}", shown(value),
                         attribute, fmt::format(reason, std::forward<Args>(args)...));
}

constexpr std::string_view redrive = "RedrivePolicy";
constexpr std::string_view redrive_allow = "RedriveAllowPolicy";

bool check_members(std::string_view value, const std::vector<JsonMember>& members,
                   Refusal& refusal) {
  for (const std::string_view key : {"maxReceiveCount", "deadLetterTargetArn"}) {
    if (member_named(members, key) != nullptr) continue;
    return refuse_policy(refusal, redrive, value,
                         "Redrive policy does not contain mandatory attribute: {}.", key);
  }
  if (members.size() > 2) {
    return refuse_policy(
        refusal, redrive, value,
        "Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn].");
  }
  return true;
}

// The count may be a JSON number or a text.
bool read_count(std::string_view value, const JsonMember& member, std::int64_t& out,
                Refusal& refusal) {
  const std::string& text = member.text;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  if (error == std::errc() && stop == end && out >= 1 && out <= 1000) return true;
  return refuse_policy(
      refusal, redrive, value,
      "Invalid value for maxReceiveCount: {}, valid values are from 1 to 1000 both inclusive.",
      shown(text));
}

// The dead-letter queue of a RedrivePolicy, as QueueName::text(); it may be the source itself.
// Empty: the policy is refused.
std::string find_target(std::string_view value, const JsonMember& member,
                        const AttributeSubject& of, Refusal& refusal) {
  const auto refuse = [&](const char* reason) {
    refuse_policy(refusal, redrive, value, "{}", reason);
    return std::string();
  };
  const auto arn = parse_arn(member.text);
  if (!arn) return refuse("Dead-letter target ARN should be fully qualified ARN.");
  if (arn->service != "sqs") {
    return refuse("Only SQS queues are valid resources for deadLetterTargetArn.");
  }
  if (arn->account != of.account) {  // first: hides others' queues
    return refuse("Dead-letter target owner should be same as the source.");
  }
  const ConfigPtr* const found = find_queue(of.directory, *arn);
  const bool itself = arn->name == of.name;  // it may not exist yet
  const QueueConfig* const target = itself ? of.queue : found == nullptr ? nullptr : found->get();
  if (target == nullptr && !itself) return refuse("Dead letter target does not exist.");
  if (target != nullptr && target->is_fifo() != of.fifo) {
    return refuse("Dead-letter queue must be same type of queue as the source.");
  }
  if (target != nullptr && !allows_source(*target, of.account, of.name)) {
    return refuse("Dead letter target does not allow this queue as a source.");
  }
  return QueueName{arn->account, arn->name}.text();
}

// The error text for a RedriveAllowPolicy; empty if it is valid.
std::string_view fault_of_allow_policy(std::string_view value) {
  const auto members = json_members(value);
  const JsonMember* permission = members ? member_named(*members, "redrivePermission") : nullptr;
  const JsonMember* arns = members ? member_named(*members, "sourceQueueArns") : nullptr;
  const bool known = permission != nullptr && permission->kind == JsonKind::text &&
                     (permission->text == "allowAll" || permission->text == "denyAll" ||
                      permission->text == "byQueue");
  const bool formed = known && (arns == nullptr || arns->kind == JsonKind::list) &&
                      members->size() == (arns == nullptr ? 1 : 2);
  if (!formed) {
    return "Amazon SQS can't create the redrive allow policy, as it's in an unsupported format.";
  }
  const std::size_t count = arns == nullptr ? 0 : arns->list.size();
  const bool by_queue = permission->text == "byQueue";
  if (by_queue && count == 0) {
    return "When you specify the byQueue permission type, you must also specify one or more "
           "sourceQueueArns values.";
  }
  if (!by_queue && count > 0) {
    return "To specify one or more source queue ARNs, you must set redrivePermission to byQueue.";
  }
  if (count > source_arns_max) {
    return "The maximum number of source queue ARNs you can specify is 10.";
  }
  return {};
}

}  // namespace

bool read_redrive_policy(std::string_view value, const AttributeSubject& of,
                         std::vector<AttributeChange>& out, Refusal& refusal) {
  AttributeChange text{Attribute::redrive_policy, -1, {}};
  AttributeChange target{Attribute::dead_letter_target, -1, {}};
  AttributeChange count{Attribute::max_receive_count, 0, {}};
  if (!value.empty()) {
    const auto members = json_members(value);
    if (!members || !compact_json_object(value, "", text.text)) {
      return refusal.because(F::invalid_attribute_value,
                             "Invalid value for the parameter RedrivePolicy. Reason: Redrive "
                             "policy is not a valid JSON map.");
    }
    if (!check_members(value, *members, refusal) ||
        !read_count(value, *member_named(*members, "maxReceiveCount"), count.number, refusal)) {
      return false;
    }
    target.text = find_target(value, *member_named(*members, "deadLetterTargetArn"), of, refusal);
    if (target.text.empty()) return false;
  }
  out.push_back(std::move(text));
  out.push_back(std::move(target));
  out.push_back(std::move(count));
  return true;
}

bool read_redrive_allow_policy(std::string_view value, std::vector<AttributeChange>& out,
                               Refusal& refusal) {
  AttributeChange change{Attribute::redrive_allow_policy, -1, {}};
  if (!value.empty()) {
    const std::string_view fault = fault_of_allow_policy(value);
    if (!fault.empty()) return refuse_policy(refusal, redrive_allow, value, "{}", fault);
    CHECK(compact_json_object(value, "", change.text));  // it has just been parsed
    if (check_text(change.text) != TextFault::none)
      return refuse_policy(refusal, redrive_allow, value,
                           "It has a character that XML cannot hold.");
  }
  out.push_back(std::move(change));
  return true;
}

bool allows_source(const QueueConfig& target, std::string_view account, std::string_view name) {
  const std::string_view text = target.text(Attribute::redrive_allow_policy);
  if (text.empty()) return true;
  const auto members = json_members(text);
  const JsonMember* permission = members ? member_named(*members, "redrivePermission") : nullptr;
  if (permission == nullptr || permission->text == "denyAll") return false;
  if (permission->text == "allowAll") return true;
  const JsonMember* arns = member_named(*members, "sourceQueueArns");
  return arns != nullptr && std::ranges::any_of(arns->list, [&](const std::string& text_of_arn) {
           const auto arn = parse_arn(text_of_arn);
           return arn && arn->account == account && arn->name == name;
         });
}

}  // namespace pawl

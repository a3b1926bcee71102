// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/attribute_rules.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"

namespace pawl {
namespace {

using F = SqsFault;
using A = Attribute;

constexpr LiftedLimit lifted(std::string_view name, Attribute limited, std::string_view by_name,
                             Attribute by, std::int64_t least, Duration usual) {
  return {.name = name,
          .by_name = by_name,
          .limited = limited,
          .by = by,
          .least = least,
          .usual_s = usual.ms / 1000};
}

constexpr LiftedLimit lifted_limits[] = {
    lifted("DelaySeconds", A::delay_seconds, "x-max-delay", A::max_delay, 0, delay_max_default),
    lifted("VisibilityTimeout", A::visibility_timeout, "x-max-visibility", A::max_visibility, 0,
           visibility_max_default),
    lifted("MessageRetentionPeriod", A::message_retention_period, "x-max-retention",
           A::max_retention, 60, retention_max_default),
};

const AttributeChange* change_of(std::span<const AttributeChange> changes, Attribute attribute) {
  const auto it = std::ranges::find(changes, attribute, &AttributeChange::attribute);
  return it == changes.end() ? nullptr : &*it;
}

// SQS's two types of encryption exclude each other.
bool check_encryption(std::span<const AttributeChange> changes, Refusal& refusal) {
  const AttributeChange* key = change_of(changes, A::kms_master_key_id);
  const AttributeChange* managed = change_of(changes, A::sqs_managed_sse_enabled);
  if (key == nullptr || key->text.empty() || managed == nullptr || managed->number != 1) {
    return true;
  }
  return refusal.because(F::invalid_attribute_name,
                         "You can use one type of server-side encryption (SSE) at one time. You "
                         "can either enable KMS SSE or SQS SSE.");
}

// The attribute's number after the changes; without a queue, that of a new one.
std::int64_t number_after(std::span<const AttributeChange> changes, const QueueConfig* queue,
                          A attribute) {
  static const QueueConfig fresh;
  if (const AttributeChange* const change = change_of(changes, attribute)) return change->number;
  return (queue == nullptr ? fresh : *queue).number(attribute);
}

// A throughput limit per group requires deduplication per group, in the request or in the queue.
bool check_throughput(std::span<const AttributeChange> changes, const QueueConfig* queue,
                      Refusal& refusal) {
  if (change_of(changes, A::fifo_throughput_limit) == nullptr &&
      change_of(changes, A::deduplication_scope) == nullptr)
    return true;
  if (number_after(changes, queue, A::fifo_throughput_limit) == 0 ||
      number_after(changes, queue, A::deduplication_scope) == 1)
    return true;
  return refusal.because(F::invalid_attribute_value,
                         "The perMessageGroupId value is allowed only when the value for "
                         "DeduplicationScope is messageGroup");
}

// Checks a limited attribute and its limit together, whichever of both is changed.
bool check_lifted(const LiftedLimit& limit, std::span<const AttributeChange> changes,
                  const QueueConfig* queue, Refusal& refusal) {
  const bool changed = change_of(changes, limit.limited) != nullptr;
  if (!changed && change_of(changes, limit.by) == nullptr) return true;
  const std::int64_t value = number_after(changes, queue, limit.limited);
  const std::int64_t own = number_after(changes, queue, limit.by);
  const std::int64_t max = own > 0 ? own : limit.usual_s;
  if (value <= max) return true;
  const std::string_view name = limit.name, by = limit.by_name;
  CHECK(own >= 0 && max > 0, "{} is {}, its limit {}", by, own, max);
  if (!changed)
    return refusal.because(
        F::invalid_attribute_value,
        "Invalid value for the parameter {}. Reason: It is {}, which allows a {} "
        "of at most {} s; that of the queue is {} s. Lower {} too.",
        by, own, name, max, value, name);
  if (own == 0)
    return refusal.because(F::invalid_attribute_value, "Invalid value for the parameter {}.", name);
  return refusal.because(F::invalid_attribute_value,
                         "Invalid value for the parameter {}. Reason: It is {}; it must be {} to "
                         "{}, the {} of the queue.",
                         name, value, limit.least, max, by);
}

}  // namespace

const LiftedLimit* lifted_limit(Attribute limited) {
  const auto limit = std::ranges::find(lifted_limits, limited, &LiftedLimit::limited);
  return limit == std::end(lifted_limits) ? nullptr : limit;
}

bool lifts_a_limit(std::string_view name) {
  return std::ranges::any_of(lifted_limits,
                             [&](const LiftedLimit& limit) { return limit.by_name == name; });
}

bool fit_together(std::span<const AttributeChange> changes, const QueueConfig* queue,
                  Refusal& refusal) {
  return check_encryption(changes, refusal) && check_throughput(changes, queue, refusal) &&
         std::ranges::all_of(lifted_limits, [&](const LiftedLimit& limit) {
           return check_lifted(limit, changes, queue, refusal);
         });
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/backoff.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/queue/retry_backoff.h"
#include "proto/text/duration.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using BackoffMembers = std::vector<JsonMember>;

constexpr Duration cap_default = seconds(15 * 60);
constexpr double factor_default = 2, factor_max = 100;

template <typename... Args>
bool refuse_backoff(Refusal& refusal, fmt::format_string<Args...> reason, Args&&... args) {
  return refusal.because(SqsFault::invalid_attribute_value,
                         "Invalid value for the parameter x-retry-backoff. Reason: {}",
                         fmt::format(reason, std::forward<Args>(args)...));
}

const JsonMember* backoff_member(const BackoffMembers& members, std::string_view key) {
  const auto it = std::ranges::find(members, key, &JsonMember::key);
  return it == members.end() ? nullptr : &*it;
}

bool read_wait(std::string_view name, std::string_view text, Duration& out, Refusal& refusal) {
  const std::optional<Duration> wait = parse_duration(text);
  if (wait && wait->ms >= 1 && *wait <= backoff_step_max) {
    out = *wait;
    return true;
  }
  return refuse_backoff(refusal, "{} is {}; write a duration of 1ms to 30d, as {}.", name,
                        shown(text), duration_forms);
}

bool read_jitter(const BackoffMembers& members, Jitter& out, Refusal& refusal) {
  const JsonMember* const member = backoff_member(members, "jitter");
  if (member == nullptr) return true;
  const auto* const word = std::ranges::find(jitter_words, member->text);
  if (word == jitter_words.end())
    return refuse_backoff(refusal, "jitter is {}; it is one of {}.", shown(member->text),
                          join_texts(jitter_words, ", "));
  out = static_cast<Jitter>(word - jitter_words.begin());
  return true;
}

bool read_factor(const BackoffMembers& members, double& out, Refusal& refusal) {
  const JsonMember* const member = backoff_member(members, "factor");
  if (member == nullptr) return true;
  const char* const end = member->text.data() + member->text.size();
  const auto [stop, error] = std::from_chars(member->text.data(), end, out);
  if (error == std::errc() && stop == end && out >= 1 && out <= factor_max) return true;
  return refuse_backoff(refusal, "factor is {}; it is a number from 1 to {}.", shown(member->text),
                        factor_max);
}

bool read_steps(const JsonMember& member, std::vector<Duration>& out, Refusal& refusal) {
  const bool is_list =
      member.kind == JsonMember::Kind::list || member.kind == JsonMember::Kind::mixed;
  if (!is_list || member.list.empty() || member.list.size() > backoff_steps_max)
    return refuse_backoff(refusal, "steps is a list of 1 to {} durations, as [\"1m\",\"5m\"].",
                          backoff_steps_max);
  out.resize(member.list.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!read_wait(fmt::format("steps[{}]", i), member.list[i], out[i], refusal)) return false;
  return true;
}

// From `base` on, each step is `factor` times the one before, until `cap`.
bool read_growth(const BackoffMembers& members, std::vector<Duration>& out, Refusal& refusal) {
  Duration base{0}, cap = cap_default;
  double factor = factor_default;
  const JsonMember* const given = backoff_member(members, "base");
  const JsonMember* const most = backoff_member(members, "cap");
  if (given == nullptr) return refuse_backoff(refusal, "It needs base or steps.");
  if (!read_wait("base", given->text, base, refusal) ||
      (most != nullptr && !read_wait("cap", most->text, cap, refusal)) ||
      !read_factor(members, factor, refusal))
    return false;
  if (cap < base && most == nullptr)
    return refuse_backoff(refusal,
                          "base is {}; the longest wait, cap, is 15 minutes unless it is given. "
                          "Give a cap of {} or more.",
                          given->text, given->text);
  if (cap < base)
    return refuse_backoff(refusal, "cap is {} and below base, {}.", most->text, given->text);
  auto step = static_cast<double>(base.ms);
  out.push_back(base);
  while (factor > 1 && out.back() < cap) {
    if (out.size() == backoff_steps_max)
      return refuse_backoff(refusal,
                            "With factor {} the waits reach cap only after more than {} receives; "
                            "raise factor or base, or lower cap.",
                            factor, backoff_steps_max);
    step = std::min(step * factor, static_cast<double>(cap.ms));
    out.push_back(Duration{std::llround(step)});
  }
  return true;
}

bool read_plan(const BackoffMembers& members, std::string& plan, Refusal& refusal) {
  const JsonMember* const steps = backoff_member(members, "steps");
  for (const JsonMember& member : members) {
    const bool grows = member.key == "base" || member.key == "factor" || member.key == "cap";
    if (steps != nullptr && grows)
      return refuse_backoff(refusal, "It has steps and {}; give steps alone, or base, factor, cap.",
                            member.key);
    if (!grows && member.key != "steps" && member.key != "jitter")
      return refuse_backoff(refusal,
                            "Unknown member {}; there are base, factor, cap, steps and jitter.",
                            shown(member.key));
  }
  Jitter jitter = Jitter::full;
  std::vector<Duration> waits;
  if (!read_jitter(members, jitter, refusal) ||
      !(steps != nullptr ? read_steps(*steps, waits, refusal)
                         : read_growth(members, waits, refusal)))
    return false;
  plan = backoff_plan(jitter, waits);
  return true;
}

}  // namespace

bool read_retry_backoff(std::string_view value, std::vector<AttributeChange>& out,
                        Refusal& refusal) {
  AttributeChange text{Attribute::retry_backoff, -1, {}};
  AttributeChange plan{Attribute::backoff_plan, -1, {}};
  if (!value.empty()) {
    const auto members = json_members(value);
    if (!members || !compact_json_object(value, "", text.text))
      return refuse_backoff(
          refusal, "It is not a JSON object with each member once, as {{\"base\":\"1s\"}}.");
    if (!read_plan(*members, plan.text, refusal)) return false;
    CHECK(!plan.text.empty(), "{} has no plan", value);
  }
  out.push_back(std::move(text));
  out.push_back(std::move(plan));
  return true;
}

}  // namespace pawl

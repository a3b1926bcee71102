// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/apply_values.h"

#include <fmt/core.h>

#include <optional>

#include "core/base/check.h"
#include "proto/text/duration.h"
#include "proto/text/json_dom.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"
#include "tools/command_line.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

std::string redrive_text(const std::string& policy) {
  JsonDom dom;
  const auto document = dom.parse(policy);
  if (!document) return policy;
  const auto count = number_of(*document, "maxReceiveCount");
  return fmt::format("{} {}", text_of(*document, "deadLetterTargetArn"),
                     count ? std::to_string(*count) : text_of(*document, "maxReceiveCount"));
}

// Durations are answered in seconds; an attribute that is unset is not answered.
bool is_same_duration(std::string_view has, std::string_view wants) {
  const std::optional<Duration> wanted = parse_duration(wants);
  return wanted && wanted == (has.empty() ? Duration{0} : parse_duration(has));
}

}  // namespace

bool is_same_attribute(std::string_view name, const std::string& has, const std::string& wants) {
  if (has == wants) return true;
  if (name == "RedrivePolicy") return !has.empty() && redrive_text(has) == redrive_text(wants);
  if (!has.empty() && equals_ignoring_case(has, wants)) return has == "true" || has == "false";
  if (name.starts_with("x-") && is_same_duration(has, wants)) return true;
  // The values that an absent attribute stands for.
  if (has.empty())
    return equals_ignoring_case(wants, "false") || wants == "MessageAttributes" || wants == "{}";
  return wants.starts_with('{') && same_json(has, wants);
}

std::string change_text(std::string_view name, std::string_view has, std::string_view wants) {
  CHECK(!name.empty(), "a change of nothing to {}", wants);
  return fmt::format("{}: {} -> {}", name, has.empty() ? "none" : has, wants);
}

int refuse_row(const std::string& where, const std::string& text) {
  return fail_with(exit_failure, fmt::format("{}: {}", where, text));
}

}  // namespace pawl

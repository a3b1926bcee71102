// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/fired_input.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "proto/text/json.h"

namespace pawl {
namespace {

std::string replaced(std::string_view input, const FireContext& fire) {
  constexpr std::string_view mark = "<aws.scheduler.";
  const std::pair<std::string_view, std::string_view> words[] = {
      {"schedule-arn>",   fire.arn },
      {"scheduled-time>", fire.time},
      {"execution-id>",   fire.id  },
      {"attempt-number>", "1"      },
  };
  std::string out;
  for (std::size_t at = input.find(mark); at != input.npos; at = input.find(mark)) {
    const std::string_view rest = input.substr(at + mark.size());
    const auto* const word = std::ranges::find_if(
        words, [rest](const auto& one) { return rest.starts_with(one.first); });
    const bool known = word != std::end(words);
    out += input.substr(0, at);
    out += known ? word->second : mark;
    input = rest.substr(known ? word->first.size() : 0);
  }
  return out += input;
}

// The message of a schedule without Input.
std::string default_input(const FireContext& fire) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("version", "0");
  json.member("id", std::string_view(fire.id));
  json.member("detail-type", "Scheduled Event");
  json.member("source", "aws.scheduler");
  json.member("account", std::string_view(fire.account));
  json.member("time", std::string_view(fire.time));
  json.member("region", std::string_view(fire.region));
  json.key("resources");
  json.begin_array();
  json.value(std::string_view(fire.arn));
  json.end_array();
  json.member("detail", "{}");
  json.end_object();
  return out;
}

}  // namespace

std::string fired_input(std::string_view input, const FireContext& fire) {
  CHECK(!fire.arn.empty() && !fire.id.empty(), "a fire of \"{}\" without an id", fire.arn);
  return input.empty() ? default_input(fire) : replaced(input, fire);
}

}  // namespace pawl

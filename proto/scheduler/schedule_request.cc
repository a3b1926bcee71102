// SPDX-License-Identifier: Apache-2.0
// A schedule as a request of the API describes it: its members and their rules.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/check.h"
#include "proto/aws/arn.h"
#include "proto/aws/message_rules.h"
#include "proto/errors/sqs_errors.h"
#include "proto/scheduler/members.h"
#include "proto/scheduler/schedule.h"
#include "proto/text/digest.h"
#include "proto/text/suggest.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr std::string_view api_states[] = {"ENABLED", "DISABLED"};
constexpr std::string_view api_completions[] = {"NONE", "DELETE"};
constexpr std::string_view window_modes[] = {"OFF", "FLEXIBLE"};
constexpr std::string_view catch_up_words[] = {"none", "last", "all"};
constexpr std::string_view overlap_words[] = {"allow", "skip"};
constexpr std::string_view nonexistent_words[] = {"next", "skip"};

constexpr std::int32_t window_minutes_max = 1440, event_age_min = 60;
constexpr Duration start_age_max = seconds(300);

bool is_account_arn(std::string_view arn, std::string_view service) {
  const auto parts = parse_arn(arn);
  return parts && parts->service == service && is_account_id(parts->account);
}

bool fits_role(std::string_view text) {
  constexpr std::string_view role = "role/", others = "_+=,.@/-";
  const auto parts = parse_arn(text);
  return is_account_arn(text, "iam") && parts->region.empty() && parts->name.starts_with(role) &&
         parts->name.size() > role.size() &&
         std::ranges::all_of(parts->name.substr(role.size()), [others](char c) {
           return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') ||
                  others.contains(c);
         });
}

bool fits_dead_letter(std::string_view text) {
  return is_account_arn(text, "sqs") && is_plain_name(parse_arn(text)->name);
}

constexpr ApiTextRule role_rule{1, 1600, fits_role,
                                "^arn:aws(-[a-z]+)?:iam::\\d{12}:role\\/[\\w+=,.@\\/-]+$"};
constexpr ApiTextRule dead_letter_rule{
    1, 1600, fits_dead_letter, "^arn:aws(-[a-z]+)?:sqs:[a-z0-9\\-]+:\\d{12}:[a-zA-Z0-9\\-_]+$"};

template <std::size_t count>
bool take_word(const ApiMember& m, const std::string_view (&words)[count], std::size_t& out) {
  return m.word(words, out);
}

bool refuse_unsupported(const ApiMember& m, std::string_view instead) {
  m.why =
      fmt::format("{} is not supported by this server: {}", api_path(m.parent, m.name), instead);
  return false;
}

template <typename T>
bool refuse_parameters(const ApiMember& m, T&) {
  return refuse_unsupported(m, "a target is a queue, which may have SqsParameters, or a topic");
}

// --- the target ---

constexpr MemberRow<std::string> dead_letter_rows[] = {
    {"Arn", [](const ApiMember& m, std::string& arn) { return m.text(dead_letter_rule, arn); }},
};

constexpr MemberRow<ScheduleTarget> retry_rows[] = {
    {"MaximumEventAgeInSeconds",
     [](const ApiMember& m, ScheduleTarget& t) {
       return m.number(event_age_min, event_age_default, t.event_age);
     }},
    {"MaximumRetryAttempts",
     [](const ApiMember& m, ScheduleTarget& t) {
       return m.number(0, retry_attempts_default, t.attempts);
     }},
};

constexpr MemberRow<std::string> sqs_rows[] = {
    {"MessageGroupId",
     [](const ApiMember& m, std::string& group) { return m.text({1, message_id_max}, group); }},
};

template <typename T, std::size_t count>
bool read_object(const ApiMember& m, std::string_view path, const MemberRow<T> (&rows)[count],
                 T& out) {
  return m.value.is_object() ? read_members<T>(m.value, path, rows, out, m.why)
                             : m.is_not("an object");
}

constexpr MemberRow<ScheduleTarget> target_rows[] = {
    {"Arn", [](const ApiMember& m, ScheduleTarget& t) { return m.text({1, 1600}, t.arn); }},
    {"RoleArn", [](const ApiMember& m, ScheduleTarget& t) { return m.text(role_rule, t.role); }},
    {"Input", [](const ApiMember& m,
     ScheduleTarget& t) { return m.text({1, schedule_bytes_max}, t.input); }},
    {"DeadLetterConfig",
     [](const ApiMember& m, ScheduleTarget& t) {
       return read_object(m, "target.deadLetterConfig", dead_letter_rows, t.dead_letter_arn);
     }},
    {"RetryPolicy",
     [](const ApiMember& m, ScheduleTarget& t) {
       return read_object(m, "target.retryPolicy", retry_rows, t);
     }},
    {"SqsParameters",
     [](const ApiMember& m, ScheduleTarget& t) {
       return read_object(m, "target.sqsParameters", sqs_rows, t.group);
     }},
    {"EcsParameters", refuse_parameters},
    {"EventBridgeParameters", refuse_parameters},
    {"KinesisParameters", refuse_parameters},
    {"SageMakerPipelineParameters", refuse_parameters},
};

// --- the schedule ---

constexpr MemberRow<ScheduleTiming> window_rows[] = {
    {"Mode",
     [](const ApiMember& m, ScheduleTiming& t) {
       std::size_t mode = 0;
       if (!take_word(m, window_modes, mode)) return false;
       t.flexible = mode == 1;
       return true;
     }},
    {"MaximumWindowInMinutes",
     [](const ApiMember& m, ScheduleTiming& t) {
       return m.number(1, window_minutes_max, t.window_minutes);
     }},
};

bool read_token(const ApiMember& m, Schedule& s) {
  std::string token;
  if (!m.text(api_token_rule, token)) return false;
  s.token = token_digest(token);
  return true;
}

bool read_start(const ApiMember& m, Schedule& s) { return m.date(s.timing.start.emplace()); }
bool read_end(const ApiMember& m, Schedule& s) { return m.date(s.timing.end.emplace()); }

bool read_state(const ApiMember& m, Schedule& s) {
  std::size_t state = 0;
  if (!take_word(m, api_states, state)) return false;
  s.timing.enabled = state == 0;
  return true;
}

bool read_completion(const ApiMember& m, Schedule& s) {
  std::size_t action = 0;
  if (!take_word(m, api_completions, action)) return false;
  s.ends_deleted = action == 1;
  return true;
}

bool read_catch_up(const ApiMember& m, Schedule& s) {
  std::size_t word = 0;
  if (!take_word(m, catch_up_words, word)) return false;
  s.catch_up = static_cast<CatchUp>(word);
  return true;
}

bool read_overlap(const ApiMember& m, Schedule& s) {
  std::size_t word = 0;
  if (!take_word(m, overlap_words, word)) return false;
  s.skips_overlap = word == 1;
  return true;
}

bool read_nonexistent(const ApiMember& m, Schedule& s) {
  std::size_t word = 0;
  if (!take_word(m, nonexistent_words, word)) return false;
  s.timing.nonexistent = static_cast<NonexistentTime>(word);
  return true;
}

bool refuse_kms(const ApiMember& m, Schedule&) {
  return refuse_unsupported(m, "schedules are stored without encryption of their own");
}

constexpr MemberRow<Schedule> schedule_rows[] = {
    {"ScheduleExpression",
     [](const ApiMember& m, Schedule& s) {
       return m.text({1, expression_max}, s.timing.expression);
     }},
    {"ScheduleExpressionTimezone",
     [](const ApiMember& m, Schedule& s) { return m.text({1, 50}, s.timing.zone); }},
    {"FlexibleTimeWindow",
     [](const ApiMember& m, Schedule& s) {
       return read_object(m, "flexibleTimeWindow", window_rows, s.timing);
     }},
    {"Target", [](const ApiMember& m,
     Schedule& s) { return read_object(m, "target", target_rows, s.target); }},
    {"Description",
     [](const ApiMember& m, Schedule& s) { return m.text({0, 512}, s.description); }},
    {"ClientToken", read_token},
    {"StartDate", read_start},
    {"EndDate", read_end},
    {"State", read_state},
    {"ActionAfterCompletion", read_completion},
    {"KmsKeyArn", refuse_kms},
    {"x-catch-up", read_catch_up},
    {"x-overlap", read_overlap},
    {"x-nonexistent", read_nonexistent},
};

std::optional<JsonValue> given_member(const JsonValue& object, std::string_view key) {
  const auto value = object.member(key);
  return value && !value->is_null() ? value : std::nullopt;
}

// Refuses a name of pawl's kind that it does not have, so that a typing error is no default.
bool check_own_names(const JsonValue& request, std::string& why) {
  for (const auto [key, value] : request.members()) {
    if (!key.starts_with("x-")) continue;
    if (std::ranges::find(schedule_rows, key, &MemberRow<Schedule>::name) !=
        std::end(schedule_rows))
      continue;
    const std::vector<std::string> known = {"x-catch-up", "x-overlap", "x-nonexistent"};
    why = fmt::format(
        "{} is not a member of a schedule: there are x-catch-up, x-overlap and "
        "x-nonexistent.{}",
        shown(key), suggestion(key, known));
    return false;
  }
  return true;
}

// --- rules between members ---

bool check_timing(const ScheduleTiming& t, std::string& why) {
  if (const auto parsed = parse_schedule(t.expression); !parsed) {
    // Up to the full stop as AWS; the rest says what is wrong.
    why = fmt::format("Invalid Schedule Expression {}. {}", t.expression, parsed.error());
    return false;
  }
  if (const auto zone = Zone::find(t.zone); !zone) {
    why = fmt::format("Invalid ScheduleExpressionTimezone {}: {}", t.zone, zone.error());
    return false;
  }
  if (t.flexible && t.window_minutes == 0) {
    why = missing_member("flexibleTimeWindow.maximumWindowInMinutes");
    return false;
  }
  if (t.start && t.end && *t.end <= *t.start) {
    why = "The StartDate you specify must come before the EndDate you specify.";
    return false;
  }
  return true;
}

bool check_target(const ScheduleTarget& t, std::string_view account, std::string& why) {
  const auto arn = parse_arn(t.arn);
  const bool queue = arn && arn->service == "sqs";
  if (!arn || (!queue && arn->service != "sns") || arn->account != account ||
      !good_resource_name(arn->name, queue ? queue_name_max : topic_name_max)) {
    why = fmt::format(
        "Provided Arn is not in correct format, or not possible here: {}. A target "
        "is a queue, as arn:aws:sqs:us-east-1:{}:NAME, or a topic, as "
        "arn:aws:sns:us-east-1:{}:NAME, of this server and account.",
        shown(t.arn), account, account);
    return false;
  }
  const bool fifo = arn->name.ends_with(".fifo");
  if (!queue && fifo) {
    why = fmt::format(
        "{} is a FIFO topic, to which a schedule cannot publish: it sets no "
        "MessageGroupId. Choose a standard topic, or a FIFO queue.",
        shown(t.arn));
    return false;
  }
  if (queue && fifo && t.group.empty()) {
    why = "Target.SqsParameters.MessageGroupId is required: the target is a FIFO queue.";
    return false;
  }
  if (!queue && !t.group.empty()) {
    why = "Target.SqsParameters are for queues: the target is a topic.";
    return false;
  }
  if (!t.group.empty() && !good_message_id(t.group)) {
    why = api_fault(t.group, "target.sqsParameters.messageGroupId",
                    "be 1 to 128 printable ASCII characters without spaces");
    return false;
  }
  if (!t.dead_letter_arn.empty() && parse_arn(t.dead_letter_arn)->account != account) {
    why = fmt::format("The DeadLetterConfig Arn {} must be a queue of the account {}.",
                      t.dead_letter_arn, account);
    return false;
  }
  return true;
}

}  // namespace

std::string token_digest(std::string_view token) {
  constexpr std::size_t bytes = 8;
  std::string out;
  const Md5 digest = md5(token);
  append_hex(out, std::span(digest).first(bytes));
  return out;
}

bool Schedule::read(const JsonValue& request, std::string& why) {
  if (!check_own_names(request, why) ||
      !read_members<Schedule>(request, {}, schedule_rows, *this, why))
    return false;
  const auto window = given_member(request, "FlexibleTimeWindow");
  const std::pair<std::string_view, bool> needed[] = {
      {"scheduleExpression", !timing.expression.empty()},
      {"flexibleTimeWindow", window.has_value()},
      {"flexibleTimeWindow.mode", window && given_member(*window, "Mode")},
      {"target", given_member(request, "Target").has_value()},
      {"target.arn", !target.arn.empty()},
      {"target.roleArn", !target.role.empty()},
  };
  const auto* const missing =
      std::ranges::find_if(needed, [](const auto& member) { return !member.second; });
  if (missing != std::end(needed)) why = missing_member(missing->first);
  return missing == std::end(needed);
}

bool Schedule::check(std::string_view account, std::string& why) const {
  CHECK(!timing.expression.empty() && !target.arn.empty(), "a schedule that was not read");
  if (!check_timing(timing, why) || !check_target(target, account, why)) return false;
  if (skips_overlap && parse_arn(target.arn)->service == "sns") {
    why =
        "x-overlap is skip, which looks for the message of the fire before in a queue, and the "
        "target is a topic. Choose allow, or a queue as target.";
    return false;
  }
  if (const std::size_t bytes = text().size(); bytes > schedule_bytes_max) {
    why = fmt::format("The schedule has {} bytes; the limit is {}. Shorten its Input.", bytes,
                      schedule_bytes_max);
    return false;
  }
  return true;
}

bool Schedule::check_dates(Instant now, const Schedule* before, std::string& why) const {
  const bool new_start = before == nullptr || before->timing.start != timing.start;
  const bool new_end = before == nullptr || before->timing.end != timing.end;
  if (new_start && timing.start && *timing.start + start_age_max < now) {
    why = "The StartDate you specify cannot be earlier than 5 minutes ago.";
    return false;
  }
  if (new_end && timing.end && *timing.end <= now) {
    why = "The EndDate you specify must be in the future.";
    return false;
  }
  return true;
}

}  // namespace pawl

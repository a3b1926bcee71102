// SPDX-License-Identifier: Apache-2.0
#include "proto/declared/declared_schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/base/check.h"
#include "proto/aws/arn.h"
#include "proto/declared/declared_planner.h"
#include "proto/schedule/fires.h"
#include "proto/sns/topic.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/timestamp.h"

namespace pawl {
namespace {

// Sets a member. Returns the reason why it cannot, with the allowed values; empty: it is set.
using SetMember = std::string (*)(Schedule& schedule, const std::string& value);

struct ScheduleKey {
  std::string_view name;
  SetMember set;
};

std::string set_expression(Schedule& s, const std::string& value) {
  s.timing.expression = value;
  const auto parsed = parse_schedule(value);
  return parsed ? std::string() : parsed.error() + ".";
}

std::string set_zone(Schedule& s, const std::string& value) {
  s.timing.zone = value;
  const auto zone = Zone::find(value);
  return zone ? std::string() : zone.error();
}

std::string set_date(std::optional<Instant>& date, const std::string& value) {
  date = parse_timestamp(value);
  if (date && date->ms >= 0) return {};
  return fmt::format("it is no time. Allowed: a time as \"{}\".", timestamp_form);
}

std::string set_truth(bool& truth, const std::string& value) {
  truth = value == "true";
  return truth || value == "false" ? "" : "it is neither true nor false.";
}

std::string set_catch_up(Schedule& s, const std::string& value) {
  constexpr std::string_view words[] = {"none", "last", "all"};
  const auto* const word = std::ranges::find(words, value);
  if (word == std::end(words)) return "Allowed: none, last, all.";
  s.catch_up = static_cast<CatchUp>(word - words);
  return {};
}

std::string set_overlap(Schedule& s, const std::string& value) {
  s.skips_overlap = value == "skip";
  return s.skips_overlap || value == "allow" ? "" : "Allowed: allow, skip.";
}

std::string set_nonexistent(Schedule& s, const std::string& value) {
  s.timing.nonexistent = value == "skip" ? NonexistentTime::skip : NonexistentTime::next;
  return value == "skip" || value == "next" ? "" : "Allowed: next, skip.";
}

std::string set_text(std::string& text, const std::string& value) {
  text = value;
  return {};
}

using S = Schedule;
using Text = const std::string&;
constexpr ScheduleKey schedule_keys[] = {
    {"expression", set_expression},
    {"zone", set_zone},
    {"queue", [](S& s, Text value) { return set_text(s.target.arn, value); }},
    {"topic", [](S& s, Text value) { return set_text(s.target.arn, value); }},
    {"input", [](S& s, Text value) { return set_text(s.target.input, value); }},
    {"message-group", [](S& s, Text value) { return set_text(s.target.group, value); }},
    {"dead-letter-queue",
     [](S& s, Text value) { return set_text(s.target.dead_letter_arn, value); }},
    {"description", [](S& s, Text value) { return set_text(s.description, value); }},
    {"start", [](S& s, Text value) { return set_date(s.timing.start, value); }},
    {"end", [](S& s, Text value) { return set_date(s.timing.end, value); }},
    {"catch-up", set_catch_up},
    {"overlap", set_overlap},
    {"nonexistent", set_nonexistent},
    {"enabled", [](S& s, Text value) { return set_truth(s.timing.enabled, value); }},
    {"delete-after-completion", [](S& s, Text value) { return set_truth(s.ends_deleted, value); }},
};

Schedule schedule_before(const Schedule* existing) {
  Schedule made;
  made.timing.nonexistent = NonexistentTime::next;
  made.target.role = declared_role;
  if (existing == nullptr) return made;
  made.timing.enabled = existing->timing.enabled;
  made.timing.flexible = existing->timing.flexible;
  made.timing.window_minutes = existing->timing.window_minutes;
  made.target.role = existing->target.role;
  made.target.event_age = existing->target.event_age;
  made.target.attempts = existing->target.attempts;
  return made;
}

// The first fault of the rules of the API; empty: there is none.
std::string request_fault(const DeclaredRow& row, const Schedule& schedule) {
  std::string why;
  JsonDom dom;
  const std::string body = schedule_request(row.group, schedule);
  const auto document = dom.parse(body);
  Schedule read;
  if (!document) return "it has a text that is not UTF-8.";
  if (!read.read(*document, why) || !read.check(row.account, why)) return why;
  CHECK(read.same_request(schedule), "the request for {} says another schedule", describe(row));
  return {};
}

}  // namespace

std::string schedule_request(std::string_view group, const Schedule& schedule) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("GroupName", group);
  schedule.append_members(json, body);
  json.end_object();
  return body;
}

std::expected<Schedule, DeclaredFault> declared_schedule(const DeclaredRow& row,
                                                         const Schedule* existing) {
  CHECK(row.kind == DeclaredKind::schedule, "{} is no schedule", describe(row));
  Schedule made = schedule_before(existing);
  const auto fault = [&](const std::string& where, std::string why) {
    return std::unexpected(DeclaredFault{where, std::move(why)});
  };
  if ((row.find("queue") == nullptr) == (row.find("topic") == nullptr))
    return fault(row.where, fmt::format("{} needs one target: add queue = \"...\" or topic = "
                                        "\"...\", not both.",
                                        describe(row)));
  for (const DeclaredValue& one : row.attributes) {
    const auto* const key = std::ranges::find(schedule_keys, one.key, &ScheduleKey::name);
    CHECK(key != std::end(schedule_keys), "{} has no key {}", describe(row), one.key);
    if (const std::string why = key->set(made, one.value); !why.empty())
      return fault(one.where,
                   fmt::format("{} = {} of {}: {}", one.key, one.value, describe(row), why));
  }
  const auto target = parse_arn(made.target.arn);
  if (target && target->service == "sqs" && target->name.ends_with(".fifo") &&
      made.target.group.empty())
    return fault(row.where, fmt::format("{} for the FIFO queue {} has no message-group. Add "
                                        "message-group = \"...\".",
                                        describe(row), target->name));
  if (const std::string why = request_fault(row, made); !why.empty())
    return fault(row.where, fmt::format("{}: {}", describe(row), why));
  return made;
}

std::optional<DeclaredFault> missing_target(
    const DeclaredRow& row, const std::function<bool(const SqsArn&, DeclaredKind)>& is_there) {
  CHECK(row.kind == DeclaredKind::schedule, "{} is no schedule", describe(row));
  for (const std::string_view key : {"queue", "topic", "dead-letter-queue"}) {
    const DeclaredValue* const value = row.find(key);
    if (value == nullptr) continue;
    const auto arn = parse_arn(value->value);
    const DeclaredKind kind = key == "topic" ? DeclaredKind::topic : DeclaredKind::queue;
    if (arn && is_there(*arn, kind)) continue;
    return DeclaredFault{
        value->where,
        fmt::format("{0} = {1} of {2}: there is no such {3}. Declare it as [[{3}]] too, or correct "
                    "its name.",
                    key, value->value, describe(row), key == "topic" ? "topic" : "queue")};
  }
  return std::nullopt;
}

bool DeclaredPlanner::has_target(const DeclaredRow& row) {
  const auto missing = missing_target(row, [this](const SqsArn& arn, DeclaredKind kind) {
    return (kind == DeclaredKind::topic ? plan_.planned.find(topic_account(arn.account), arn.name)
                                        : find_queue(plan_.planned, arn)) != nullptr;
  });
  return !missing || refuse(missing->where, missing->why);
}

bool DeclaredPlanner::plan_schedule(const DeclaredRow& row) {
  CHECK(!row.group.empty(), "{} has no group", describe(row));
  const std::string account = schedule_account(row.account);
  const ConfigPtr* const there =
      there_.find(account, ScheduleName{.group = row.group, .name = row.name}.text());
  const auto existing =
      there == nullptr ? std::nullopt : Schedule::from_text((*there)->text(Attribute::schedule));
  const auto wanted = declared_schedule(row, existing ? &*existing : nullptr);
  if (!wanted) return refuse(wanted.error().where, wanted.error().why);
  if (!has_target(row)) return false;
  if (existing && wanted->same_request(*existing)) return true;
  if (row.group != default_group && plan_.planned.find(account, row.group) == nullptr) {
    add(make, row, "CreateScheduleGroup", "{}");
    QueueConfig group = planned_row(account, row.group);
    group.apply({Attribute::schedule, -1, ScheduleGroupText().text()});
    put(std::move(group));
  }
  add(connect, row, there == nullptr ? "CreateSchedule" : "UpdateSchedule",
      schedule_request(row.group, *wanted));
  return true;
}

}  // namespace pawl

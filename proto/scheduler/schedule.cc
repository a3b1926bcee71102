// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "proto/scheduler/members.h"

namespace pawl {
namespace {

// Marks rows of the directory that are no groups.
constexpr char name_mark = '/';

// Zones that this thread has looked for, because to find one reads its file. Null: there is none.
constexpr std::size_t zones_kept = 1000;
const Zone* zone_of(std::string_view name) {
  thread_local std::map<std::string, std::optional<Zone>, std::less<>> used;
  auto known = used.find(name);
  if (known == used.end()) {
    if (used.size() >= zones_kept) used.clear();
    auto found = Zone::find(name);
    known = used.emplace(name, found ? std::optional(std::move(*found)) : std::nullopt).first;
  }
  return known->second ? &*known->second : nullptr;
}

// A fixed part of the flexible window, which spreads the fires of schedules with equal times.
Duration window_part(const ScheduleTiming& timing, QueueId id) {
  if (!timing.flexible) return {0};
  std::uint64_t x = raw(id);
  x = (x ^ x >> 16) * 0x9E37'79B9'7F4A'7C15;
  x ^= x >> 32;
  const Duration window = seconds(60 * std::int64_t{timing.window_minutes});
  CHECK(window.ms > 0, "a flexible window of {} minutes", timing.window_minutes);
  return {static_cast<std::int64_t>(x % static_cast<std::uint64_t>(window.ms))};
}

void append_window(JsonWriter& json, const ScheduleTiming& timing) {
  json.plain_key("FlexibleTimeWindow");
  json.begin_object();
  if (timing.window_minutes != 0) json.member("MaximumWindowInMinutes", timing.window_minutes);
  json.plain_member("Mode", timing.flexible ? "FLEXIBLE" : "OFF");
  json.end_object();
}

// `all`: also the members that have their default.
void append_target(JsonWriter& json, const ScheduleTarget& target, bool all) {
  json.plain_key("Target");
  json.begin_object();
  json.member("Arn", std::string_view(target.arn));
  if (!target.dead_letter_arn.empty()) {
    json.plain_key("DeadLetterConfig");
    json.begin_object();
    json.member("Arn", std::string_view(target.dead_letter_arn));
    json.end_object();
  }
  if (!target.input.empty()) json.member("Input", std::string_view(target.input));
  const bool retries =
      target.event_age != event_age_default || target.attempts != retry_attempts_default;
  if (all || retries) {
    json.plain_key("RetryPolicy");
    json.begin_object();
    json.member("MaximumEventAgeInSeconds", target.event_age);
    json.member("MaximumRetryAttempts", target.attempts);
    json.end_object();
  }
  json.member("RoleArn", std::string_view(target.role));
  if (!target.group.empty()) {
    json.plain_key("SqsParameters");
    json.begin_object();
    json.member("MessageGroupId", std::string_view(target.group));
    json.end_object();
  }
  json.end_object();
}

void append_schedule(JsonWriter& json, std::string& out, const Schedule& s, bool all) {
  if (all || s.ends_deleted)
    json.plain_member("ActionAfterCompletion", s.ends_deleted ? "DELETE" : "NONE");
  if (!s.description.empty()) json.member("Description", std::string_view(s.description));
  if (s.timing.end) append_date(json, out, "EndDate", *s.timing.end);
  append_window(json, s.timing);
  json.member("ScheduleExpression", std::string_view(s.timing.expression));
  if (all || s.timing.zone != utc_zone)
    json.member("ScheduleExpressionTimezone", std::string_view(s.timing.zone));
  if (s.timing.start) append_date(json, out, "StartDate", *s.timing.start);
  if (all || !s.timing.enabled)
    json.plain_member("State", s.timing.enabled ? "ENABLED" : "DISABLED");
  append_target(json, s.target, all);
  if (s.catch_up != CatchUp::last)
    json.plain_member("x-catch-up", s.catch_up == CatchUp::all ? "all" : "none");
  if (s.skips_overlap) json.plain_member("x-overlap", "skip");
  if (s.timing.nonexistent == NonexistentTime::next) json.plain_member("x-nonexistent", "next");
}

constexpr MemberRow<Schedule> kept_rows[] = {
    {"CreationDate",         [](const ApiMember& m, Schedule& s) { return m.date(s.created); }              },
    {"LastModificationDate", [](const ApiMember& m, Schedule& s) { return m.date(s.modified); }             },
    {"From",                 [](const ApiMember& m, Schedule& s) { return m.date(s.from); }                 },
    {"Token",                [](const ApiMember& m, Schedule& s) { return m.text(api_token_rule, s.token); }},
};

// Members that are absent have the date of the creation.
bool read_kept(const JsonValue& document, Schedule& schedule, std::string& why) {
  constexpr Instant absent{-1};
  schedule.modified = schedule.from = absent;
  if (!read_members<Schedule>(document, {}, kept_rows, schedule, why)) return false;
  if (schedule.modified == absent) schedule.modified = schedule.created;
  if (schedule.from == absent) schedule.from = schedule.created;
  return true;
}

constexpr MemberRow<ScheduleGroupText> group_rows[] = {
    {"CreationDate",         [](const ApiMember& m, ScheduleGroupText& g) { return m.date(g.created); }              },
    {"LastModificationDate",
     [](const ApiMember& m,                         ScheduleGroupText& g) { return m.date(g.modified); }             },
    {"Token",
     [](const ApiMember& m,                         ScheduleGroupText& g) { return m.text(api_token_rule, g.token); }},
};

JsonDom& definition_dom() {
  thread_local JsonDom dom;
  return dom;
}

}  // namespace

void append_date(JsonWriter& json, std::string& out, std::string_view name, Instant date) {
  CHECK(date.ms >= 0, "a date of {} ms", date.ms);
  json.plain_key(name);
  out += fmt::format("{}.{:03}", date.ms / 1000, date.ms % 1000);
}

void Schedule::append_members(JsonWriter& json, std::string& out) const {
  append_schedule(json, out, *this, true);
}

std::string Schedule::text() const {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  append_schedule(json, out, *this, false);
  append_date(json, out, "CreationDate", created);
  if (modified != created) append_date(json, out, "LastModificationDate", modified);
  if (from != created) append_date(json, out, "From", from);
  if (!token.empty()) json.plain_member("Token", token);
  json.end_object();
  return out;
}

std::optional<Schedule> Schedule::from_text(std::string_view text) {
  const auto document = definition_dom().parse(text);
  if (!document || !document->is_object()) return std::nullopt;
  std::optional<Schedule> made(std::in_place);
  std::string why;
  if (!made->read(*document, why) || !read_kept(*document, *made, why) ||
      (made->timing.flexible && made->timing.window_minutes == 0))
    return std::nullopt;
  return made;
}

bool Schedule::same_request(const Schedule& other) const {
  return description == other.description && timing == other.timing &&
         ends_deleted == other.ends_deleted && target == other.target &&
         catch_up == other.catch_up && skips_overlap == other.skips_overlap;
}

// A rate without a start begins with a fire at its creation, as on AWS.
void Schedule::note_creation(Instant now) {
  const bool at_once = timing.expression.starts_with("rate") && !timing.start;
  created = modified = now;
  from = at_once ? now - milliseconds(1) : now;
}

void Schedule::note_change(const Schedule& before, Instant now) {
  created = before.created;
  token = before.token;
  modified = now;
  const bool same = timing == before.timing && target.arn == before.target.arn;
  from = same ? before.from : now;
}

std::string ScheduleGroupText::text() const {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  append_date(json, out, "CreationDate", created);
  append_date(json, out, "LastModificationDate", modified);
  if (!token.empty()) json.plain_member("Token", token);
  json.end_object();
  return out;
}

ScheduleGroupText ScheduleGroupText::from_text(std::string_view text) {
  ScheduleGroupText made;
  std::string why;
  const auto document = definition_dom().parse(text);
  const bool read =
      document && read_members<ScheduleGroupText>(*document, {}, group_rows, made, why);
  return read ? made : ScheduleGroupText();
}

bool can_be_read(const ScheduleTiming& timing) {
  return parse_schedule(timing.expression).has_value() && zone_of(timing.zone) != nullptr;
}

Instant next_fire_of(const ScheduleTiming& timing, Instant created, QueueId id, Instant after) {
  const auto expression = parse_schedule(timing.expression);
  const Zone* const zone = zone_of(timing.zone);
  if (!expression || zone == nullptr) return never;
  const bool once = std::holds_alternative<OneTime>(*expression);  // has no start and no end
  const Duration part = window_part(timing, id);
  Instant from = after - part;
  if (timing.start && !once) from = std::max(from, *timing.start - milliseconds(1));
  const auto fire = next_fire({.expression = *expression,
                               .zone = *zone,
                               .start = timing.start.value_or(created),
                               .nonexistent = timing.nonexistent},
                              from);
  if (!fire || (!once && timing.end && *fire > *timing.end)) return never;
  CHECK(*fire + part > after, "a fire at {} after {}", fire->ms + part.ms, after.ms);
  return *fire + part;
}

Instant scheduled_time(const ScheduleTiming& timing, QueueId id, Instant fire) {
  return fire - window_part(timing, id);
}

std::string ScheduleName::text() const { return fmt::format("{}{}{}", group, name_mark, name); }

ScheduleName ScheduleName::from_text(std::string_view row_name) {
  const std::size_t mark = row_name.find(name_mark);
  if (mark == row_name.npos) return {.group = row_name, .name = {}};
  return {.group = row_name.substr(0, mark), .name = row_name.substr(mark + 1)};
}

std::string schedule_account(std::string_view account) {
  return fmt::format("{}{}", scheduler_mark, account);
}

std::string schedule_arn(std::string_view region, std::string_view account,
                         const ScheduleName& schedule) {
  return fmt::format("arn:aws:scheduler:{}:{}:schedule/{}/{}", region, account, schedule.group,
                     schedule.name);
}

std::string group_arn(std::string_view region, std::string_view account, std::string_view group) {
  return fmt::format("arn:aws:scheduler:{}:{}:schedule-group/{}", region, account, group);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Schedule: a schedule of EventBridge Scheduler's API, with its text in the directory.
//
// The text is JSON: the members that GetSchedule answers, except for names and ARNs of the schedule
// itself, without those that have their default; and members of pawl's own:
//
//   {"ScheduleExpression":"rate(5 minutes)","FlexibleTimeWindow":{"Mode":"OFF"},"Target":{
//    "Arn":"arn:aws:sqs:..","RoleArn":".."},"x-overlap":"skip","CreationDate":1796050800.123,
//    "LastModificationDate":1796060800.5,"From":1796060800.5,"Token":"0123456789abcdef"}
//
// A row of the directory with the account "scheduler/<account>" and the name "<group>/<name>" has
// it as Attribute::schedule; the row of a group is named "<group>" and has its own two dates and
// token. The group `default` has no row.
//
// Units:  an Instant of the wall clock; seconds with a fraction in JSON.
// Limits: schedule_bytes_max of text; those of AWS for each member.
// Errors: a text as AWS words it: the member, its value and the rule.
// Owner:  values.
// Source: EventBridge Scheduler API Reference, CreateSchedule, GetSchedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/queue/queue_config.h"
#include "core/queue/schedule.h"
#include "proto/schedule/fires.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"

namespace pawl {

inline constexpr std::size_t schedule_bytes_max = 256 << 10;
inline constexpr std::int32_t event_age_default = 86'400, retry_attempts_default = 185;
inline constexpr std::string_view default_group = "default", utc_zone = "UTC";

struct ScheduleTarget {
  std::string arn, role;
  std::string input;                           // empty: none, a message that names the schedule
  std::string group;                           // MessageGroupId; empty: none
  std::string dead_letter_arn;                 // empty: none
  std::int32_t event_age = event_age_default;  // seconds
  std::int32_t attempts = retry_attempts_default;

  bool operator==(const ScheduleTarget&) const = default;
};

// The members that decide when a schedule fires.
struct ScheduleTiming {
  std::string expression;
  std::string zone = std::string(utc_zone);
  std::optional<Instant> start, end;
  bool flexible = false;
  std::int32_t window_minutes = 0;  // 0: not given
  NonexistentTime nonexistent = NonexistentTime::skip;
  bool enabled = true;

  bool operator==(const ScheduleTiming&) const = default;
};

struct Schedule {
  std::string description;
  ScheduleTiming timing;
  bool ends_deleted = false;  // ActionAfterCompletion
  ScheduleTarget target;
  CatchUp catch_up = CatchUp::last;
  bool skips_overlap = false;
  // Not from the caller.
  Instant created, modified;
  Instant from;       // no fire up to here
  std::string token;  // digest of the ClientToken that created it; empty: none

  // The members of a request: the object of JSON with those of CreateSchedule. False: `why` has the
  // first fault.
  [[nodiscard]] bool read(const JsonValue& request, std::string& why);
  // The rules between members, and those that depend on the account of the caller.
  [[nodiscard]] bool check(std::string_view account, std::string& why) const;
  // Rules for dates that a request sets; `before` is the schedule that it changes, or null.
  [[nodiscard]] bool check_dates(Instant now, const Schedule* before, std::string& why) const;

  // Dates and `from` of a schedule that a request creates or changes.
  void note_creation(Instant now);
  void note_change(const Schedule& before, Instant now);

  std::string text() const;
  // Nothing for a row of a group, and for a text that cannot be read.
  static std::optional<Schedule> from_text(std::string_view text);

  // The members that a caller sets, those of AWS also if they have their default.
  void append_members(JsonWriter& json, std::string& out) const;

  // True: a caller set the same. Dates and the token may differ.
  bool same_request(const Schedule& other) const;
};

// The parts of a schedule's or group's text that belong to both.
struct ScheduleGroupText {
  Instant created, modified;
  std::string token;

  std::string text() const;
  static ScheduleGroupText from_text(std::string_view text);  // zeros if it cannot be read
};

// False: its expression or its zone cannot be read, perhaps until the machine has its zones again.
bool can_be_read(const ScheduleTiming& timing);
// The first fire of a schedule after `after`; `never`: none. `id` is that of its row.
Instant next_fire_of(const ScheduleTiming& timing, Instant created, QueueId id, Instant after);
// The time by which the expression names the fire: without the part of a flexible window.
Instant scheduled_time(const ScheduleTiming& timing, QueueId id, Instant fire);

// The row's name: "<group>/<name>"; without a '/' it is that of a group.
struct ScheduleName {
  std::string_view group, name;

  std::string text() const;
  static ScheduleName from_text(std::string_view row_name);  // no name: a group
};

std::string schedule_account(std::string_view account);  // of rows: "scheduler/<account>"
std::string schedule_arn(std::string_view region, std::string_view account,
                         const ScheduleName& schedule);
std::string group_arn(std::string_view region, std::string_view account, std::string_view group);

std::string token_digest(std::string_view token);  // of a ClientToken: 16 hex digits

// Appends a member with seconds and milliseconds since 1970.
void append_date(JsonWriter& json, std::string& out, std::string_view name, Instant date);

}  // namespace pawl

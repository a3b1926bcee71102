// SPDX-License-Identifier: Apache-2.0
// SchedulerState, the state of one call of EventBridge Scheduler's API, and the functions of all
// its actions.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/queue/directory.h"
#include "core/queue/request.h"
#include "proto/aws/call_types.h"
#include "proto/scheduler/schedule.h"
#include "proto/text/form.h"
#include "proto/text/json_dom.h"

namespace pawl {

enum class SchedulerFault : std::uint8_t {
  none,
  validation,
  not_found,
  conflict,
  quota_exceeded,
  throttling,
  internal,
  serialization,
  unknown_operation,
};

struct SchedulerFaultInfo {
  std::string_view code;  // X-Amzn-ErrorType
  std::uint16_t status = 200;
};
const SchedulerFaultInfo& info(SchedulerFault fault);

struct SchedulerRefusal {
  SchedulerFault fault = SchedulerFault::none;
  std::string text;

  explicit operator bool() const { return fault != SchedulerFault::none; }
  template <typename... Args>
  CallStep because(SchedulerFault why, fmt::format_string<Args...> format, Args&&... args) {
    fault = why;
    text = fmt::format(format, std::forward<Args>(args)...);
    return CallStep::respond;
  }
  CallStep invalid(std::string why) {
    fault = SchedulerFault::validation;
    text = std::move(why);
    return CallStep::respond;
  }
  // Translates a shard's error.
  CallStep broker(Errc code);
};

struct SchedulerState;

struct SchedulerAction {
  std::string_view name, method, path;  // "/schedules", "/schedule-groups" or "/tags"
  bool named = false;                   // the path goes on with a name
  CallStep (*begin)(SchedulerState&) = nullptr;
};

// A list, of which a page is answered after one turn or several.
struct ScheduleListing {
  std::string prefix;                 // of the rows' names
  std::string name_prefix;            // of the schedules' names
  std::optional<bool> enabled;        // the wanted state
  std::string after;                  // the row looked at last
  std::size_t wanted = 0, found = 0;  // items of the page
};

struct SchedulerState {
  const Directory* directory = nullptr;  // valid in begin and resume
  const CallSettings* config = nullptr;
  std::string account;
  Instant now;  // by the wall clock

  const SchedulerAction* action = nullptr;
  std::string path_name;  // of the schedule, the group or the ARN; may be empty
  Form query;
  JsonDom dom;
  JsonValue body;  // an object, of a POST or PUT; valid in begin
  SchedulerRefusal refusal;
  std::string response;  // JSON

  // Requests under way, and what follows them.
  std::vector<Request> requests;
  std::vector<CallRoute> routes;
  CallStep (*then)(SchedulerState&) = nullptr;

  std::string group;  // of the schedule, or the one asked for
  Schedule schedule;  // to be created, or as a row is to become
  ConfigPtr row;      // to be changed
  QueueSpec spec;
  std::vector<AttributeChange> changes;
  std::function<bool(Tags&)> change_tags;  // false: refused
  Tags tags;
  unsigned retries = 0;
  ScheduleListing listing;
  bool group_is_deleted = false;  // DeleteScheduleGroup: a last look for schedules follows

  std::size_t memory() const;  // approximate bytes held

  std::string rows_account() const { return schedule_account(account); }
  // Routes one request to the control shard.
  CallStep route(const Request& request, CallStep (*next)(SchedulerState&));
  Errc outcome() const;  // of the only request, or the first error of several
};

namespace scheduler {

// schedules.cc
CallStep create_schedule(SchedulerState& s);
CallStep get_schedule(SchedulerState& s);
CallStep update_schedule(SchedulerState& s);
CallStep delete_schedule(SchedulerState& s);

// lists.cc
CallStep list_schedules(SchedulerState& s);
CallStep list_schedule_groups(SchedulerState& s);

void append_group(JsonWriter& json, SchedulerState& s, std::string_view name,
                  const QueueConfig* row);  // null: the default group

// groups.cc
CallStep create_schedule_group(SchedulerState& s);
CallStep get_schedule_group(SchedulerState& s);
CallStep delete_schedule_group(SchedulerState& s);
CallStep tag_resource(SchedulerState& s);
CallStep untag_resource(SchedulerState& s);
CallStep list_tags_for_resource(SchedulerState& s);

// call.cc: functions shared by several actions.

// A parameter of the query; empty if absent.
std::string_view asked(const SchedulerState& s, std::string_view name);
// The name in the path. False: refused.
[[nodiscard]] bool check_path_name(SchedulerState& s);
// The row of a group: null for the default group. False: there is no such group, refused.
[[nodiscard]] bool find_group(SchedulerState& s, std::string_view group, ConfigPtr& row);
bool has_group(const SchedulerState& s, std::string_view group);
// A creation with the token of an earlier one repeats it.
std::string token_of_request(SchedulerState& s);  // digest; empty: none

}  // namespace scheduler

}  // namespace pawl

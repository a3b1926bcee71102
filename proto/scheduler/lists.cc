// SPDX-License-Identifier: Apache-2.0
// Lists of schedules and of groups, in the order of the directory: by group, then by name.
//
// NextToken is the name of the row that was looked at last, in base64.
#include <algorithm>
#include <span>

#include "core/base/check.h"
#include "proto/scheduler/call.h"
#include "proto/scheduler/members.h"
#include "proto/scheduler/state.h"
#include "proto/text/base64.h"
#include "proto/text/text.h"

namespace pawl::scheduler {
namespace {

constexpr std::size_t next_token_max = 2048;

bool refuse_list(SchedulerState& s, std::string why) {
  s.refusal.invalid(std::move(why));
  return false;
}

bool read_max_results(SchedulerState& s) {
  s.listing.wanted = SchedulerCall::page_max;
  const std::string_view* const given = s.query.find("MaxResults");
  if (given == nullptr) return true;
  const auto number = decimal_number(*given);
  if (!number || *number < 1)
    return refuse_list(s, api_fault(*given, "maxResults", "have value greater than or equal to 1"));
  if (*number > SchedulerCall::page_max)
    return refuse_list(s, api_fault(*given, "maxResults", "have value less than or equal to 100"));
  s.listing.wanted = *number;
  return true;
}

bool read_prefix(SchedulerState& s, std::string_view name, std::string_view at, std::string& out) {
  const std::string_view* const given = s.query.find(name);
  if (given == nullptr) return true;
  out = *given;
  std::string why;
  return check_api_text(*given, at, api_name_rule, why) || refuse_list(s, std::move(why));
}

bool read_next_token(SchedulerState& s) {
  const std::string_view* const given = s.query.find("NextToken");
  if (given == nullptr) return true;
  return (given->size() <= next_token_max && decode_base64(*given, s.listing.after) &&
          !s.listing.after.empty()) ||
         refuse_list(s, "Invalid NextToken. Send the NextToken of the page before.");
}

bool read_state_asked(SchedulerState& s) {
  const std::string_view* const given = s.query.find("State");
  if (given == nullptr) return true;
  if (*given != "ENABLED" && *given != "DISABLED")
    return refuse_list(s,
                       api_fault(*given, "state", "satisfy enum value set: [ENABLED, DISABLED]"));
  s.listing.enabled = *given == "ENABLED";
  return true;
}

void end_list(SchedulerState& s, bool more) {
  JsonWriter json(s.response);
  json.end_array();
  if (more) {
    std::string token;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(s.listing.after.data());
    append_base64(token, {bytes, s.listing.after.size()});
    json.plain_member("NextToken", token);
  }
  json.end_object();
}

bool is_wanted(const ScheduleListing& listing, const ScheduleName& name) {
  return !name.name.empty() && name.name.starts_with(listing.name_prefix);
}

void append_summary(SchedulerState& s, const ScheduleName& name, const Schedule& schedule) {
  if (s.listing.found > 0) s.response += ',';
  JsonWriter json(s.response);
  json.begin_object();
  json.member("Arn", std::string_view(schedule_arn(s.config->region, s.account, name)));
  append_date(json, s.response, "CreationDate", schedule.created);
  json.member("GroupName", name.group);
  append_date(json, s.response, "LastModificationDate", schedule.modified);
  json.member("Name", name.name);
  json.plain_member("State", schedule.timing.enabled ? "ENABLED" : "DISABLED");
  json.plain_key("Target");
  json.begin_object();
  json.member("Arn", std::string_view(schedule.target.arn));
  json.end_object();
  json.end_object();
}

// Looks at rows_a_turn rows, and goes on in another turn unless the page is full.
CallStep list_on(SchedulerState& s) {
  ScheduleListing& listing = s.listing;
  const auto rows = s.directory->list(s.rows_account(), listing.prefix, listing.after,
                                      SchedulerCall::rows_a_turn);
  for (const ConfigPtr& row : rows) {
    const ScheduleName name = ScheduleName::from_text(row->name);
    if (is_wanted(listing, name)) {
      const auto schedule = Schedule::from_text(row->text(Attribute::schedule));
      if (schedule &&
          schedule->timing.enabled == listing.enabled.value_or(schedule->timing.enabled)) {
        if (listing.found == listing.wanted) {  // so the page before was not the last
          end_list(s, true);
          return CallStep::respond;
        }
        append_summary(s, name, *schedule);
        ++listing.found;
      }
    }
    listing.after = row->name;
  }
  if (rows.size() < SchedulerCall::rows_a_turn) {
    end_list(s, false);
    return CallStep::respond;
  }
  Request pause;
  pause.op = Op::none;
  return s.route(pause, list_on);
}

// The first row of a group after `after`, or nothing: schedules are passed over, a group at a time.
ConfigPtr next_group(const SchedulerState& s, std::string after) {
  constexpr char behind_names = '\x7f';
  for (;;) {
    const auto rows = s.directory->list(s.rows_account(), s.listing.name_prefix, after, 1);
    if (rows.empty()) return nullptr;
    const ScheduleName name = ScheduleName::from_text(rows.front()->name);
    if (name.name.empty()) return rows.front();
    CHECK(rows.front()->name > after, "{} follows {}", rows.front()->name, after);
    after = ScheduleName{.group = name.group, .name = {}}.text() + behind_names;
  }
}

}  // namespace

void append_group(JsonWriter& json, SchedulerState& s, std::string_view name,
                  const QueueConfig* row) {
  ScheduleGroupText group;  // the default group is as old as time
  if (row != nullptr) group = ScheduleGroupText::from_text(row->text(Attribute::schedule));
  json.begin_object();
  json.member("Arn", std::string_view(group_arn(s.config->region, s.account, name)));
  append_date(json, s.response, "CreationDate", group.created);
  append_date(json, s.response, "LastModificationDate", group.modified);
  json.member("Name", name);
  json.plain_member("State", "ACTIVE");
  json.end_object();
}

CallStep list_schedules(SchedulerState& s) {
  if (!read_max_results(s) || !read_prefix(s, "ScheduleGroup", "groupName", s.group) ||
      !read_prefix(s, "NamePrefix", "namePrefix", s.listing.name_prefix) || !read_state_asked(s) ||
      !read_next_token(s))
    return CallStep::respond;
  ConfigPtr group;
  if (!s.group.empty()) {
    if (!find_group(s, s.group, group)) return CallStep::respond;
    s.listing.prefix = ScheduleName{.group = s.group, .name = s.listing.name_prefix}.text();
  }
  s.response = R"({"Schedules":[)";
  return list_on(s);
}

CallStep list_schedule_groups(SchedulerState& s) {
  ScheduleListing& listing = s.listing;
  if (!read_max_results(s) || !read_prefix(s, "NamePrefix", "namePrefix", listing.name_prefix) ||
      !read_next_token(s))
    return CallStep::respond;
  s.response = R"({"ScheduleGroups":[)";
  JsonWriter json(s.response);
  for (;;) {
    const ConfigPtr row = next_group(s, listing.after);
    // The default group has no row; it stands where its row would.
    const bool is_default =
        listing.after < default_group && (row == nullptr || row->name > default_group);
    if (row == nullptr && !is_default) break;
    const std::string name = is_default ? std::string(default_group) : row->name;
    if (name.starts_with(listing.name_prefix)) {
      if (listing.found == listing.wanted) {
        end_list(s, true);
        return CallStep::respond;
      }
      append_group(json, s, name, is_default ? nullptr : row.get());
      ++listing.found;
    }
    listing.after = name;
  }
  end_list(s, false);
  return CallStep::respond;
}

}  // namespace pawl::scheduler

// SPDX-License-Identifier: Apache-2.0
// The actions on one schedule.
#include <fmt/core.h>

#include "core/base/check.h"
#include "proto/scheduler/members.h"
#include "proto/scheduler/state.h"

namespace pawl::scheduler {
namespace {

using SF = SchedulerFault;

std::string row_name(const SchedulerState& s) {
  return ScheduleName{.group = s.group, .name = s.path_name}.text();
}

// Sets the group from the query or the body. False: refused.
bool read_group(SchedulerState& s, std::optional<std::string_view> given) {
  s.group = given.value_or(default_group);
  std::string why;
  const bool good = check_api_text(s.group, "groupName", api_name_rule, why);
  if (!good) s.refusal.invalid(std::move(why));
  return good && check_path_name(s);
}

bool read_group_of_query(SchedulerState& s) {
  const std::string_view* const given = s.query.find("groupName");
  return read_group(s, given == nullptr ? std::nullopt : std::optional(*given));
}

bool read_group_of_body(SchedulerState& s) {
  const auto given = s.body.member("GroupName");
  if (!given || given->is_null()) return read_group(s, std::nullopt);
  return read_group(s, given->text().value_or(""));
}

// Reads the schedule of the request, which is to take the place of `before`. False: refused.
bool read_schedule(SchedulerState& s) {
  std::string why;
  const bool good = s.schedule.read(s.body, why) && s.schedule.check(s.account, why);
  if (!good) s.refusal.invalid(std::move(why));
  return good;
}

bool check_new_dates(SchedulerState& s, const Schedule* before) {
  if (s.config->past_dates) return true;
  std::string why;
  const bool good = s.schedule.check_dates(s.now, before, why);
  if (!good) s.refusal.invalid(std::move(why));
  return good;
}

CallStep refuse_missing(SchedulerState& s) {
  return s.refusal.because(SF::not_found, "Schedule {} does not exist.", s.path_name);
}

// Finds the row of the schedule. False: refused.
bool find_schedule(SchedulerState& s) {
  if (!find_group(s, s.group, s.row)) return false;
  const ConfigPtr* const found = s.directory->find(s.rows_account(), row_name(s));
  if (found == nullptr) refuse_missing(s);
  if (found != nullptr) s.row = *found;
  return found != nullptr;
}

CallStep answer_arn(SchedulerState& s) {
  JsonWriter json(s.response);
  json.begin_object();
  json.member("ScheduleArn",
              std::string_view(schedule_arn(s.config->region, s.account, {s.group, s.path_name})));
  json.end_object();
  return CallStep::respond;
}

// A schedule of this name exists already.
CallStep judge_existing(SchedulerState& s, const QueueConfig& row) {
  const auto existing = Schedule::from_text(row.text(Attribute::schedule));
  const bool repeated = existing && !existing->token.empty() &&
                        existing->token == s.schedule.token && existing->same_request(s.schedule);
  return repeated ? answer_arn(s)
                  : s.refusal.because(SF::conflict, "Schedule {} already exists.", s.path_name);
}

CallStep refuse_group_gone(SchedulerState& s) {
  return s.refusal.because(SF::not_found, "Schedule group {} does not exist.", s.group);
}

// Its group may have been deleted meanwhile: a schedule without a group would be found by nobody.
CallStep created(SchedulerState& s) {
  const Request& request = s.requests.front();
  if (request.error == Errc::queue_exists) {
    CHECK(request.config != nullptr, "a schedule that exists has no row");
    return judge_existing(s, *request.config);
  }
  if (request.error != Errc::ok) return s.refusal.broker(request.error);
  if (has_group(s, s.group)) return answer_arn(s);
  CHECK(request.config != nullptr, "a schedule that was created has no row");
  Request deletion;
  deletion.op = Op::delete_queue;
  deletion.queue = request.config->id;
  return s.route(deletion, refuse_group_gone);
}

CallStep updated(SchedulerState& s);

// Sends the schedule of the request as the new text of `row`.
CallStep send_update(SchedulerState& s) {
  const auto before = Schedule::from_text(s.row->text(Attribute::schedule));
  if (!check_new_dates(s, before ? &*before : nullptr)) return CallStep::respond;
  Schedule unreadable;
  unreadable.created = s.now;
  s.schedule.note_change(before ? *before : unreadable, s.now);
  s.changes.assign(1, {Attribute::schedule, -1, s.schedule.text()});
  Request request;
  request.op = Op::set_attributes;
  request.queue = s.row->id;
  request.changes = s.changes;
  request.based_on = s.row;
  return s.route(request, updated);
}

CallStep updated(SchedulerState& s) {
  const Request& request = s.requests.front();
  if (request.error == Errc::changed_meanwhile && request.config != nullptr &&
      s.retries < change_retries_max) {
    ++s.retries;
    s.row = request.config;
    return send_update(s);
  }
  if (request.error == Errc::no_such_queue) return refuse_missing(s);
  return request.error == Errc::ok ? answer_arn(s) : s.refusal.broker(request.error);
}

CallStep schedule_deleted(SchedulerState& s) {
  const Errc outcome = s.outcome();
  if (outcome == Errc::no_such_queue) return refuse_missing(s);
  return outcome == Errc::ok ? CallStep::respond : s.refusal.broker(outcome);
}

}  // namespace

CallStep create_schedule(SchedulerState& s) {
  ConfigPtr group;
  if (!read_group_of_body(s) || !read_schedule(s) || !find_group(s, s.group, group))
    return CallStep::respond;
  s.spec.account = s.rows_account();
  s.spec.name = row_name(s);
  if (const ConfigPtr* const row = s.directory->find(s.spec.account, s.spec.name))
    return judge_existing(s, **row);
  if (!check_new_dates(s, nullptr)) return CallStep::respond;
  s.schedule.note_creation(s.now);
  s.spec.changes.push_back({Attribute::schedule, -1, s.schedule.text()});
  Request request;
  request.op = Op::create_queue;
  request.spec = &s.spec;
  return s.route(request, created);
}

CallStep get_schedule(SchedulerState& s) {
  if (!read_group_of_query(s) || !find_schedule(s)) return CallStep::respond;
  const auto schedule = Schedule::from_text(s.row->text(Attribute::schedule));
  if (!schedule)
    return s.refusal.because(SF::internal,
                             "The definition of schedule {} cannot be read. Update or delete it.",
                             s.path_name);
  JsonWriter json(s.response);
  json.begin_object();
  json.member("Arn",
              std::string_view(schedule_arn(s.config->region, s.account, {s.group, s.path_name})));
  append_date(json, s.response, "CreationDate", schedule->created);
  json.member("GroupName", std::string_view(s.group));
  append_date(json, s.response, "LastModificationDate", schedule->modified);
  json.member("Name", std::string_view(s.path_name));
  schedule->append_members(json, s.response);
  json.end_object();
  return CallStep::respond;
}

CallStep update_schedule(SchedulerState& s) {
  if (!read_group_of_body(s) || !read_schedule(s) || !find_schedule(s)) return CallStep::respond;
  return send_update(s);
}

CallStep delete_schedule(SchedulerState& s) {
  if (!read_group_of_query(s) || !find_schedule(s)) return CallStep::respond;
  Request request;
  request.op = Op::delete_queue;
  request.queue = s.row->id;
  return s.route(request, schedule_deleted);
}

}  // namespace pawl::scheduler

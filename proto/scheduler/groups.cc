// SPDX-License-Identifier: Apache-2.0
// The actions on a group of schedules and on its tags.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/check.h"
#include "proto/aws/arn.h"
#include "proto/aws/tags.h"
#include "proto/scheduler/call.h"
#include "proto/scheduler/members.h"
#include "proto/scheduler/state.h"

namespace pawl::scheduler {
namespace {

using SF = SchedulerFault;
using GivenTags = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t given_tags_max = 200;

CallStep answer_group_arn(SchedulerState& s) {
  JsonWriter json(s.response);
  json.begin_object();
  json.member("ScheduleGroupArn",
              std::string_view(group_arn(s.config->region, s.account, s.path_name)));
  json.end_object();
  return CallStep::respond;
}

bool refuse_tags(SchedulerState& s, std::string why) {
  s.refusal.invalid(std::move(why));
  return false;
}

// The member Tags of the body: [{"Key":"k","Value":"v"}]. False: refused.
bool read_tags(SchedulerState& s, bool needed, GivenTags& out) {
  const auto list = s.body.member("Tags");
  if (!list || list->is_null()) return !needed || refuse_tags(s, missing_member("tags"));
  if (!list->is_list()) return refuse_tags(s, api_fault(list->compact(), "tags", "be a list"));
  if (list->size() > given_tags_max)
    return refuse_tags(s, api_fault(fmt::format("{} tags", list->size()), "tags",
                                    "have length less than or equal to 200"));
  Refusal refusal;
  for (const JsonValue tag : list->items()) {
    const auto key = tag.member("Key"), value = tag.member("Value");
    if (!key || !value || !key->text() || !value->text())
      return refuse_tags(s, api_fault(tag.compact(), "tags", "have the texts Key and Value"));
    if (value->text()->empty())
      return refuse_tags(s, api_fault("", "tags.value", "have length greater than or equal to 1"));
    if (!check_tag(*key->text(), *value->text(), refusal))
      return refuse_tags(s, std::move(refusal.text));
    out.emplace_back(*key->text(), *value->text());
  }
  return true;
}

bool add_tags(SchedulerState& s, const GivenTags& given, Tags& tags) {
  for (const auto& [key, value] : given) put_tag(tags, key, value);
  return tags.size() <= tags_max ||
         refuse_tags(s, fmt::format("A schedule group can have {} tags at most, and would have {}.",
                                    tags_max, tags.size()));
}

CallStep judge_existing_group(SchedulerState& s, const QueueConfig& row, std::string_view token) {
  const auto group = ScheduleGroupText::from_text(row.text(Attribute::schedule));
  if (!token.empty() && group.token == token) return answer_group_arn(s);
  return s.refusal.because(SF::conflict, "Schedule group {} already exists.", s.path_name);
}

CallStep group_created(SchedulerState& s) {
  const Request& request = s.requests.front();
  if (request.error == Errc::queue_exists) {
    CHECK(request.config != nullptr, "a group that exists has no row");
    return judge_existing_group(s, *request.config, s.schedule.token);
  }
  return request.error == Errc::ok ? answer_group_arn(s) : s.refusal.broker(request.error);
}

// Deletes the group's schedules, then the group. Schedules that were created meanwhile follow.
CallStep delete_group_on(SchedulerState& s) {
  if (!s.requests.empty()) {
    const Errc outcome = s.outcome();
    if (outcome != Errc::ok && outcome != Errc::no_such_queue) return s.refusal.broker(outcome);
  }
  const auto rows = s.directory->list(s.rows_account(), s.listing.prefix, s.listing.after,
                                      SchedulerCall::routes_max);
  Request request;
  request.op = Op::delete_queue;
  if (rows.empty()) {
    if (std::exchange(s.group_is_deleted, true)) return CallStep::respond;
    s.listing.after.clear();
    request.queue = s.row->id;
    return s.route(request, delete_group_on);
  }
  s.listing.after = rows.back()->name;
  s.requests.assign(rows.size(), request);
  s.routes.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    s.requests[i].queue = rows[i]->id;
    s.routes.push_back({&s.requests[i], control_shard});
  }
  s.then = delete_group_on;
  return CallStep::route;
}

// Finds the group of the ARN in the path, which may have tags. False: refused.
bool find_resource(SchedulerState& s) {
  constexpr std::string_view kind = "schedule-group/";
  const auto arn = parse_arn(s.path_name);
  std::string why;
  if (!arn || arn->service != "scheduler" || !arn->name.starts_with(kind) ||
      !check_api_text(arn->name.substr(kind.size()), "resourceArn", api_name_rule, why)) {
    s.refusal.invalid(api_fault(
        s.path_name, "resourceArn",
        "satisfy regular expression pattern: ^arn:aws(-[a-z]+)?:scheduler:[a-z0-9\\-]+:\\d{12}:"
        "schedule-group\\/[0-9a-zA-Z-_.]+$"));
    return false;
  }
  s.group = arn->name.substr(kind.size());
  if (arn->account != s.account) {
    s.refusal.because(SF::not_found, "Schedule group {} does not exist.", s.group);
    return false;
  }
  return find_group(s, s.group, s.row);
}

CallStep tags_changed(SchedulerState& s);

CallStep send_group_tags(SchedulerState& s) {
  s.tags = s.row->tags;
  if (!s.change_tags(s.tags)) return CallStep::respond;
  Request request;
  request.op = Op::set_attributes;
  request.queue = s.row->id;
  request.tags = &s.tags;
  request.based_on = s.row;
  return s.route(request, tags_changed);
}

CallStep tags_changed(SchedulerState& s) {
  const Request& request = s.requests.front();
  if (request.error == Errc::changed_meanwhile && request.config != nullptr &&
      s.retries < change_retries_max) {
    ++s.retries;
    s.row = request.config;
    return send_group_tags(s);
  }
  if (request.error == Errc::no_such_queue)
    return s.refusal.because(SF::not_found, "Schedule group {} does not exist.", s.group);
  return request.error == Errc::ok ? CallStep::respond : s.refusal.broker(request.error);
}

CallStep change_group_tags(SchedulerState& s, std::function<bool(Tags&)> change) {
  if (s.row == nullptr)
    return s.refusal.invalid(
        "The schedule group default cannot have tags on this server. Create a group of your own.");
  s.change_tags = std::move(change);
  return send_group_tags(s);
}

}  // namespace

CallStep create_schedule_group(SchedulerState& s) {
  GivenTags given;
  if (!check_path_name(s) || !read_tags(s, false, given) || !add_tags(s, given, s.spec.tags))
    return CallStep::respond;
  s.schedule.token = token_of_request(s);
  if (s.refusal) return CallStep::respond;
  // The same token with other tags is another request.
  if (!s.schedule.token.empty())
    for (const auto& [key, value] : s.spec.tags)
      s.schedule.token = token_digest(fmt::format("{} {}={}", s.schedule.token, key, value));
  s.spec.account = s.rows_account();
  s.spec.name = s.path_name;
  if (s.path_name == default_group)
    return s.refusal.because(SF::conflict, "Schedule group {} already exists.", default_group);
  if (const ConfigPtr* const row = s.directory->find(s.spec.account, s.spec.name))
    return judge_existing_group(s, **row, s.schedule.token);
  const ScheduleGroupText text{.created = s.now, .modified = s.now, .token = s.schedule.token};
  s.spec.changes.push_back({Attribute::schedule, -1, text.text()});
  Request request;
  request.op = Op::create_queue;
  request.spec = &s.spec;
  return s.route(request, group_created);
}

CallStep get_schedule_group(SchedulerState& s) {
  ConfigPtr row;
  if (!check_path_name(s) || !find_group(s, s.path_name, row)) return CallStep::respond;
  JsonWriter json(s.response);
  append_group(json, s, s.path_name, row.get());
  return CallStep::respond;
}

CallStep delete_schedule_group(SchedulerState& s) {
  if (!check_path_name(s)) return CallStep::respond;
  if (s.path_name == default_group)
    return s.refusal.invalid("The schedule group default cannot be deleted.");
  if (!find_group(s, s.path_name, s.row)) return CallStep::respond;
  s.listing.prefix = ScheduleName{.group = s.path_name, .name = {}}.text();
  return delete_group_on(s);
}

CallStep tag_resource(SchedulerState& s) {
  GivenTags given;
  if (!find_resource(s) || !read_tags(s, true, given)) return CallStep::respond;
  return change_group_tags(s, [&s, given](Tags& tags) { return add_tags(s, given, tags); });
}

CallStep untag_resource(SchedulerState& s) {
  if (!find_resource(s)) return CallStep::respond;
  std::vector<std::string> keys;
  for (const Form::Param& param : s.query.params())
    if (param.key == "TagKeys") keys.emplace_back(param.value);
  if (keys.empty()) return s.refusal.invalid(missing_member("tagKeys"));
  return change_group_tags(s, [keys](Tags& tags) {
    std::erase_if(
        tags, [&](const auto& tag) { return std::ranges::find(keys, tag.first) != keys.end(); });
    return true;
  });
}

CallStep list_tags_for_resource(SchedulerState& s) {
  if (!find_resource(s)) return CallStep::respond;
  JsonWriter json(s.response);
  json.begin_object();
  json.key("Tags");
  json.begin_array();
  static const Tags no_tags;
  for (const auto& [key, value] : s.row == nullptr ? no_tags : s.row->tags) {
    json.begin_object();
    json.member("Key", std::string_view(key));
    json.member("Value", std::string_view(value));
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return CallStep::respond;
}

}  // namespace pawl::scheduler

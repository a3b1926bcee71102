// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/schedule_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "net/sqs_client/query_body.h"
#include "proto/declared/declared_schedule.h"
#include "proto/text/json_dom.h"
#include "proto/text/timestamp.h"
#include "tools/command_line.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::CallError;
using sqs_client::QueryBody;
using sqs_client::Response;
using sqs_client::RestAction;
using sqs_client::SqsClient;

constexpr std::string_view not_found_code = "ResourceNotFoundException";

struct ScheduleMethod {
  std::string_view action, method;
  bool has_body;
};
constexpr ScheduleMethod schedule_methods[] = {
    {"CreateSchedule", "POST",   true },
    {"GetSchedule",    "GET",    false},
    {"UpdateSchedule", "PUT",    true },
    {"DeleteSchedule", "DELETE", false},
};

bool is_group_missing(const CallError& error) {
  return error.code == not_found_code && error.message.starts_with("Schedule group");
}

int refuse_response(std::string_view action) {
  return fail_with(exit_failure,
                   fmt::format("the response to {} is not that of EventBridge Scheduler. Schedules "
                               "need a pawl server of this version, without --strict-sqs.",
                               action));
}

std::string list_query(const std::string& group, const std::string& prefix,
                       const std::string& token) {
  QueryBody query;  // in the order of the names
  query.add("MaxResults", "100");
  if (!prefix.empty()) query.add("NamePrefix", prefix);
  if (!token.empty()) query.add("NextToken", token);
  if (!group.empty()) query.add("ScheduleGroup", group);
  return query.text();
}

std::string optional_time(const std::optional<Instant>& time) {
  return time ? timestamp_text(*time) : std::string();
}

}  // namespace

ScheduleMembers schedule_members(const Schedule& schedule) {
  constexpr std::string_view catch_ups[] = {"none", "last", "all"};
  const bool skips = schedule.timing.nonexistent == NonexistentTime::skip;
  return {
      {"expression",              schedule.timing.expression                                         },
      {"zone",                    schedule.timing.zone                                               },
      {"state",                   schedule.timing.enabled ? "on" : "paused"                          },
      {"target",                  schedule.target.arn                                                },
      {"input",                   schedule.target.input                                              },
      {"message_group",           schedule.target.group                                              },
      {"dead_letter_queue",       schedule.target.dead_letter_arn                                    },
      {"start",                   optional_time(schedule.timing.start)                               },
      {"end",                     optional_time(schedule.timing.end)                                 },
      {"catch_up",                std::string(catch_ups[static_cast<std::size_t>(schedule.catch_up)])},
      {"overlap",                 schedule.skips_overlap ? "skip" : "allow"                          },
      {"nonexistent",             skips ? "skip" : "next"                                            },
      {"delete_after_completion", schedule.ends_deleted ? "true" : "false"                           },
      {"description",             schedule.description                                               },
  };
}

int explain_schedule_call(const CallError& error, const NamedSchedule& named) {
  constexpr int wrong_method = 405;
  CHECK(!error.text.empty(), "an error without a text, kind {}", static_cast<int>(error.kind));
  if (is_group_missing(error))
    return fail_with(exit_not_found, fmt::format("there is no group \"{}\" of schedules. `pawl "
                                                 "schedule ls` shows the groups of schedules.",
                                                 named.group));
  if (error.code == not_found_code)
    return fail_with(exit_not_found,
                     fmt::format("there is no schedule \"{}\" in the group \"{}\". `pawl schedule "
                                 "ls` lists the schedules.",
                                 named.name, named.group));
  if (is_unknown_action(error) || error.status == wrong_method)
    return fail_with(exit_failure, fmt::format("{} Schedules need a pawl server of this version, "
                                               "without --strict-sqs.",
                                               error.text));
  return fail_with(exit_failure, error.text);
}

std::expected<Response, CallError> call_schedule(SqsClient& client, std::string_view action,
                                                 const NamedSchedule& named,
                                                 std::string_view body) {
  const auto* const found = std::ranges::find(schedule_methods, action, &ScheduleMethod::action);
  CHECK(found != std::end(schedule_methods), "no action {}", action);
  CHECK(found->has_body == !body.empty(), "a body of {} bytes for {}", body.size(), action);
  RestAction rest{found->action, found->method, "/schedules/" + named.name};
  if (!found->has_body) {
    QueryBody query;
    query.add("groupName", named.group);
    rest.query = query.text();
  }
  return client.call(rest, body);
}

std::optional<StoredSchedule> read_stored(std::string_view response, int& code) {
  JsonDom dom;
  const auto document = dom.parse(response);
  std::string arn = document ? text_of(*document, "Arn") : std::string();
  auto schedule = Schedule::from_text(response);
  if (schedule && !arn.empty()) return StoredSchedule{std::move(arn), std::move(*schedule)};
  code = refuse_response("GetSchedule");
  return std::nullopt;
}

std::optional<StoredSchedule> stored_schedule(SqsClient& client, const NamedSchedule& named,
                                              int& code) {
  const auto response = call_schedule(client, "GetSchedule", named);
  if (response) return read_stored(response->body, code);
  code = explain_schedule_call(response.error(), named);
  return std::nullopt;
}

std::expected<Response, CallError> create_in_group(SqsClient& client, const NamedSchedule& named,
                                                   const Schedule& schedule) {
  const std::string body = schedule_request(named.group, schedule);
  auto response = call_schedule(client, "CreateSchedule", named, body);
  if (response || !is_group_missing(response.error())) return response;
  auto group = client.call(
      RestAction{"CreateScheduleGroup", "POST", "/schedule-groups/" + named.group}, "{}");
  // Another caller may have created it meanwhile.
  if (!group && group.error().code != "ConflictException") return group;
  return call_schedule(client, "CreateSchedule", named, body);
}

int for_each_schedule(SqsClient& client, const std::string& group, const std::string& prefix,
                      const std::function<bool(const NamedSchedule&)>& act) {
  CHECK(act != nullptr, "nothing to do with schedules {}", prefix);
  std::string token;
  do {
    const auto response = client.call(
        RestAction{"ListSchedules", "GET", "/schedules", list_query(group, prefix, token)});
    if (!response) return explain_schedule_call(response.error(), {.name = {}, .group = group});
    JsonDom dom;
    const auto document = dom.parse(response->body);
    const auto schedules = document ? document->member("Schedules") : std::nullopt;
    if (!schedules) return refuse_response("ListSchedules");
    for (const JsonValue one : schedules->items())
      if (!act({text_of(one, "Name"), text_of(one, "GroupName")})) return exit_ok;
    token = text_of(*document, "NextToken");
  } while (!token.empty());
  return exit_ok;
}

}  // namespace pawl

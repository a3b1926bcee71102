// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/call.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"
#include "proto/errors/sqs_errors.h"
#include "proto/scheduler/members.h"
#include "proto/scheduler/state.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using SF = SchedulerFault;

constexpr std::string_view schedules = "/schedules", groups = "/schedule-groups", tags = "/tags";
constexpr std::string_view roots[] = {schedules, groups, tags};

constexpr SchedulerAction scheduler_actions[] = {
    {"CreateSchedule",      "POST",   schedules, true,  scheduler::create_schedule       },
    {"GetSchedule",         "GET",    schedules, true,  scheduler::get_schedule          },
    {"UpdateSchedule",      "PUT",    schedules, true,  scheduler::update_schedule       },
    {"DeleteSchedule",      "DELETE", schedules, true,  scheduler::delete_schedule       },
    {"ListSchedules",       "GET",    schedules, false, scheduler::list_schedules        },
    {"CreateScheduleGroup", "POST",   groups,    true,  scheduler::create_schedule_group },
    {"GetScheduleGroup",    "GET",    groups,    true,  scheduler::get_schedule_group    },
    {"DeleteScheduleGroup", "DELETE", groups,    true,  scheduler::delete_schedule_group },
    {"ListScheduleGroups",  "GET",    groups,    false, scheduler::list_schedule_groups  },
    {"TagResource",         "POST",   tags,      true,  scheduler::tag_resource          },
    {"UntagResource",       "DELETE", tags,      true,  scheduler::untag_resource        },
    {"ListTagsForResource", "GET",    tags,      true,  scheduler::list_tags_for_resource},
};

// In the order of SchedulerFault.
constexpr SchedulerFaultInfo scheduler_faults[] = {
    {},
    {"ValidationException", 400},
    {"ResourceNotFoundException", 404},
    {"ConflictException", 409},
    {"ServiceQuotaExceededException", 402},
    {"ThrottlingException", 429},
    {"InternalServerException", 500},
    {"SerializationException", 400},
    {"UnknownOperationException", 404},
};
static_assert(std::size(scheduler_faults) == static_cast<std::size_t>(SF::unknown_operation) + 1);

// A path of the API: its root, and the rest without the slash between them.
struct ApiPath {
  std::string_view root, name;
};
ApiPath api_path_of(std::string_view path) {
  for (const std::string_view root : roots) {
    if (!path.starts_with(root)) continue;
    const std::string_view rest = path.substr(root.size());
    if (rest.empty()) return {root, {}};
    if (rest.front() == '/') return {root, rest.substr(1)};
  }
  return {};
}

// The text of a part of a path. False: a % without two hex digits.
bool decode_part(std::string_view part, std::string& out) {
  std::string form = "p=";  // there a + is a space
  for (const char c : part) {
    if (c == '+' || c == '&' || c == '=') {
      form += c == '+' ? "%2B" : c == '&' ? "%26" : "%3D";
    } else {
      form += c;
    }
  }
  Form decoder;
  if (decoder.parse(form) != Form::Fault::none) return false;
  out = *decoder.find("p");
  return true;
}

CallStep refuse_operation(SchedulerState& s, const HttpRequest& http) {
  std::string all;
  for (const SchedulerAction& action : scheduler_actions)
    all += fmt::format(" {} {}{} {};", action.method, action.path, action.named ? "/NAME" : "",
                       action.name);
  all.back() = '.';
  return s.refusal.because(SF::unknown_operation,
                           "{} {} is not an operation of EventBridge Scheduler. There are{}",
                           http.method, shown(http.path), all);
}

// Reads path, query and body. False: refused.
bool read_request(SchedulerState& s, const HttpRequest& http, std::string_view name) {
  if (!decode_part(name, s.path_name) ||
      s.query.parse(http.query, Form::Repeats::allowed) != Form::Fault::none) {
    s.refusal.invalid(
        "The path or the query has a % that is not followed by two hex digits, or "
        "too many parameters.");
    return false;
  }
  if (http.method != "POST" && http.method != "PUT") return true;
  const auto body = s.dom.parse(http.body.empty() ? std::string_view("{}") : http.body);
  if (!body || !body->is_object()) {
    s.refusal.because(SF::serialization, "The body is not a JSON object.");
    return false;
  }
  s.body = *body;
  return true;
}

}  // namespace

const SchedulerFaultInfo& info(SchedulerFault fault) {
  const auto i = static_cast<std::size_t>(fault);
  CHECK(i < std::size(scheduler_faults), "fault {}", i);
  return scheduler_faults[i];
}

CallStep SchedulerRefusal::broker(Errc code) {
  Refusal in_words_of_sqs;
  refuse(in_words_of_sqs, code, {});
  const bool later = in_words_of_sqs.fault == SqsFault::request_throttled ||
                     in_words_of_sqs.fault == SqsFault::over_limit;
  const SF why = code == Errc::directory_full ? SF::quota_exceeded
                 : later                      ? SF::throttling
                                              : SF::internal;
  return because(why, "{}", in_words_of_sqs.text);
}

CallStep SchedulerState::route(const Request& request, CallStep (*next)(SchedulerState&)) {
  requests.assign(1, request);
  routes.assign(1, {&requests.front(), control_shard});
  then = next;
  return CallStep::route;
}

Errc SchedulerState::outcome() const {
  CHECK(!requests.empty(), "no request has an outcome");
  const auto failed = std::ranges::find_if(requests, [](const Request& request) {
    return request.error != Errc::ok && request.error != Errc::no_such_queue;
  });
  return failed != requests.end() ? failed->error : requests.front().error;
}

std::size_t SchedulerState::memory() const {
  std::size_t bytes = sizeof *this + dom.memory() + response.capacity() +
                      requests.capacity() * sizeof(Request) + routes.capacity() * sizeof(CallRoute);
  bytes += schedule.target.input.capacity() + schedule.description.capacity();
  for (const auto* some : {&changes, &spec.changes})
    for (const AttributeChange& change : *some) bytes += sizeof change + change.text.capacity();
  return bytes;
}

bool SchedulerCall::owns(std::string_view path) { return !api_path_of(path).root.empty(); }

bool SchedulerCall::is_for(const HttpRequest& http) {
  return owns(http.path) && http.header(HeaderName::x_amz_target) == nullptr &&
         !http.query.starts_with("Action=") && !http.query.contains("&Action=");
}

SchedulerCall::SchedulerCall() : state_(std::make_unique<SchedulerState>()) {}
SchedulerCall::~SchedulerCall() = default;

CallStep SchedulerCall::begin(const HttpRequest& http, const SchedulerContext& context) {
  *state_ = SchedulerState();
  SchedulerState& s = *state_;
  s.directory = context.directory;
  s.config = context.config;
  s.account = context.account;
  s.now = s.config->shift->wall(context.now);
  const ApiPath path = api_path_of(http.path);
  CHECK(!path.root.empty(), "{} is not a path of the scheduler", http.path);
  const auto* const found =
      std::ranges::find_if(scheduler_actions, [&](const SchedulerAction& action) {
        return action.method == http.method && action.path == path.root &&
               action.named == !path.name.empty();
      });
  if (found == std::end(scheduler_actions)) return refuse_operation(s, http);
  s.action = found;
  return read_request(s, http, path.name) ? found->begin(s) : CallStep::respond;
}

std::span<const CallRoute> SchedulerCall::routes() const {
  CHECK(state_->routes.size() <= routes_max, "{} routes", state_->routes.size());
  return state_->routes;
}

CallStep SchedulerCall::resume(const Directory& directory) {
  SchedulerState& s = *state_;
  CHECK(s.then != nullptr && !s.refusal, "a call that routed nothing is resumed");
  s.directory = &directory;
  return s.then(s);
}

std::string_view SchedulerCall::error_code() const { return info(state_->refusal.fault).code; }

std::string_view SchedulerCall::action() const {
  return state_->action == nullptr ? std::string_view() : state_->action->name;
}

std::uint16_t SchedulerCall::status() const { return info(state_->refusal.fault).status; }

std::string_view SchedulerCall::body() const {
  SchedulerState& s = *state_;
  if (!s.refusal) return s.response.empty() ? std::string_view("{}") : s.response;
  make_printable(s.refusal.text);
  s.response.clear();
  JsonWriter json(s.response);
  json.begin_object();
  json.member("Message", std::string_view(s.refusal.text));
  json.end_object();
  return s.response;
}

std::size_t SchedulerCall::memory() const { return state_->memory(); }

namespace scheduler {

std::string_view asked(const SchedulerState& s, std::string_view name) {
  const std::string_view* const value = s.query.find(name);
  return value == nullptr ? std::string_view() : *value;
}

bool check_path_name(SchedulerState& s) {
  std::string why;
  const bool good = check_api_text(s.path_name, "name", api_name_rule, why);
  if (!good) s.refusal.invalid(std::move(why));
  return good;
}

bool has_group(const SchedulerState& s, std::string_view group) {
  return group == default_group || s.directory->find(s.rows_account(), group) != nullptr;
}

bool find_group(SchedulerState& s, std::string_view group, ConfigPtr& row) {
  const ConfigPtr* const found = s.directory->find(s.rows_account(), group);
  row = found == nullptr ? nullptr : *found;
  if (found == nullptr && group != default_group)
    s.refusal.because(SF::not_found, "Schedule group {} does not exist.", group);
  return !s.refusal;
}

std::string token_of_request(SchedulerState& s) {
  const auto given = s.body.member("ClientToken");
  if (!given || given->is_null()) return {};
  std::string why;
  const std::string_view token = given->text().value_or("");
  if (!check_api_text(token, "clientToken", api_token_rule, why)) {
    s.refusal.invalid(std::move(why));
    return {};
  }
  return token_digest(token);
}

}  // namespace scheduler

}  // namespace pawl

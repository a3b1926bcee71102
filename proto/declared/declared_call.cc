// SPDX-License-Identifier: Apache-2.0
#include "proto/declared/declared_call.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "proto/call.h"
#include "proto/declared/declared_planner.h"
#include "proto/http/parser.h"
#include "proto/sns/call.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"

namespace pawl {

// Its texts stay in place while the call runs.
struct DeclaredCall::One {
  const DeclaredAction* action = nullptr;
  CallSettings settings;
  HttpCall call;
  std::string body, target, path;
  std::array<HttpHeader, 3> headers;
  HttpRequest request;
  CallStep step = CallStep::respond;
};

DeclaredCall::DeclaredCall(const std::shared_ptr<const DeclaredRows>& rows,
                           std::string_view account, const CallSettings& settings,
                           std::uint64_t request_number)
    : settings_(settings), request_number_(request_number) {
  CHECK(rows != nullptr, "there is no declaration");
  for (const DeclaredRow& row : *rows)
    if (account.empty() || row.account == account) rows_.push_back(row);
  settings_.keys = nullptr;  // the file needs no signature: each row is its account's
  settings_.dev = nullptr;
  settings_.declare = nullptr;
  settings_.past_dates = true;
}

DeclaredCall::~DeclaredCall() = default;

// For a check: a queue, a topic or a group that will be made must not be planned already.
const Directory& DeclaredCall::directory_for(const DeclaredAction& action) const {
  if (action.action == "DeleteQueue") return *directory_;
  const bool stands_alone =
      action.makes && action.action != "Subscribe" && action.action != "CreateSchedule";
  return stands_alone ? plan_.kept : plan_.planned;
}

template <typename Refused>
void DeclaredCall::check_calls(Refused&& refused) {
  for (const auto& phase : plan_.phases) {
    for (const DeclaredAction& action : phase) {
      const auto one = begin_call(action, directory_for(action));
      if (one->step != CallStep::respond || one->call.status() == 200) continue;
      note_end(*one);
      if (!refused()) return;
    }
  }
}

CallStep DeclaredCall::begin(const Directory& directory, Instant now) {
  CHECK(directory_ == nullptr, "a declaration is applied once");
  directory_ = &directory;
  now_ = now;
  plan_ = plan_declared(rows_, directory, settings_);
  fault_ = plan_.fault;
  if (fault_.empty()) check_calls([] { return false; });
  plan_.planned = plan_.kept = {};
  if (!fault_.empty()) return CallStep::respond;
  if (plan_.must_be_empty.empty()) return begin_calls();
  counts_.assign(plan_.must_be_empty.size(), Request{});
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i].op = Op::count;
    counts_[i].queue = plan_.must_be_empty[i].queue;
    routes_.push_back({&counts_[i], plan_.must_be_empty[i].shard});
  }
  return CallStep::route;
}

std::vector<std::string> DeclaredCall::check(const Directory& directory) {
  CHECK(directory_ == nullptr, "a declaration that is under way");
  directory_ = &directory;
  now_ = Instant{} + seconds(1);  // any time: the outcome does not depend on it
  plan_ = plan_declared(rows_, directory, settings_, FaultyPlan::keeps_phases);
  std::vector<std::string> faults = plan_.faults;
  check_calls([&] {
    faults.push_back(fault_);
    return true;
  });
  return faults;
}

CallStep DeclaredCall::judge_counts() {
  CHECK(counts_.size() == plan_.must_be_empty.size(), "{} counts", counts_.size());
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const auto& [visible, in_flight, delayed, state_bytes] = counts_[i].counts;
    if (counts_[i].error == Errc::ok && visible + in_flight + delayed == 0) continue;
    fault_ = plan_.must_be_empty[i].fault;
    return CallStep::respond;
  }
  counts_.clear();
  return begin_calls();
}

CallStep DeclaredCall::resume() {
  CHECK(directory_ != nullptr && !routes_.empty(), "a declaration that waits for nothing");
  if (!counts_.empty()) return judge_counts();
  for (const auto& one : calls_)
    if (one->step == CallStep::route) one->step = one->call.resume(*directory_);
  return go_on();
}

// Begins the next calls of the phase, or of the first later one that has some.
CallStep DeclaredCall::begin_calls() {
  CHECK(fault_.empty() && counts_.empty(), "calls begin behind a fault or during the counts");
  calls_.clear();
  while (phase_ < plan_.phases.size() && next_ == plan_.phases[phase_].size()) {
    ++phase_;
    next_ = 0;
  }
  if (phase_ == plan_.phases.size()) return CallStep::respond;
  const std::vector<DeclaredAction>& actions = plan_.phases[phase_];
  for (; next_ < actions.size() && calls_.size() < calls_max; ++next_)
    calls_.push_back(begin_call(actions[next_], *directory_));
  return go_on();
}

void DeclaredCall::fill_request(One& one) {
  const DeclaredAction& action = *one.action;
  const DeclaredRow& row = *action.row;
  const bool sns = row.kind == DeclaredKind::topic || row.kind == DeclaredKind::subscription;
  const bool scheduler = row.kind == DeclaredKind::schedule;
  one.body =
      sns ? fmt::format("Action={}&Version={}&{}", action.action, SnsCall::version, action.body)
          : action.body;
  one.body.reserve(one.body.size() + HttpParser::body_slack);
  one.target = "AmazonSQS." + action.action;
  one.path = !scheduler                               ? "/"
             : action.action == "CreateScheduleGroup" ? "/schedule-groups/" + row.group
                                                      : "/schedules/" + row.name;
  one.headers[0] = {"Host", "localhost"};
  one.headers[1] = {"Content-Type", sns         ? "application/x-www-form-urlencoded"
                                    : scheduler ? "application/json"
                                                : "application/x-amz-json-1.0"};
  one.headers[2] = {"X-Amz-Target", one.target};
  one.request.method = action.action == "UpdateSchedule" ? "PUT" : "POST";
  one.request.target = one.request.path = one.path;
  one.request.body = one.body;
  one.request.set_headers(std::span(one.headers).first(sns || scheduler ? 2 : 3));
}

std::unique_ptr<DeclaredCall::One> DeclaredCall::begin_call(const DeclaredAction& action,
                                                            const Directory& directory) {
  CHECK(action.row != nullptr && !action.where.empty(), "an action of no row");
  auto made = std::make_unique<One>();
  One& one = *made;
  one.action = &action;
  one.settings = settings_;
  one.settings.account = action.row->account;
  fill_request(one);
  one.step = one.call.begin(one.request, directory, one.settings, now_, request_number_++);
  return made;
}

// Collects the routes of all calls; begins others when none has any.
CallStep DeclaredCall::go_on() {
  routes_.clear();
  for (const auto& one : calls_) {
    if (one->step == CallStep::route) {
      const auto routes = one->call.routes();
      routes_.insert(routes_.end(), routes.begin(), routes.end());
    } else if (fault_.empty() && one->call.status() != 200) {
      note_end(*one);
    }
  }
  if (!routes_.empty()) return CallStep::route;
  return fault_.empty() ? begin_calls() : CallStep::respond;
}

// The place is that of the attribute that the error names, if it names one.
void DeclaredCall::note_end(One& one) {
  CHECK(one.step == CallStep::respond, "{} has not ended", one.action->action);
  const DeclaredAction& action = *one.action;
  std::string response;
  one.call.write_response(response, {});
  constexpr int quota_exceeded = 402;  // of the scheduler
  const int status = one.call.status();
  may_retry_ = status >= 500 || status == 429 || status == quota_exceeded;
  const std::string text = declared_error_text(response);
  const DeclaredValue* named = nullptr;
  for (const DeclaredValue& value : action.row->attributes) {
    if (action.row->kind == DeclaredKind::schedule) break;  // its keys are words of any text
    if (text.find(value.key) != text.npos &&
        (named == nullptr || value.key.size() > named->key.size()))
      named = &value;
  }
  std::string why =
      fmt::format("{} is refused for the {}: {}", action.action, describe(*action.row), text);
  make_printable(why);
  fault_ = fmt::format("{}: {}", named == nullptr ? action.where : named->where, why);
}

std::string declared_error_text(std::string_view response) {
  const std::size_t end = response.find("\r\n\r\n");
  const std::string_view body =
      end == response.npos ? std::string_view() : response.substr(end + 4);
  if (const auto members = json_members(body)) {
    for (const JsonMember& member : *members)
      if (member.key == "message" || member.key == "Message") return member.text;
  }
  constexpr std::string_view open = "<Message>", close = "</Message>";
  const std::size_t from = body.find(open), to = body.find(close);
  if (from == body.npos || to == body.npos || to < from) return std::string(body);
  std::string text(body.substr(from + open.size(), to - from - open.size()));
  constexpr std::pair<std::string_view, char> entities[] = {
      {"&quot;", '"'},
      {"&lt;",   '<'},
      {"&gt;",   '>'},
      {"&amp;",  '&'}
  };
  for (const auto& [entity, c] : entities) {
    for (std::size_t at = text.find(entity); at != text.npos; at = text.find(entity, at + 1))
      text.replace(at, entity.size(), 1, c);
  }
  return text;
}

}  // namespace pawl

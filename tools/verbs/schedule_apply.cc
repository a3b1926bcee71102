// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/schedule_apply.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "core/base/check.h"
#include "proto/declared/declared_schedule.h"
#include "tools/command_line.h"
#include "tools/verbs/apply_values.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/schedule_calls.h"
#include "tools/verbs/topic_calls.h"

namespace pawl {

using sqs_client::SqsClient;

namespace {

NamedSchedule named_by(const DeclaredRow& row) { return {.name = row.name, .group = row.group}; }

// Keys of a table and the values of both; the input can be long, and is not shown.
std::vector<std::string> schedule_changes(const Schedule& has, const Schedule& wants) {
  std::vector<std::string> changes;
  const ScheduleMembers before = schedule_members(has), after = schedule_members(wants);
  CHECK(before.size() == after.size(), "{} and {} members", before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].second == after[i].second) continue;
    const bool input = before[i].first == "input";
    changes.push_back(change_text(before[i].first, input ? "..." : before[i].second,
                                  input ? "..." : after[i].second));
  }
  return changes;
}

// The queues and topics of an endpoint. The topics are listed when one is first asked about.
class Targets {
 public:
  Targets(SqsClient& sqs, const EndpointOptions& endpoint) : sqs_(sqs), endpoint_(endpoint) {}

  // An error was printed if code() says so.
  bool has_queue(const std::string& name) {
    const auto found = sqs_.call("GetQueueUrl", body_with("QueueName", name));
    return found || found.error().code == "QueueDoesNotExist"
               ? found.has_value()
               : give_up(explain_call(found.error(), name));
  }
  bool has_topic(const std::string& name) {
    if (!topics_) {
      topics_.emplace();
      auto sns = open_endpoint(endpoint_, sqs_client::sns_api);
      if (!sns) return give_up(exit_usage);
      code_ = for_each_topic(*sns, [this](const std::string& arn) {
        topics_->insert(name_of_arn(arn));
        return true;
      });
    }
    return topics_->contains(name);
  }
  int code() const { return code_; }

 private:
  bool give_up(int code) {
    code_ = code;
    return false;
  }

  SqsClient& sqs_;
  const EndpointOptions& endpoint_;
  std::optional<std::set<std::string>> topics_;  // names
  int code_ = exit_ok;
};

}  // namespace

int check_schedule_targets(const DeclaredRows& rows, SqsClient& sqs,
                           const EndpointOptions& endpoint) {
  Targets targets(sqs, endpoint);
  const auto is_there = [&](const SqsArn& arn, DeclaredKind kind) {
    const bool declared = std::ranges::any_of(rows, [&](const DeclaredRow& row) {
      return row.kind == kind && row.name == arn.name && row.account == arn.account;
    });
    const std::string name(arn.name);
    return declared ||
           (kind == DeclaredKind::topic ? targets.has_topic(name) : targets.has_queue(name));
  };
  for (const DeclaredRow& row : rows) {
    if (row.kind != DeclaredKind::schedule) continue;
    const auto missing = missing_target(row, is_there);
    if (targets.code() != exit_ok) return targets.code();
    if (missing) return refuse_row(missing->where, missing->why);
  }
  return exit_ok;
}

int SchedulePlan::compare(const DeclaredRows& rows) {
  CHECK(planned_.empty(), "{} schedules are compared already", planned_.size());
  int code = exit_ok;
  for (const DeclaredRow& row : rows)
    if (row.kind == DeclaredKind::schedule && code == exit_ok) code = compare_row(row);
  return code;
}

int SchedulePlan::compare_row(const DeclaredRow& row) {
  const auto response = call_schedule(client_, "GetSchedule", named_by(row));
  if (!response && response.error().code != "ResourceNotFoundException")
    return explain_schedule_call(response.error(), named_by(row));
  std::optional<StoredSchedule> stored;
  if (response) {
    int code = exit_ok;
    stored = read_stored(response->body, code);
    if (!stored) return code;
  }
  auto wanted = declared_schedule(row, stored ? &stored->schedule : nullptr);
  if (!wanted) return refuse_row(wanted.error().where, wanted.error().why);
  ComparedSchedule& planned = planned_.emplace_back();
  planned.row = &row;
  planned.is_new = !stored;
  if (stored && !wanted->same_request(stored->schedule))
    planned.changes = schedule_changes(stored->schedule, *wanted);
  planned.wanted = std::move(*wanted);
  return exit_ok;
}

int SchedulePlan::carry_out() {
  for (const ComparedSchedule& one : planned_) {
    if (!one.is_new && one.changes.empty()) continue;
    const NamedSchedule named = named_by(*one.row);
    const auto response = one.is_new ? create_in_group(client_, named, one.wanted)
                                     : call_schedule(client_, "UpdateSchedule", named,
                                                     schedule_request(named.group, one.wanted));
    if (!response) return refuse_row(one.row->where, response.error().text);
  }
  return exit_ok;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Calls of EventBridge Scheduler that several verbs make.
//
// Errors: to stderr; `code` is then the exit code of the verb.
// Owner:  one verb.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/sqs_client/sqs_client.h"
#include "proto/scheduler/schedule.h"

namespace pawl {

struct NamedSchedule {
  std::string name;
  std::string group = std::string(default_group);
};

struct StoredSchedule {
  std::string arn;
  Schedule schedule;
};

// The members of a schedule as texts: "expression", "zone", "state" (on, paused), "target"...
using ScheduleMembers = std::vector<std::pair<std::string, std::string>>;
ScheduleMembers schedule_members(const Schedule& schedule);

// Prints the error of a call about this schedule, and returns the exit code of the verb.
int explain_schedule_call(const sqs_client::CallError& error, const NamedSchedule& named);

// `action`: CreateSchedule, GetSchedule, UpdateSchedule or DeleteSchedule. Prints nothing.
std::expected<sqs_client::Response, sqs_client::CallError> call_schedule(
    sqs_client::SqsClient& client, std::string_view action, const NamedSchedule& named,
    std::string_view body = {});

// GetSchedule.
std::optional<StoredSchedule> stored_schedule(sqs_client::SqsClient& client,
                                              const NamedSchedule& named, int& code);
// The schedule in the response to GetSchedule. Without a value the error was printed.
std::optional<StoredSchedule> read_stored(std::string_view response, int& code);

// CreateSchedule; a group that does not exist is created first. Prints nothing.
std::expected<sqs_client::Response, sqs_client::CallError> create_in_group(
    sqs_client::SqsClient& client, const NamedSchedule& named, const Schedule& schedule);

// Calls act(schedule) for each in the group, or in all if it is empty, whose name begins with
// `prefix`, until it returns false. Returns the exit code.
int for_each_schedule(sqs_client::SqsClient& client, const std::string& group,
                      const std::string& prefix,
                      const std::function<bool(const NamedSchedule&)>& act);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// declared_schedule: the schedule that a row of a configuration file describes.
//
// The row is the whole definition: an absent key has its default. These things are not in a row,
// and stay as an existing schedule has them: the state if the row has no `enabled`, so that a pause
// lasts; the flexible window; the role and the retry policy.
//
// Errors: DeclaredFault with the place of the key.
// Owner:  values.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "proto/aws/arn.h"
#include "proto/declared/declared_rows.h"
#include "proto/scheduler/schedule.h"

namespace pawl {

struct DeclaredFault {
  std::string where, why;
};

// The role of new schedules, which a server of pawl does not use.
inline constexpr std::string_view declared_role = "arn:aws:iam::000000000000:role/pawl";

// `existing`: null if there is none.
std::expected<Schedule, DeclaredFault> declared_schedule(const DeclaredRow& row,
                                                         const Schedule* existing);

// The first target or dead-letter queue of the row that is not there; none: all are. `is_there` is
// asked about a topic or a queue.
std::optional<DeclaredFault> missing_target(
    const DeclaredRow& row, const std::function<bool(const SqsArn&, DeclaredKind)>& is_there);

// The body of CreateSchedule and UpdateSchedule.
std::string schedule_request(std::string_view group, const Schedule& schedule);

}  // namespace pawl

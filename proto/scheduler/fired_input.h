// SPDX-License-Identifier: Apache-2.0
// The body of the message that a fire of a schedule sends: its Input, or JSON that names the
// schedule.
//
// In Input these words are replaced: <aws.scheduler.schedule-arn>, <aws.scheduler.scheduled-time>,
// <aws.scheduler.execution-id>, <aws.scheduler.attempt-number>.
//
// Errors: none.
// Owner:  values.
// Source: EventBridge Scheduler User Guide, "Adding context attributes".
#pragma once

#include <string>
#include <string_view>

namespace pawl {

struct FireContext {
  std::string account, region;
  std::string arn;   // of the schedule
  std::string time;  // scheduled: 2026-12-24T18:00:00Z
  std::string id;    // of the execution
};

// `input`: empty if the schedule has none.
std::string fired_input(std::string_view input, const FireContext& fire);

}  // namespace pawl

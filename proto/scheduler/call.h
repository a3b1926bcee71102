// SPDX-License-Identifier: Apache-2.0
// SchedulerCall: a request of EventBridge Scheduler's API on the port of SQS.
//
//   /schedules         GET ListSchedules
//   /schedules/NAME    POST CreateSchedule, GET GetSchedule, PUT UpdateSchedule,
//                      DELETE DeleteSchedule
//   /schedule-groups   GET ListScheduleGroups
//   /schedule-groups/NAME   POST CreateScheduleGroup, GET GetScheduleGroup,
//                      DELETE DeleteScheduleGroup
//   /tags/ARN          POST TagResource, GET ListTagsForResource, DELETE UntagResource
//
//   begin --respond--> body
//     \--route--> [each of routes() applied] -> resume --respond--> body
//                  ^                              |
//                  +------------route-------------+
//
// A schedule is a row of the directory (schedule.h), created, changed and deleted as topics are.
// A ClientToken makes a repeated creation succeed. DeleteScheduleGroup answers when all schedules
// of the group are deleted.
//
// Limits: routes_max requests at once; rows_a_turn rows of a list; page_max items.
// Errors: none to the caller; each becomes a response in JSON, with X-Amzn-ErrorType.
// Owner:  the HttpCall. Memory used by the requests stays valid until the next begin().
// Source: EventBridge Scheduler API Reference; AWS's REST-JSON protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/time.h"
#include "core/queue/directory.h"
#include "proto/aws/call_types.h"
#include "proto/http/parser.h"

namespace pawl {

struct SchedulerState;

// The context of one call.
struct SchedulerContext {
  const Directory* directory = nullptr;
  const CallSettings* config = nullptr;
  std::string_view account;  // the caller's
  Instant now;               // engine time
};

class SchedulerCall {
 public:
  static constexpr std::size_t routes_max = 256;
  static constexpr std::size_t rows_a_turn = 512;
  static constexpr std::size_t page_max = 100;
  static constexpr std::string_view content_type = "application/json";

  // True: a path of this API, whether or not it has such an action.
  static bool owns(std::string_view path);
  // True: `http` is a request of this API: its path is one, and it names no action of SQS or SNS.
  static bool is_for(const HttpRequest& http);

  SchedulerCall();
  ~SchedulerCall();

  CallStep begin(const HttpRequest& http, const SchedulerContext& context);
  std::span<const CallRoute> routes() const;
  CallStep resume(const Directory& directory);

  std::string_view error_code() const;  // a constant; empty without an error
  std::string_view action() const;      // "CreateSchedule"; empty: there is none
  std::uint16_t status() const;
  std::string_view body() const;
  std::size_t memory() const;  // approximate bytes held

 private:
  std::unique_ptr<SchedulerState> state_;
};

}  // namespace pawl

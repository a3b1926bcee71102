// SPDX-License-Identifier: Apache-2.0
// SchedulePlan: the declared schedules of a file that a server lacks or has otherwise.
//
//   SchedulePlan plan(std::move(client));
//   if (int code = plan.compare(rows); code != exit_ok) return code;
//   return plan.carry_out();
//
// Schedules that the file does not name stay.
//
// Errors: to stderr, with the place in the file; the functions return the exit code of the verb.
// Owner:  one verb. The rows must live as long as the plan.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "net/sqs_client/sqs_client.h"
#include "proto/declared/declared_rows.h"
#include "proto/scheduler/schedule.h"
#include "tools/verbs/endpoint_connection.h"

namespace pawl {

struct ComparedSchedule {
  const DeclaredRow* row = nullptr;
  Schedule wanted;
  bool is_new = false;
  std::vector<std::string> changes;  // "NAME: OLD -> NEW"
};

class SchedulePlan {
 public:
  explicit SchedulePlan(sqs_client::SqsClient client) : client_(std::move(client)) {}

  // Without a schedule among the rows it calls nothing.
  int compare(const DeclaredRows& rows);
  int carry_out();
  const std::vector<ComparedSchedule>& planned() const { return planned_; }

 private:
  int compare_row(const DeclaredRow& row);

  sqs_client::SqsClient client_;
  std::vector<ComparedSchedule> planned_;
};

// Refuses a schedule whose target or dead-letter queue is neither declared nor at the endpoint.
// `sqs`: a client of that endpoint.
int check_schedule_targets(const DeclaredRows& rows, sqs_client::SqsClient& sqs,
                           const EndpointOptions& endpoint);

}  // namespace pawl

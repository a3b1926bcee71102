// SPDX-License-Identifier: Apache-2.0
// plan_declared: makes a DeclaredPlan of rows and directory. It changes nothing.
//
// DeclaredPlanner is its state, with the functions that plan each kind of row:
//
//   declared_planner.cc    queues and their messages
//   declared_topics.cc     topics and subscriptions
//   declared_schedule.cc   schedules and their groups
//
// Errors: faults of the plan; a function returns false if it added one.
// Owner:  plan_declared(), for one call. Rows, directory and settings must live as long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/queue/directory.h"
#include "core/queue/queue_config.h"
#include "core/queue/request.h"
#include "proto/aws/call_types.h"
#include "proto/declared/declared_plan.h"
#include "proto/declared/declared_rows.h"

namespace pawl {

using DeclaredValues = std::vector<DeclaredValue>;

class DeclaredPlanner {
 public:
  DeclaredPlanner(const DeclaredRows& rows, const Directory& directory,
                  const CallSettings& settings);

  DeclaredPlan plan(FaultyPlan faulty);

 private:
  // drop: queues to make anew.  make: queues, topics, groups of schedules.  change: existing
  // queues.  connect: dead-letter queues, subscriptions, schedules, messages.  finish: the tag of
  // queues without their messages.
  enum Phase : std::size_t { drop, make, change, connect, finish, phases };
  using Changes = std::vector<AttributeChange>;

  bool every(DeclaredKind kind, bool (DeclaredPlanner::*step)(const DeclaredRow&));
  bool refuse(const std::string& where, std::string why);
  void add(Phase phase, const DeclaredRow& row, std::string action, std::string body,
           const std::string& where = {});
  // Another row of the directory without attributes of its own, until it is put into the planned
  // ones.
  QueueConfig planned_row(const std::string& account, std::string_view name);
  void put(QueueConfig config);
  std::string summary() const;

  void put_refused(const DeclaredRow& row);
  bool read(const DeclaredRow& row, const DeclaredValues& values, const QueueConfig* queue,
            Changes& changes);
  void drop_unsent(const DeclaredRow& row);
  bool plan_queue(const DeclaredRow& row);
  void plan_change(const DeclaredRow& row, const QueueConfig& queue, const DeclaredValues& values,
                   const Changes& changes);
  void keep_messages(const DeclaredRow& row, const QueueConfig& queue, const Changes& changes);
  bool plan_link(const DeclaredRow& row);
  bool plan_message(const DeclaredRow& row);

  void put_new_topic(const DeclaredRow& row);
  bool plan_topic(const DeclaredRow& row);
  bool plan_subscription(const DeclaredRow& row);
  std::string topic_arn(const DeclaredRow& row) const;

  bool plan_schedule(const DeclaredRow& row);
  bool has_target(const DeclaredRow& row);

  DeclaredPlan plan_;
  const DeclaredRows& rows_;
  const Directory& there_;  // without the queues that are made anew
  const CallSettings& settings_;
  std::uint32_t planned_ids_;
  std::set<std::pair<std::string, std::string>> with_messages_;  // account and name of queues
};

// The rows must outlive the plan.
DeclaredPlan plan_declared(const DeclaredRows& rows, const Directory& directory,
                           const CallSettings& settings, FaultyPlan faulty = FaultyPlan::is_empty);

// `keys` and values as the parameters of a form.
std::string declared_form(const std::vector<std::pair<std::string, std::string>>& parameters);

// Tags that the queue or topic does not have.
DeclaredValues missing_tags(const DeclaredRow& row, const QueueConfig& config);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/replay_check.h"

#include "core/base/check.h"
#include "core/queue/replay_task.h"
#include "proto/sns/filter_policy.h"

namespace pawl {
namespace {

ReplayFault destination_fault(const QueueConfig& source, const Directory& directory,
                              std::string_view destination) {
  if (destination.empty() || destination == source.name) return ReplayFault::none;
  const ConfigPtr* const target = directory.find(source.account, destination);
  if (target == nullptr || !(*target)->is_queue()) return ReplayFault::no_destination;
  CHECK((*target)->account == source.account, "{} is found in account {}", destination,
        source.account);
  return (*target)->is_fifo() == source.is_fifo() ? ReplayFault::none : ReplayFault::other_kind;
}

}  // namespace

ReplayFault replay_filter_fault(std::string_view filter, std::string& why) {
  if (filter.size() > replay_filter_bytes_max) return ReplayFault::filter_size;
  if (filter.empty() || FilterPolicy::parse(filter, FilterPolicy::Scope::attributes, why))
    return ReplayFault::none;
  CHECK(!why.empty(), "the filter {} is refused without a reason", filter);
  return ReplayFault::filter;
}

ReplayFault replay_fault(const QueueConfig& source, const Directory& directory,
                         const ReplayOrder& order, std::string& why) {
  CHECK(source.is_queue(), "a replay of row {}", source.name);
  if (order.rate > replay_rate_max) return ReplayFault::rate;
  if (order.from < 0 || (order.to != 0 && order.to <= order.from)) return ReplayFault::range;
  const ReplayFault fault = replay_filter_fault(order.filter, why);
  return fault == ReplayFault::none ? destination_fault(source, directory, order.destination)
                                    : fault;
}

std::string replay_destination(const QueueConfig& source, std::string_view destination) {
  CHECK(!source.name.empty(), "a replay of a queue without a name");
  return QueueName{source.account, destination.empty() ? source.name : destination}.text();
}

}  // namespace pawl

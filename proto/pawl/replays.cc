// SPDX-License-Identifier: Apache-2.0
// StartReplay, ListReplays, CancelReplay: the tasks that send earlier messages of a queue again.
#include <array>
#include <cstdint>

#include "core/base/check.h"
#include "core/queue/replay_task.h"
#include "proto/pawl/actions.h"
#include "proto/pawl/replay_check.h"
#include "proto/text/json.h"

namespace pawl {
namespace {

using F = SqsFault;

constexpr std::uint64_t number_max = 1ull << 53;  // a number of JSON is exact up to there
constexpr std::array<std::string_view, 4> status_names = {"RUNNING", "COMPLETED", "CANCELLED",
                                                          "FAILED"};

CallStep route_replay(PawlState& s, Op op) {
  CHECK(s.queue != nullptr && s.request.op == Op::none, "a replay without a queue of its own");
  s.request.queue = s.queue->id;
  s.request.replay = &s.replay;
  s.request.op = op;
  s.request_home = s.queue->owner;
  return CallStep::route;
}

bool check_order(PawlState& s, const ReplayOrder& order) {
  Refusal& refusal = s.refusal();
  const QueueConfig& queue = *s.queue;
  std::string why;
  switch (replay_fault(queue, *s.call->directory, order, why)) {
    case ReplayFault::none:
      return true;
    case ReplayFault::rate:
      return refusal.because(F::invalid_parameter_value,
                             "MaxNumberOfMessagesPerSecond is {}; 0 to {} are allowed.", order.rate,
                             replay_rate_max);
    case ReplayFault::range:
      return refusal.because(F::invalid_parameter_value, "From is {} and not before To, {}.",
                             order.from, order.to);
    case ReplayFault::filter_size:
      return refusal.because(F::invalid_parameter_value,
                             "FilterPolicy has {} bytes; at most {} are allowed.",
                             order.filter.size(), replay_filter_bytes_max);
    case ReplayFault::filter:
      return refusal.because(F::invalid_parameter_value, "FilterPolicy is no filter policy: {}.",
                             why);
    case ReplayFault::no_destination:
      return refusal.because(F::queue_does_not_exist, "There is no DestinationQueue {}.",
                             shown(order.destination));
    case ReplayFault::other_kind:
      return refusal.because(F::invalid_parameter_value,
                             "DestinationQueue {} and queue {} are not of one kind: one is FIFO.",
                             order.destination, queue.name);
  }
  CHECK(false, "an unknown fault of a replay of {}", queue.name);
  return false;
}

CallStep refuse_replay(PawlState& s) { return refuse_peek(s, s.request.error); }

}  // namespace

CallStep start_replay(PawlState& s) {
  std::string_view destination, filter;
  std::uint64_t from = 0, to = 0, rate = 0, copies = 0;
  Refusal& refusal = s.refusal();
  if (!s.members.text("DestinationQueue", destination, refusal) ||
      !s.members.text("FilterPolicy", filter, refusal) ||
      !s.members.number("From", 0, number_max, from, refusal) ||
      !s.members.number("To", 0, number_max, to, refusal) ||
      !s.members.number("MaxNumberOfMessagesPerSecond", 0, number_max, rate, refusal) ||
      !s.members.number("IncludeCopies", 0, 1, copies, refusal))
    return CallStep::respond;
  const ReplayOrder order{.destination = destination,
                          .filter = filter,
                          .from = static_cast<std::int64_t>(from),
                          .to = static_cast<std::int64_t>(to),
                          .rate = rate};
  if (!check_order(s, order)) return CallStep::respond;
  s.destination = replay_destination(*s.queue, destination);
  s.filter = filter;
  s.replay = ReplayParams();
  s.replay.destination = s.destination;
  s.replay.filter = s.filter;
  s.replay.copies = copies != 0;
  s.replay.rate = static_cast<std::uint32_t>(rate);
  const TimeShift& shift = *s.call->config->shift;
  s.replay.from = shift.engine(Instant{order.from});
  s.replay.to = shift.engine(Instant{order.to});
  return route_replay(s, Op::start_replay);
}

CallStep start_replay_result(PawlState& s) {
  if (s.request.error != Errc::ok) return refuse_replay(s);
  JsonWriter json(s.body);
  json.begin_object();
  json.member("Number", std::int64_t{s.replay.number});
  json.end_object();
  return CallStep::respond;
}

CallStep cancel_replay(PawlState& s) {
  std::uint64_t number = 0;
  if (!s.members.number("Number", 1, UINT32_MAX, number, s.refusal())) return CallStep::respond;
  if (number == 0) {
    s.refusal().because(F::missing_parameter, "CancelReplay needs Number, as StartReplay gave it.");
    return CallStep::respond;
  }
  s.replay = ReplayParams();
  s.replay.number = static_cast<std::uint32_t>(number);
  return route_replay(s, Op::cancel_replay);
}

CallStep cancel_replay_result(PawlState& s) {
  if (s.request.error != Errc::ok) return refuse_replay(s);
  JsonWriter json(s.body);
  json.begin_object();
  json.member("NumberOfMessagesSent", static_cast<std::int64_t>(s.replay.sent));
  json.end_object();
  return CallStep::respond;
}

CallStep list_replays(PawlState& s) {
  s.replay = ReplayParams();
  return route_replay(s, Op::list_replays);
}

CallStep list_replays_result(PawlState& s) {
  if (s.request.error != Errc::ok) return refuse_replay(s);
  CHECK(s.replay.tasks.size() <= replays_kept, "{} replays", s.replay.tasks.size());
  const auto wall = [&s](Instant at) { return s.call->config->shift->wall(at).ms; };
  JsonWriter json(s.body);
  json.begin_object();
  json.key("Replays");
  json.begin_array();
  for (const ReplayTask& task : s.replay.tasks) {
    json.begin_object();
    json.member("Number", std::int64_t{task.number});
    json.member("Status", status_names[static_cast<std::size_t>(task.status)]);
    json.member("NumberOfMessagesSent", static_cast<std::int64_t>(task.sent));
    json.member("UnreadableBytes", static_cast<std::int64_t>(task.unreadable));
    json.member("From", wall(task.from));
    json.member("To", wall(task.to));
    json.member("StartedAt", wall(task.started));
    json.member("DestinationQueue", QueueName::from_text(task.destination).name);
    json.member("MaxNumberOfMessagesPerSecond", std::int64_t{task.rate});
    if (!task.filter.empty()) json.member("FilterPolicy", std::string_view(task.filter));
    if (task.failure != Errc::ok) json.member("FailureReason", name_of(task.failure));
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return CallStep::respond;
}

}  // namespace pawl

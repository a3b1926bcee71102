// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/tasks.h"

#include "core/base/check.h"
#include "proto/binary/payloads.h"
#include "proto/pawl/replay_check.h"

namespace pawl::binary {
namespace {

Status status_of_fault(ReplayFault fault) {
  switch (fault) {
    case ReplayFault::none:
      return Status::ok;
    case ReplayFault::filter_size:
      return Status::too_large;
    case ReplayFault::no_destination:
      return Status::no_such_queue;
    case ReplayFault::rate:
    case ReplayFault::range:
    case ReplayFault::filter:
    case ReplayFault::other_kind:
      return Status::invalid;
  }
  CHECK(false, "ReplayFault {}", static_cast<int>(fault));
  return Status::invalid;
}

// Allocates the parameters that the request points to while it is in flight.
ReplayParams& about_replays(BinaryCallState& s) {
  s.replay = std::make_unique<ReplayParams>();
  s.request.replay = s.replay.get();
  return *s.replay;
}

}  // namespace

// --- move tasks ---

BinaryNext start_move(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const Directory& directory = call.directory;
  const QueueConfig& queue = *call.opened;
  const auto [destination, rate] = take_struct<payload::StartMove>(in);
  if (!in.finished()) return s.refuse(Status::bad_frame);
  if (rate > move_rate_max || directory.sources_of(queue.account, queue.name, {}, 1).empty())
    return s.refuse(Status::invalid);
  s.destination.clear();
  if (!destination.empty()) {
    const ConfigPtr* const target = directory.find(queue.account, destination);
    if (target == nullptr) return s.refuse(Status::no_such_queue);
    if ((*target)->id == queue.id || (*target)->is_fifo() != queue.is_fifo())
      return s.refuse(Status::invalid);
    s.destination = QueueName{queue.account, destination}.text();
  }
  s.request.move.destination = s.destination;
  s.request.move.rate = rate;
  return s.route(Op::start_move, queue.owner);
}

BinaryNext start_move_result(BinaryCallState& s, BinarySessionState&, const Directory&) {
  put_struct(s.answer, payload::TaskNumber{s.request.move.number});
  return BinaryNext::respond;
}

BinaryNext cancel_move(BinaryCallState& s, const BinaryArguments& call) {
  s.request.move.number = take_struct<payload::TaskNumber>(call.in).number;
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  return s.route(Op::cancel_move, call.opened->owner);
}

BinaryNext cancel_move_result(BinaryCallState& s, BinarySessionState&, const Directory&) {
  put_struct(s.answer, payload::TaskCount{s.request.move.moved});
  return BinaryNext::respond;
}

BinaryNext list_moves(BinaryCallState& s, const BinaryArguments& call) {
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  return s.route(Op::list_moves, call.opened->owner);
}

BinaryNext list_moves_result(BinaryCallState& s, BinarySessionState&, const Directory&) {
  CHECK(s.request.move.tasks.size() <= UINT16_MAX, "{} tasks", s.request.move.tasks.size());
  put_count<payload::Move>(s.answer, s.request.move.tasks.size());
  for (const MoveTask& task : s.request.move.tasks) {
    put_struct(s.answer,
               payload::Move{.number = task.number,
                             .state = static_cast<std::uint8_t>(task.status),
                             .failure = static_cast<std::uint16_t>(status_of(task.failure)),
                             .rate = task.rate,
                             .moved = task.moved,
                             .to_move = task.to_move,
                             .started = s.config->shift->wall(task.started).ms,
                             .destination = QueueName::from_text(task.destination).name});
  }
  return BinaryNext::respond;
}

// --- replay tasks ---

BinaryNext start_replay(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = *call.opened;
  const auto [destination, rate, from, to, filter] = take_struct<payload::StartReplay>(in);
  const std::uint8_t flags =
      in.finished() ? std::uint8_t{0} : take_struct<payload::ReplayFlags>(in).bits;
  if (!in.finished() || (flags & ~replay_flag_copies) != 0) return s.refuse(Status::bad_frame);
  std::string why;  // unused: the binary response has no field for it
  const ReplayOrder order{
      .destination = destination, .filter = filter, .from = from, .to = to, .rate = rate};
  if (const auto fault = replay_fault(queue, call.directory, order, why);
      fault != ReplayFault::none)
    return s.refuse(status_of_fault(fault));
  s.destination = replay_destination(queue, destination);
  ReplayParams& asked = about_replays(s);
  asked.destination = s.destination;
  asked.filter = filter;
  asked.rate = rate;
  asked.copies = (flags & replay_flag_copies) != 0;
  asked.from = s.config->shift->engine(Instant{from});
  asked.to = s.config->shift->engine(Instant{to});
  return s.route(Op::start_replay, queue.owner);
}

BinaryNext start_replay_result(BinaryCallState& s, BinarySessionState&, const Directory&) {
  CHECK(s.request.replay != nullptr, "a replay starts without parameters");
  put_struct(s.answer, payload::TaskNumber{s.request.replay->number});
  return BinaryNext::respond;
}

BinaryNext cancel_replay(BinaryCallState& s, const BinaryArguments& call) {
  const auto [number] = take_struct<payload::TaskNumber>(call.in);
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  about_replays(s).number = number;
  return s.route(Op::cancel_replay, call.opened->owner);
}

BinaryNext cancel_replay_result(BinaryCallState& s, BinarySessionState&, const Directory&) {
  CHECK(s.request.replay != nullptr, "a replay is cancelled without parameters");
  put_struct(s.answer, payload::TaskCount{s.request.replay->sent});
  return BinaryNext::respond;
}

BinaryNext list_replays(BinaryCallState& s, const BinaryArguments& call) {
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  about_replays(s);
  return s.route(Op::list_replays, call.opened->owner);
}

BinaryNext list_replays_result(BinaryCallState& s, BinarySessionState&, const Directory&) {
  CHECK(s.request.replay != nullptr, "a list of replays without parameters");
  CHECK(s.request.replay->tasks.size() <= UINT16_MAX, "{} tasks", s.request.replay->tasks.size());
  put_count<payload::Replay>(s.answer, s.request.replay->tasks.size());
  for (const ReplayTask& task : s.request.replay->tasks) {
    put_struct(s.answer,
               payload::Replay{.number = task.number,
                               .state = static_cast<std::uint8_t>(task.status),
                               .failure = static_cast<std::uint16_t>(status_of(task.failure)),
                               .rate = task.rate,
                               .from = s.config->shift->wall(task.from).ms,
                               .to = s.config->shift->wall(task.to).ms,
                               .started = s.config->shift->wall(task.started).ms,
                               .sent = task.sent,
                               .unreadable = task.unreadable,
                               .destination = QueueName::from_text(task.destination).name,
                               .filter = task.filter});
  }
  return BinaryNext::respond;
}

}  // namespace pawl::binary

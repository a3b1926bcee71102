// SPDX-License-Identifier: Apache-2.0
#include "net/engine/shard_loop.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "net/engine/message_ages.h"
#include "wal/format/message_records.h"
#include "wal/format/records.h"

namespace pawl {
namespace {

// The most bytes of a record besides the texts of its sender: as a dead letter a message also names
// the queue that it came from.
constexpr std::size_t head_bytes_max = send_head_bytes_max + origin_bytes_max;
constexpr Duration catch_up_max = seconds(5);  // of a request that waits until no timer is due

bool sends(const Request& request) {
  return request.op == Op::send || request.op == Op::fan_out || request.op == Op::take_numbers;
}

// The most bytes that a fan_out or take_numbers adds to the log.
std::uint64_t log_bytes_max(const Request& request, std::size_t record_max) {
  if (request.op == Op::take_numbers) return request.sends.size() * number_bytes;
  return fan_out_bytes_max(request.sends.front().content, request.targets.size(), record_max);
}

}  // namespace

ShardLoop::ShardLoop(Shard& shard, Log& log, MeshPort& port, RequestOwner& request_owner,
                     std::uint64_t memory_max)
    : shard_(&shard),
      log_(&log),
      port_(&port),
      request_owner_(&request_owner),
      memory_max_(memory_max),
      replayer_(shard, log),
      scheduler_(shard) {}

void ShardLoop::submit(Request& request, ShardId target) {
  CHECK(request.waiter == 0, "the request waits in row {}", request.waiter);
  request.home = port_->self();
  request.route.copied.clear();
  request.route.fetched = request.route.unread = request.unreadable = request.unfetched = 0;
  request.route.unflushed = false;
  request.durability = Durability::fsync;
  if (!changes_directory(request.op) || !ChangeLines::concerns(request) ||
      change_lines_.enter(request))
    route(request, target);
}

bool ShardLoop::cancel(Request& request, ShardId target) {
  if (target == port_->self()) {
    forget_wait(request);
    return shard_->cancel(request);
  }
  if (!request.route.cancel_under_way) {
    request.route.cancel_under_way = true;
    port_->send(target, {.kind = MeshMessage::Kind::cancel, .pointer = &request});
  }
  return false;
}

// The receive may still be queued or held and would park after its owner has gone. So its wait time
// is set to 0 wherever it is.
void ShardLoop::forget_wait(Request& request) {
  if (!MUTANT(park_cancelled)) request.receive.wait = Duration{0};
}

void ShardLoop::send_connection(ShardId to, std::uint64_t number) {
  MeshMessage message{.kind = MeshMessage::Kind::connection};
  message.number = number;
  port_->send(to, message);
}

// The order is the design: net/TURN.md gives the reason for each line.
bool ShardLoop::turn(Instant now, std::uint64_t now_us) {
  ++stats_.turns;
  now_ = now;
  const Lsn committed_before = log_->committed();
  if (memory_due_ <= 0) share_memory();
  if (shard_->armed(ShardPart::replay)) keep_for_replay(now);
  begin(TurnSpan::end_writes);
  if (log_->finished_io()) log_->pump(now, now_us, false);
  end(TurnSpan::end_writes);
  begin(TurnSpan::decide);
  const bool read = unread_ > 0 && take_bodies();
  progress(now);
  take_messages();
  if (shard_->armed(ShardPart::schedules)) fire_schedules(now);
  const bool applied = (!held_.empty() && retry_held(now)) || !queued_.empty();
  for (std::size_t left = queued_.size(); left > 0; --left) {
    Request* const request = queued_.front();
    queued_.pop_front();
    apply(*request, now);
  }
  if (!answered_rows_.empty()) go_on_with_changes();
  more_ = shard_->expire(now - timers_late, now, effects_);
  if (draining_) shard_->release_waiters(effects_);
  shard_->match(now, effects_);
  if (shard_->armed(ShardPart::replay)) replay(now);
  const bool worked =
      applied || read || from_mesh_ > 0 || effects_.has_records() || !effects_.replies.empty();
  more_ |= worked && !held_.empty();  // this turn may have freed or used what they wait for
  end(TurnSpan::decide);
  begin(TurnSpan::append);
  append(now);
  if (log_->relocation_due()) relocate(now, !worked);
  log_->pump(now, now_us, !worked);
  end(TurnSpan::append);
  wakes_ |= port_->publish();
  more_ |= !answered_rows_.empty();
  return worked || more_ || log_->committed() != committed_before;
}

void ShardLoop::take_messages() {
  from_mesh_ = port_->drain(
      mesh_a_turn, [this](ShardId from, const MeshMessage& message) { take(from, message); });
  CHECK(from_mesh_ <= mesh_a_turn * (port_->shards() - 1), "{} messages", from_mesh_);
  stats_.from_mesh += from_mesh_;
}

void ShardLoop::take(ShardId from, const MeshMessage& message) {
  using Kind = MeshMessage::Kind;
  switch (message.kind) {
    case Kind::request:
      return queued_.push_back(static_cast<Request*>(message.pointer));
    case Kind::response:
      return back_home(*static_cast<Request*>(message.pointer));
    case Kind::cancel: {
      Request& request = *static_cast<Request*>(message.pointer);
      forget_wait(request);
      if (shard_->cancel(request)) port_->send(from, {.kind = Kind::response, .pointer = &request});
      port_->send(from, {.kind = Kind::cancelled, .pointer = &request});
      return;
    }
    case Kind::cancelled: {
      Request& request = *static_cast<Request*>(message.pointer);
      CHECK(request.route.cancel_under_way, "no cancel is under way");
      request.route.cancel_under_way = false;
      if (std::exchange(request.route.answered_meanwhile, false))
        request_owner_->on_response(request);
      return;
    }
    case Kind::config:
      CHECK(from == control_shard, "a change from shard {}", raw(from));
      return take_change(from, *static_cast<ConfigChange*>(message.pointer));
    case Kind::known:
      return known(*static_cast<ConfigChange*>(message.pointer));
    case Kind::connection:
      return request_owner_->connection(message.number);
  }
}

void ShardLoop::back_home(Request& request) {
  CHECK(request.home == port_->self(), "a response to shard {}", raw(request.home));
  CHECK(!request.route.answered_meanwhile, "a request is answered twice");
  if (request.route.cancel_under_way) {
    request.route.answered_meanwhile = true;  // the owner may still read it
  } else {
    give(request);
  }
}

void ShardLoop::apply(Request& request, Instant now) {
  ++stats_.requests;
  note_growth(1 + request.sends.size() + request.targets.size() + request.deliveries.size());
  if (sends(request)) {
    if (!held_.empty() || !send(request, now)) hold({.request = &request});
    return;
  }
  if (overtakes(request)) return hold({.request = &request});
  decide(request, now);
}

void ShardLoop::decide(Request& request, Instant now) {
  if (request.op == Op::none) {
    const Duration wait = request.receive.wait;
    if (wait.ms < 0 || draining_) return answer(request);
    return resting_.push_back({now + (wait.ms == 0 ? catch_up_max : wait), &request});
  }
  if (request.op == Op::transfer && request.transfer->stage == Transfer::Stage::accept &&
      !accept(request, request.transfer->bytes.size(), Log::From::queue)) {
    return answer(request);
  }
  if (polls_end_ && request.op == Op::receive) request.receive.wait = Duration{0};
  if (request.op == Op::start_replay) look_into_log(request, now);
  shard_->apply(request, now, effects_);
}

// False: the request must wait; the disk is not full, only slower than the senders.
bool ShardLoop::send(Request& request, Instant now) {
  std::uint64_t bytes = 0;
  for (const SendEntry& entry : request.sends) bytes += entry.content.bytes();
  if (request.op != Op::send) bytes = log_bytes_max(request, log_->max_record_bytes());
  // The caller has checked the limits of SQS; this is the limit of the log.
  const std::size_t texts_max = log_->max_record_bytes() - head_bytes_max;
  if (bytes > texts_max && std::ranges::any_of(request.sends, [&](const SendEntry& entry) {
        return entry.content.bytes() > texts_max;
      })) {
    request.error = Errc::too_large;
    ++stats_.refused;
    answer(request);
    return true;
  }
  if (accept(request, bytes, Log::From::sender)) {
    const std::size_t before = effects_.sends.size(), numbers = effects_.numbers.size();
    shard_->apply(request, now, effects_);
    stats_.sent += effects_.sends.size() - before;
    // The shard stored none: the queue does not exist, or all are duplicates.
    if (effects_.sends.size() == before && effects_.numbers.size() == numbers)
      log_->release_space(bytes);
    return true;
  }
  if (!memory_full_ && log_->free_space_expected()) return false;
  ++stats_.refused;
  stats_.refused_for_space += request.error == Errc::no_space ? 1 : 0;
  answer(request);
  return true;
}

void ShardLoop::hold(const Held& held) {
  CHECK((held.request != nullptr) != (held.change != nullptr));
  held_.push_back(held);
  if (held.request != nullptr && held.request->stream != nullptr)
    ++held_streams_[held.request->stream];
}

// True: a request of the same stream for the same queue is held.
bool ShardLoop::overtakes(const Request& request) const {
  if (request.stream == nullptr || !held_streams_.contains(request.stream)) return false;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const Request* const before = held_[i].request;
    if (before != nullptr && before->stream == request.stream && before->queue == request.queue)
      return true;
  }
  return false;
}

bool ShardLoop::retry_held(Instant now) {
  const std::size_t before = held_.size();
  while (!held_.empty()) {
    const Held held = held_.front();
    // After its response the request object may be reused.
    const void* const stream = held.request == nullptr ? nullptr : held.request->stream;
    if (held.request == nullptr) {
      change_queue(held.from, *held.change);
    } else if (!sends(*held.request)) {
      decide(*held.request, now);
    } else if (!send(*held.request, now)) {
      break;
    }
    held_.pop_front();
    const auto count = held_streams_.find(stream);
    CHECK(count == held_streams_.end() || count->second > 0, "a stream holds nothing");
    if (count != held_streams_.end() && --count->second == 0) held_streams_.erase(count);
  }
  CHECK(!held_.empty() || held_streams_.empty(), "{} streams hold nothing", held_streams_.size());
  return held_.size() != before;
}

bool ShardLoop::accept(Request& request, std::uint64_t bytes, Log::From from) {
  // A message that moves within this shard frees as much as it takes, whatever fills the memory.
  if (request.op == Op::transfer && request.transfer->from.shard == port_->self())
    from = Log::From::same_shard;
  const bool full = (from == Log::From::sender && memory_full_) ||
                    (from == Log::From::queue && memory_full_for_transfers_);
  request.error = full ? Errc::no_memory : log_->check_free_space(bytes, from);
  if (request.error == Errc::ok) log_->accepted(bytes);
  if (request.error == Errc::no_space) log_->ask_for_space(bytes, from);
  return request.error == Errc::ok;
}

void ShardLoop::append(Instant now) {
  Lsn lsn = log_->appended();
  if (effects_.has_records()) {
    lsn = log_->append(effects_, now);
    stats_.deleted += effects_.deletes.size();
  }
  CHECK(lsn >= log_->committed(), "{} is committed, {} appended", log_->committed(), lsn);
  shard_->appended(effects_, lsn);
  if (!effects_.transfers.empty()) send_transfers();
  for (const Reply& reply : effects_.replies) {
    Request& request = *reply.request;
    request.route.unflushed = reply.after_flush && lsn > log_->committed() &&
                              !leaves_early(request, now) && !MUTANT(ack_before_flush);
    if (request.route.unflushed || lsn <= log_->committed()) request.durability = Durability::fsync;
    if (request.op == Op::list_queues && request.slice->wants_figures)
      find_ages(*log_, *request.slice);
    // Bodies are copied for a waiting response, because they may be deleted before it leaves, and
    // for another shard, because it cannot read them here.
    if (request.op == Op::receive || request.op == Op::peek)
      fetch(request, request.route.unflushed || request.home != port_->self());
    if (request.route.unflushed) {
      CHECK(waiting_.empty() || waiting_.back().lsn <= lsn, "the log went back to {}", lsn);
      waiting_.push_back({&request, lsn});
      log_->urge();
    } else if (request.route.unread > 0) {
      continue;  // answered when the last body is read
    } else if (reply.after_flush) {
      announce(request);
    } else {
      answer(request);
    }
  }
  // Released after the responses, which are read from the log's memory.
  for (const LogPos position : effects_.freed) log_->release(position);
  effects_.clear();
  if (checkpointing_ || log_->wants_checkpoint()) write_checkpoint(now);
}

// True: the request is answered before it is durable.
bool ShardLoop::leaves_early(const Request& request, Instant now) {
  const Duration behind = now - log_->unflushed_since();
  const bool in_time = behind < async_window || MUTANT(outlive_window);
  switch (request.durability) {
    case Durability::fsync:
      return false;
    case Durability::async:
      ++(in_time ? stats_.early_async : stats_.late_async);
      if (in_time) stats_.async_behind_max = std::max(stats_.async_behind_max, behind.ms);
      return in_time;
    case Durability::memory:
      ++stats_.early_memory;
      return true;
  }
  return false;
}

void ShardLoop::progress(Instant now) {
  for (std::size_t i = 0; i < resting_.size();) {
    const Resting rested = resting_[i];
    const bool caught_up =
        rested.request->receive.wait.ms == 0 && !more_ && shard_->next_deadline() > now;
    if (rested.until > now && !caught_up && !draining_) {
      ++i;
      continue;
    }
    resting_[i] = resting_.back();
    resting_.pop_back();
    answer(*rested.request);
  }
  const Lsn committed = log_->committed();
  if (durable_times_) durable_times_->note(committed, now);
  shard_->committed(committed, now);
  while (!waiting_.empty() && waiting_.front().lsn <= committed) {
    Request* const request = waiting_.front().request;
    waiting_.pop_front();
    CHECK(request->route.unflushed, "a request is answered twice");
    request->route.unflushed = false;
    if (request->route.unread == 0) announce(*request);
  }
}

// A durable change of the directory goes to every shard before it is answered; any other request is
// answered at once. A response "queue exists" goes to every shard first too: the queue's own
// announcement may still be under way.
void ShardLoop::announce(Request& request) {
  const bool named = request.error == Errc::ok || request.error == Errc::queue_exists;
  if (!changes_directory(request.op) || !named || port_->shards() == 1 || MUTANT(tell_nobody))
    return answer(request);
  CHECK(port_->self() == control_shard && request.config != nullptr, "shard {}",
        raw(port_->self()));
  changes_.push_back(std::make_unique<ConfigChange>(
      ConfigChange{request.config, request.op == Op::delete_queue, &request, port_->shards() - 1}));
  for (std::uint32_t to = 0; to < port_->shards(); ++to) {
    const ShardId shard{static_cast<std::uint8_t>(to)};
    if (shard == port_->self()) continue;
    port_->send(shard, {.kind = MeshMessage::Kind::config, .pointer = changes_.back().get()});
  }
}

void ShardLoop::answer(Request& request) {
  if (request.op == Op::transfer) return pass_on(*request.transfer);
  if (request.home == port_->self()) {
    give(request);
  } else {
    port_->send(request.home, {.kind = MeshMessage::Kind::response, .pointer = &request});
  }
}

void ShardLoop::give(Request& request) {
  if (shard_->armed(ShardPart::replay) && replayer_.owns(request)) return replayer_.on_response();
  if (shard_->armed(ShardPart::schedules) && scheduler_.owns(request))
    return scheduler_.on_response(request);
  // Its owner may submit the request again, or free it.
  if (changes_directory(request.op) && ChangeLines::concerns(request) &&
      change_lines_.answered(request))
    answered_rows_.push_back(request.queue);
  request_owner_->on_response(request);
}

// Routes a transfer to the shard of its next stage.
void ShardLoop::pass_on(Transfer& transfer) {
  using Stage = Transfer::Stage;
  const bool was_at_target = transfer.stage == Stage::accept || transfer.stage == Stage::forget;
  const bool refused = transfer.request.error != Errc::ok;
  CHECK(transfer.stage != Stage::free && transfer.stage != Stage::done, "the transfer has ended");
  transfer.stage = transfer.stage == Stage::accept   ? Stage::commit
                   : transfer.stage == Stage::commit ? Stage::forget
                                                     : Stage::done;
  CHECK(!refused || transfer.stage == Stage::commit);
  route(transfer.request, was_at_target ? transfer.request.home : transfer.to);
}

void ShardLoop::route(Request& request, ShardId target) {
  if (target == port_->self()) {
    queued_.push_back(&request);
  } else {
    CHECK(raw(target) < port_->shards(), "shard {} of {}", raw(target), port_->shards());
    port_->send(target, {.kind = MeshMessage::Kind::request, .pointer = &request});
  }
}

void ShardLoop::resume_transfers(const std::vector<ResumedTransfer>& transfers) {
  CHECK(stats_.turns == 0, "after {} turns", stats_.turns);
  for (const auto& [unsettled, target] : transfers)
    queued_.push_back(&shard_->resume_transfer(unsettled, target).request);
}

Instant ShardLoop::next_deadline() {
  if (more_ || !queued_.empty() || shard_->armed(ShardPart::match) || port_->backlog() ||
      (unread_ > 0 && log_->bodies_due())) {
    return Instant{0};
  }
  const Instant timers = shard_->next_deadline();
  const bool later = timers != Instant{0} && timers != never;
  const Instant replay = shard_->armed(ShardPart::replay) ? replayer_.next_due() : never;
  const Instant fire = shard_->armed(ShardPart::schedules) ? scheduler_.next_due(now_) : never;
  Instant due = std::min({later ? timers + timers_late : timers, log_->next_due(), replay, fire});
  for (const Resting& one : resting_)
    due = std::min(due, one.request->receive.wait.ms == 0 ? Instant{0} : one.until);
  return due;
}

void ShardLoop::end_polls() {
  polls_end_ = true;
  shard_->release_waiters(effects_);
}

void ShardLoop::begin_drain() {
  draining_ = true;
  end_polls();
  replayer_.stop();
  scheduler_.stop();
  log_->flush_all();
}

bool ShardLoop::drained() const {
  return queued_.empty() && resting_.empty() && held_.empty() && waiting_.empty() && unread_ == 0 &&
         changes_.empty() && change_lines_.empty() && !port_->backlog() && !asks_others() &&
         !scheduler_.under_way() && !log_->pending();
}

}  // namespace pawl

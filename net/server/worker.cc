// SPDX-License-Identifier: Apache-2.0
#include "net/server/worker.h"

#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <utility>

#include "core/base/check.h"
#include "net/events/event_log.h"
#include "net/server/machine.h"
#include "net/server/policy_filter.h"
#include "net/server/remedy.h"

namespace pawl {
namespace {

constexpr unsigned completions_a_turn = 256;
constexpr std::uint64_t sleep_max_ns = 1'000'000'000;
constexpr std::uint64_t stop_sleep_ns = 1'000'000;
constexpr std::uint64_t drain_sleep_ns = 20'000'000;  // a drain may last long
constexpr std::uint64_t close_patience_us = 5'000'000;
constexpr std::uint64_t drain_patience_us = 15'000'000;  // for peers that do not read

}  // namespace

Worker::Worker(const WorkerOptions& options, WorkerShared& shared)
    : options_(options), shared_(&shared), idle_policy_(options.poll, options.spin_us) {
  CHECK(raw(options.id) < options.shards, "shard {} of {}", raw(options.id), options.shards);
  CHECK(options.shards == shared.open_counts.size(), "{} shards share the state of {}",
        options.shards, shared.open_counts.size());
  event_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd_ < 0) event_errno_ = errno;  // open() reports it
}

Worker::~Worker() {
  if (event_fd_ >= 0) ::close(event_fd_);
}

// Opens the ring, the disk and the log, in this order. Shard 0 chooses the ring for all.
std::expected<void, StartError> Worker::open(const Calibration* calibration) {
  if (options_.cpu >= 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<std::size_t>(options_.cpu), &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
  }
  if (event_errno_ != 0) {
    return std::unexpected(fmt::format("cannot make an eventfd: {}.{}", std::strerror(event_errno_),
                                       remedy_for(event_errno_)));
  }
  if (auto opened = open_ring(); !opened) return opened;
  if (auto opened = open_disk(calibration); !opened) return opened;
  make_engine();
  return recover_log();
}

std::expected<void, std::string> Worker::open_ring() {
  auto ring = options_.id == control_shard ? choose_ring(options_.io, shared_->ring)
                                           : Ring::create(shared_->ring.backend);
  if (!ring) {
    const bool may_fall_back = options_.io == IoWish::uring && is_refusal(ring.error().sys);
    return std::unexpected(
        explain_ring_error(ring.error()) +
        (may_fall_back ? " Or start with --io auto, which then uses threads." : ""));
  }
  ring_ = std::move(*ring);
  shared_->wake_handles[raw(options_.id)].store(ring_->wake_handle(), std::memory_order_relaxed);
  if (options_.lock >= 0) {
    if (const auto held = ring_->hold(options_.lock); !held)
      return std::unexpected(
          fmt::format("{}: {}", held.error().what, std::strerror(held.error().sys)));
  }
  return {};
}

// Without `calibration` measures the disk.
std::expected<void, StartError> Worker::open_disk(const Calibration* calibration) {
  const bool made = options_.identity.is_made(raw(options_.id));
  if (made && access(options_.directory.c_str(), F_OK) != 0 && errno == ENOENT) {
    report_.absence = LogAbsence::lost;
    return std::unexpected(
        StartError(fmt::format("{} is lost", options_.directory), StartFault::data));
  }
  auto disk = UringDisk::open_dir(*ring_, options_.directory);
  if (!disk) {
    return std::unexpected(fmt::format("cannot open {} ({}): {}.{}", options_.directory,
                                       disk.error().what, std::strerror(disk.error().sys),
                                       remedy_for(disk.error().sys)));
  }
  disk_ = std::move(*disk);
  disk_->set_descriptors_max(options_.descriptors_max);
  if (calibration != nullptr) {
    disk_->use(calibration_ = *calibration);
  } else if (!options_.measures_disk) {
    calibration_.measured = false;
  } else if (const auto measured = disk_->calibrate(); measured) {
    calibration_ = *measured;
  } else {
    return std::unexpected(fmt::format("cannot measure durable writes in {} ({}): {}.{}",
                                       options_.directory, measured.error().what,
                                       std::strerror(measured.error().sys),
                                       remedy_for(measured.error().sys)));
  }
  options_.log.flush_each_fill = !calibration_.flush_is_slow();
  return {};
}

void Worker::make_engine() {
  const DataIdentity& identity = options_.identity;
  ShardLimits limits = ShardLimits::for_memory(options_.log.memory_max);
  limits.account_queues_max = options_.account_queues_max;
  limits.labelled_queues_max = options_.metrics_queues;
  if (options_.strict_sqs) limits.deleted_name_wait = seconds(60);
  CHECK(engine_ == nullptr, "a worker is opened twice");
  engine_ = std::make_unique<ShardEngine>(
      ShardEngineOptions{
          .identity = {options_.id, options_.shards, identity.secret, std::random_device{}(),
                       identity.receipt_key, identity.upgraded},
          .limits = limits,
          .log = options_.log,
          .memory_max = options_.log.memory_max,
          .queue_ids_from = options_.id == control_shard ? identity.queue_ids_from : 0
  },
      shared_->clock.now());
}

std::expected<void, StartError> Worker::recover_log() {
  ShardRecovery recovery(engine_->shard(), &shared_->recoveries[raw(options_.id)]);
  std::string complaint;
  if (const auto opened = engine_->open(*disk_, recovery, complaint); !opened) {
    report_ = engine_->report();
    if (complaint.empty()) {
      complaint = fmt::format("{} ({}): {}", options_.directory, opened.error().what,
                              opened.error().sys != 0 ? std::strerror(opened.error().sys)
                                                      : name_of(opened.error().code).data());
    }
    return std::unexpected(log_error(complaint, opened.error()));
  }
  const auto& unreadable = engine_->report().unreadable_segments;
  numbers_.unreadable_segments.store(unreadable.size(), std::memory_order_relaxed);
  return {};
}

std::expected<void, StartError> Worker::adopt() {
  CHECK(opened(), "the log is opened before the directory is adopted");
  std::string complaint;
  if (const auto adopted = engine_->adopt(shared_->clock.now(), complaint); !adopted)
    return std::unexpected(log_error(complaint, adopted.error()));
  return {};
}

StartError Worker::log_error(const std::string& complaint, const Error& error) const {
  const std::string data = options_.directory.substr(0, options_.directory.rfind('/'));
  const std::string remedy = error.code == Errc::corrupt
                                 ? fmt::format(
                                       " `pawl wal verify {0}` lists all damage; `pawl wal repair "
                                       "{0}` shows the loss, and with --apply repairs the log.",
                                       data)
                                 : remedy_for(error.sys);
  const bool stays = error.code == Errc::corrupt || error.code == Errc::version;
  return {
      fmt::format("cannot open the log of shard {}: {}.{}", raw(options_.id), complaint, remedy),
      stays ? StartFault::data : StartFault::machine};
}

void Worker::arm_event() {
  io_uring_sqe* const sqe = ring_->sqe({.op = RingOp::event});
  io_uring_prep_poll_multishot(sqe, event_fd_, POLLIN);
}

void Worker::nudge() const {
  if (event_errno_ != 0) return;  // the worker never runs
  const std::uint64_t one = 1;
  // EAGAIN: the counter is full, so the eventfd is readable already.
  if (::write(event_fd_, &one, sizeof one) < 0)
    CHECK(errno == EAGAIN, "eventfd: {}", std::strerror(errno));
}

// --- the loop ------------------------------------------------------------------------------------

void Worker::run(const ConnectionContext& context, const std::vector<ListeningSocket>& listeners,
                 int own) {
  CHECK(opened() && port_ == nullptr, "a worker runs once, after open() and adopt()");
  port_ = std::make_unique<MeshPort>(shared_->mesh, options_.id);
  connections_ = std::make_unique<Connections>(*ring_, context);
  loop_ = &engine_->begin(*port_, *connections_);
  loop_->measure(phases_);
  loop_->filter_replays_with(filter_by_policy);
  schedule_reader_ = std::make_unique<DefinitionReader>(context.sqs, context.http_url);
  const Instant alive = engine_->alive_until();
  loop_->scheduler().read_with(*schedule_reader_, shared_->clock.schedule_shift(), alive,
                               shared_->clock.wall_before_start(alive) - alive,
                               shared_->fire_progress);
  connections_->use(*loop_);
  if (!listeners.empty()) {
    acceptor_ = std::make_unique<Acceptor>(*ring_, context, shared_->open_counts, *connections_,
                                           *loop_, options_.id);
    acceptor_->begin(listeners, own, shared_->admits);
  }
  arm_event();
  for (;;) {
    if (acceptor_) acceptor_->accept_if_admitted();
    const bool worked = turn();
    if (shared_->stage.load(std::memory_order_relaxed) != Stage::serving && drain_step()) break;
    idle(worked);
  }
  close_log();
  pulse_.end();
}

// Marks the log as cleanly closed, after its background work (preparing a segment) has ended.
void Worker::close_log() {
  CHECK(loop_->drained(), "the log is closed while requests need it");
  const std::uint64_t begun = steady_now_us();
  Result<void> closed = engine_->log().close_clean();
  while (!closed && closed.error().code == Errc::not_ready &&
         steady_now_us() - begun < close_patience_us) {
    ring_->wait(stop_sleep_ns);
    turn();
    closed = engine_->log().close_clean();
  }
  if (closed) return;
  emit(Event{
      EventCode::log_not_closed,
      fmt::format("shard {}: the log is complete but could not be marked as closed ({}): {}. The "
                  "next start reads all of it",
                  raw(options_.id), closed.error().what, std::strerror(closed.error().sys))}
           .with("shard", raw(options_.id))
           .with("errno", closed.error().sys));
}

void Worker::dispatch(RingTag tag, std::int32_t result, std::uint32_t flags) {
  switch (tag.op) {
    case RingOp::disk:
      return disk_->complete(tag, result);
    case RingOp::receive:
    case RingOp::send:
      return connections_->complete(tag, result, flags);
    case RingOp::accept:
      return acceptor_->complete(tag, result, flags);
    case RingOp::event: {
      std::uint64_t count = 0;
      if (::read(event_fd_, &count, sizeof count) < 0)
        CHECK(errno == EAGAIN, "eventfd: {}", std::strerror(errno));
      pulse_.beat();
      if ((flags & IORING_CQE_F_MORE) == 0) arm_event();
      return;
    }
    case RingOp::none:
      // A failed wake-up: the other shard's completion queue is full. It checks its mesh by itself,
      // at the latest when its sleep ends.
    case RingOp::cancel:
    case RingOp::wake:
      return;
  }
}

bool Worker::turn() {
  now_ = std::max(now_, shared_->clock.now());
  const std::uint64_t before_us = std::exchange(now_us_, steady_now_us());
  CHECK(now_us_ >= before_us, "the time goes back from {} to {} us", before_us, now_us_);
  phases_.begin_turn();
  phases_.begin(TurnSpan::arrive);
  connections_->begin_turn(now_, now_us_);
  const unsigned reaped = ring_->reap(
      completions_a_turn, [this](RingTag tag, std::int32_t result, std::uint32_t flags) {
        dispatch(tag, result, flags);
      });
  if (reaped > 0) now_ = std::max(now_, shared_->clock.now());  // no request began later
  phases_.end(TurnSpan::arrive);
  const bool worked = loop_->turn(now_, now_us_);
  if (loop_->log().failure()) die(*loop_->log().failure());
  phases_.begin(TurnSpan::leave);
  connections_->flush();
  wake_others();
  phases_.end(TurnSpan::leave);
  note_refusals();
  if (now_us_ - second_us_ > 1'000'000) second_passed();
  return worked || reaped > 0;
}

void Worker::wake_others() {
  for (std::uint64_t wakes = loop_->take_wakes(); wakes != 0; wakes &= wakes - 1) {
    const auto other = static_cast<std::size_t>(std::countr_zero(wakes));
    CHECK(other < options_.shards, "shard {} of {}", other, options_.shards);
    ring_->wake(shared_->wake_handles[other].load(std::memory_order_relaxed));
  }
}

void Worker::idle(bool worked) {
  const Instant due = loop_->next_deadline();
  const IdlePolicy::Next next =
      idle_policy_.after({.now_us = now_us_,
                          .worked = worked,
                          .due = due <= now_ || connections_->handshakes_wait(),
                          .writing = loop_->log().write_in_flight(),
                          .requests = loop_->stats().requests});
  if (next == IdlePolicy::Next::sleep) return sleep(due);
  phases_.begin(TurnSpan::submit);
  ring_->submit();
  phases_.end(TurnSpan::submit);
  if (next == IdlePolicy::Next::yield) yield();
  if (next == IdlePolicy::Next::step_aside) step_aside();
}

void Worker::yield() {
  const std::uint64_t before = steady_now_us();
  sched_yield();
  const std::uint64_t now = steady_now_us();
  if (now - before > numbers_.yield_us_max.load(std::memory_order_relaxed))
    numbers_.yield_us_max.store(now - before, std::memory_order_relaxed);
  idle_policy_.yielded(now, now - before);
}

// Sleeps briefly instead of yielding: beside a busy thread a yield costs whole ticks. Kernel
// threads that flush for this shard may need this core.
void Worker::step_aside() {
  const timespec least{.tv_sec = 0, .tv_nsec = 1};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &least, nullptr);
}

void Worker::sleep(Instant due) {
  if (!port_->try_sleep()) return ring_->submit();
  numbers_.sleeps.fetch_add(1, std::memory_order_relaxed);
  std::uint64_t timeout = stage_ == Stage::serving    ? sleep_max_ns
                          : stage_ == Stage::draining ? drain_sleep_ns
                                                      : stop_sleep_ns;
  if (due.ms - now_.ms < 1000)
    timeout = std::min(timeout, static_cast<std::uint64_t>(due.ms - now_.ms) * 1'000'000);
  ring_->wait(timeout);
  port_->awake();
}

// Runs every turn, so that /healthz is right from the first refused send on.
void Worker::note_refusals() {
  const std::uint64_t refused = loop_->stats().refused_for_space;
  if (refused == refused_for_space_) return;
  CHECK(refused > refused_for_space_, "{} refusals after {}", refused, refused_for_space_);
  refused_for_space_ = refused;
  refused_us_ = now_us_;
  if (out_of_space_) return;
  out_of_space_ = true;
  numbers_.disk_full.store(1, std::memory_order_relaxed);
  emit(Event{
      EventCode::disk_full,
      fmt::format("shard {}: sends are refused: there is no space for another segment in {}. "
                  "Receives and deletes continue. Free space on that disk, or delete messages.",
                  raw(options_.id), options_.directory)}
           .with("shard", raw(options_.id))
           .with("path", options_.directory));
}

void Worker::second_passed() {
  second_us_ = now_us_;
  connections_->tick(now_);
  if (acceptor_) acceptor_->second_passed();
  numbers_.take(loop_->stats());
  numbers_.take(loop_->scheduler().stats());
  numbers_.take(engine_->log().stats());
  numbers_.take(engine_->shard());
  numbers_.take(phases_);
  look_for_space();
  note_unreadable();
  note_files_set_aside();
  numbers_.take(*connections_);
  requests_.publish(connections_->requests());
}

void Worker::enter(Stage stage) {
  const bool first = stage_ == Stage::serving;
  stage_ = stage;
  drain_begun_us_ = now_us_;
  if (acceptor_) acceptor_->stop(stage);
  connections_->enter(stage);
  if (first) shared_->connections_told.fetch_add(1, std::memory_order_release);
}

// Long polls end when the connections of all shards know the stage: otherwise the response of
// another shard would not say `Connection: close`.
bool Worker::loop_follows() {
  if (loop_stage_ == stage_) return true;
  if (shared_->connections_told.load(std::memory_order_acquire) < options_.shards) return false;
  loop_stage_ = stage_;
  stage_ == Stage::stopping ? loop_->begin_drain() : loop_->end_polls();
  return true;
}

// Whether all accepted connections are here. The mesh passes them on in order, so they have come
// one turn after the acceptor has sent the last one.
bool Worker::all_arrived() {
  if (acceptor_ && acceptor_->ended() && !port_->backlog())
    shared_->accepting.store(false, std::memory_order_release);
  if (acceptor_ && !acceptor_->ended()) return false;
  return std::exchange(acceptor_ended_, !shared_->accepting.load(std::memory_order_acquire));
}

// Waits until this shard has sent all responses and asks nothing of other shards, which must
// outlive its transfers. Then waits for the same in all shards, then for the flush of the log.
bool Worker::drain_step() {
  const Stage stage = shared_->stage.load(std::memory_order_relaxed);
  if (stage != stage_) enter(stage);
  connections_->end_those_over();
  const bool ended = loop_follows() && all_arrived() && connections_->all_ended();
  idle_.store(ended, std::memory_order_relaxed);
  if (stage_ == Stage::draining) return false;
  if (!counted_as_quiet_ && now_us_ - drain_begun_us_ > drain_patience_us)
    connections_->close_all();
  if (!counted_as_quiet_ && ended && !loop_->asks_others()) {
    counted_as_quiet_ = true;
    connections_->serve_no_more();
    const std::uint32_t before = shared_->quiet.fetch_add(1, std::memory_order_release);
    CHECK(before < options_.shards, "{} shards are quiet of {}", before + 1, options_.shards);
  }
  if (shared_->quiet.load(std::memory_order_acquire) < options_.shards) return false;
  engine_->log().flush_all();
  return loop_->drained();
}

void Worker::die(const LogFailure& failure) const {
  emit_last(Event{
      EventCode::log_failed,
      fmt::format("shard {}: {} failed at lsn {} of {}: {} (errno {}). What was acknowledged is "
                  "on disk; nothing after it was. The process stops so that nothing is "
                  "acknowledged that is not. Check the disk, then start again.",
                  raw(options_.id), failure.what, failure.lsn, options_.directory,
                  std::strerror(failure.sys), failure.sys)}
                .with("shard", raw(options_.id))
                .with("path", options_.directory)
                .with("errno", failure.sys)
                .with("lsn", failure.lsn));
  std::_Exit(1);
}

}  // namespace pawl

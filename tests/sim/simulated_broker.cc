// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/simulated_broker.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/check.h"

namespace pawl::sim {
namespace {

// Adds the records that recovery reads to a hash.
class Listening final : public ShardRecovery {
 public:
  Listening(Shard& shard, std::uint64_t& said) : ShardRecovery(shard), said_(&said) {}
  using Freed = std::vector<LogPos>;

  void config(const ConfigRecord& record) override {
    say(1, raw(record.config->id), record.gone, 0);
    ShardRecovery::config(record);
  }
  void head(const HeadRecord& record) override {
    say(2, raw(record.queue), record.next_seq, 0);
    ShardRecovery::head(record);
  }
  void send(const SendRecord& record, Freed& freed) override {
    say(3, raw(record.queue), record.seq, record.position);
    ShardRecovery::send(record, freed);
  }
  void receive(const ReceiveRecord& record) override {
    say(4, raw(record.queue), record.seq, record.nonce);
    say(record.receive_count, static_cast<std::uint64_t>(record.deadline.ms), 0, 0);
    ShardRecovery::receive(record);
  }
  void delete_message(const DeleteRecord& record, Freed& freed) override {
    say(5, raw(record.queue), record.seq, 0);
    ShardRecovery::delete_message(record, freed);
  }
  void purge(const PurgeRecord& record, Freed& freed) override {
    say(6, raw(record.queue), record.below, static_cast<std::uint64_t>(record.at.ms));
    ShardRecovery::purge(record, freed);
  }
  void task(const TaskRecord& record, Freed& freed) override {
    say(7, raw(record.task.source), record.task.number, record.task.moved);
    ShardRecovery::task(record, freed);
  }
  void replay(const ReplayRecord& record) override {
    say(15, raw(record.task.source), record.task.number, record.task.sent);
    ShardRecovery::replay(record);
  }
  void forget_transfer(const ForgetTransferRecord& record) override {
    say(8, raw(record.from.shard), raw(record.from.queue), record.from.seq);
    ShardRecovery::forget_transfer(record);
  }
  void number(const NumberRecord& record) override {
    say(20, raw(record.topic), record.seq, 0);
    ShardRecovery::number(record);
  }
  void checkpoint(const CheckpointRecord& record) override {
    if (const auto* index_entries = std::get_if<IndexEntriesRecord>(&record)) {
      for (const auto& [seq, position] : index_entries->entries)
        say(9, raw(index_entries->queue), seq, position);
    } else if (const auto* tracked = std::get_if<TrackedMessagesRecord>(&record)) {
      for (const TrackedMessagesRecord::Entry& e : tracked->entries)
        say(10, raw(tracked->queue), e.seq, static_cast<std::uint64_t>(e.deadline.ms));
    }
    ShardRecovery::checkpoint(record);
  }

 private:
  void say(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    *said_ = mix(mix(mix(mix(*said_ ^ a) ^ b) ^ c) ^ d);
  }
  std::uint64_t* said_;
};

class OddMessages final : public MessageFilter {
 public:
  bool wants(const Content& content) const override {
    if (content.subscription != MessageId{}) return content.subscription.low % 2 == 1;
    return !content.attributes.empty() && (content.attributes.front() & 1) != 0;
  }
};

std::unique_ptr<MessageFilter> make_filter(std::string_view text) {
  return text == odd_filter ? std::make_unique<OddMessages>() : nullptr;
}

}  // namespace

SimulatedBroker::SimulatedBroker(const Plan& plan, Trace& trace, BrokerObserver& observer)
    : plan_(plan), trace_(&trace), observer_(&observer), random_(Random(plan.seed).split("world")) {
  for (std::uint8_t& byte : identity_.secret) byte = static_cast<std::uint8_t>(random_.below(256));
  for (std::uint8_t& byte : identity_.receipt_key)
    byte = static_cast<std::uint8_t>(random_.below(256));
  identity_.shards = plan.shards;
  identity_.segment_bytes = plan.log.segment_bytes;
  identity_.data_id = mix(plan.seed);
  SimDiskOptions root;
  root.seed = random_.next();
  root_ = std::make_unique<SimDisk>(root);
  for (std::uint32_t i = 0; i < plan.shards; ++i) {
    auto machine = std::make_unique<Machine>();
    SimDiskOptions disk = plan.disk;
    disk.seed = random_.next();
    machine->disk = std::make_unique<SimDisk>(disk);
    machine->disk->step(now_us_);
    machine->request_owner.world = this;
    machine->request_owner.home = ShardId{static_cast<std::uint8_t>(i)};
    machines_.push_back(std::move(machine));
  }
}

SimulatedBroker::~SimulatedBroker() { tear_down(); }

// --- the broker ---

Start SimulatedBroker::start(std::int64_t jump_ms) {
  CHECK(!up_);
  wall_ms_ahead_ += jump_ms;
  complaint_.clear();
  fingerprint_ = 0;
  if (!load_identity()) return Start::refused;
  clock_ = std::make_unique<EngineClock>(clocks_);
  if (identity_.clock.known() || identity_.made != 0) clock_->resume(identity_.clock, false);
  seen_ = {};
  std::vector<ShardEngine*> engines;
  for (std::uint32_t i = 0; i < plan_.shards; ++i) {
    if (const Start opened = open(i); opened != Start::up) return opened;
    engines.push_back(machines_[i]->engine.get());
  }
  clock_->settle(newest_frame(engines));
  check_clock();
  newest_now_ = std::max(newest_now_, now());
  mesh_ = std::make_unique<Mesh>(plan_.shards);
  share_directory(engines);
  for (ShardEngine* const engine : engines) {
    if (const auto adopted = engine->adopt(now(), complaint_); !adopted)
      return refused(adopted.error());
  }
  share_transfers(engines);
  fire_progress_ = std::make_unique<FireProgress>();
  if (auto noted = note_start(); !noted) return refused(noted.error());
  for (auto& machine : machines_) {
    machine->port = std::make_unique<MeshPort>(*mesh_, machine->request_owner.home);
    machine->engine->begin(*machine->port, machine->request_owner);
    machine->engine->loop().filter_replays_with(make_filter);
    if (schedules_ != nullptr) {
      const Instant alive = machine->engine->alive_until();
      machine->engine->loop().scheduler().read_with(*schedules_, clock_->schedule_shift(), alive,
                                                    clock_->wall_before_start(alive) - alive,
                                                    *fire_progress_);
    }
    machine->asleep = machine->drowsy = machine->kicked = machine->closed = false;
    machine->wake_at = UINT64_MAX;
    machine->stalled_until = 0;
    machine->due = never;
    machine->now = now();
    machine->fired = machine->now - ShardLoop::timers_late;
  }
  up_ = true;
  ++starts_;
  trace_->note("{} us: up, clock {}, said {}", now_us_, now().ms, fingerprint_);
  return Start::up;
}

Start SimulatedBroker::open(std::uint32_t shard) {
  Machine& machine = *machines_[shard];
  ShardEngineOptions options{
      .identity = {machine.request_owner.home, plan_.shards, identity_.secret,
                   static_cast<std::uint32_t>(random_.next()), identity_.receipt_key,
                   identity_.upgraded},
      .limits = {},
      .log = plan_.log,
      .memory_max = plan_.memory
  };
  options.log.stream = identity_.stream_of(shard);
  options.log.membership = identity_.membership_of(shard);
  options.limits.slice_entries = plan_.slice_entries;
  options.limits.labelled_queues_max = plan_.labelled_queues_max;
  options.limits.first_number = plan_.first_number;
  options.limits.calendar_horizon = plan_.calendar_horizon;
  options.limits.calendar_bits = plan_.calendar_bits;
  options.limits.slots_of_calendar_a_turn = plan_.slots_of_calendar_a_turn;
  if (plan_.strict) options.limits.deleted_name_wait = deleted_name_wait;
  if (plan_.memory != 0) {
    const ShardLimits limits = ShardLimits::for_memory(plan_.memory);
    options.limits.spare_bytes = limits.spare_bytes;
    options.limits.transfer_bytes_max = limits.transfer_bytes_max;
    options.limits.transfer_bytes_unread = limits.transfer_bytes_unread;
  }
  machine.engine = std::make_unique<ShardEngine>(options, now());
  std::uint64_t said = shard;
  Listening recovery(machine.engine->shard(), said);
  if (const auto opened = machine.engine->open(*machine.disk, recovery, complaint_); !opened) {
    trace_->note("{} us: shard {} does not start: {}", now_us_, shard, complaint_);
    return refused(opened.error());
  }
  fingerprint_ = mix(fingerprint_ ^ said);
  return Start::up;
}

Start SimulatedBroker::refused(const Error& error) {
  tear_down();
  return error.code == Errc::io ? Start::no_disk : Start::refused;
}

// A step of the wall clock changes nothing while the machine runs, and after a restart only when
// the wall clock is trusted.
void SimulatedBroker::check_clock() const {
  if (last_boots_ == 0) return;
  const Instant on_time =
      last_now_ + milliseconds(static_cast<std::int64_t>((now_us_ - last_now_us_) / 1000 + 1));
  // The time that the machine was off may be counted by a later startup than the first.
  const bool restarted = last_boots_ != boots_ || last_waited_;
  if (restarted && synchronised_) return;
  const Duration noted_within = milliseconds(restarted ? 1000 : 300);
  if (clock_->now() > on_time + noted_within)
    trace_->broken("a clock that is set ages nothing", "{} ms too far",
                   (clock_->now() - on_time).ms);
}

void SimulatedBroker::tear_down() {
  if (up_) {
    last_now_ = now();
    last_now_us_ = now_us_;
    last_boots_ = boots_;
    last_waited_ = clock_->anchor().boot_id != clocks_.boot_id();
  }
  for (auto& machine : machines_) {
    if (!machine->engine) continue;
    if (machine->engine->opened()) {
      bodies_read_ += machine->engine->log().stats().bodies_read;
      relocated_ += machine->engine->log().stats().relocated_bytes;
    }
    machine->engine.reset();
    machine->port.reset();
  }
  mesh_.reset();
  up_ = false;
}

void SimulatedBroker::crash(Crash kind) {
  trace_->note("{} us: crash, {}", now_us_, kind == Crash::power ? "power" : "process");
  tear_down();
  root_->crash(kind);
  for (auto& machine : machines_) machine->disk->crash(kind);
  if (kind != Crash::power) return;
  boot_us_ = now_us_;
  ++boots_;
  synchronised_ = random_.chance(2, 3);
}

// --- the data directory, as net/server/data_dir.cc reads and writes it ---

bool SimulatedBroker::load_identity() {
  const auto file = root_->open(DataIdentity::file_name);
  if (!file) return true;  // a new one, as the constructor made it
  std::array<std::byte, DataIdentity::file_bytes> bytes;
  const auto read = root_->read_now(*file, 0, bytes);
  root_->close(*file);
  CHECK(read.has_value());
  const auto identity =
      read_identity(std::span(bytes).first(*read), std::string(DataIdentity::file_name));
  if (!identity) {
    complaint_ = identity.error();
    return false;
  }
  identity_ = *identity;
  return true;
}

Result<void> SimulatedBroker::store_identity(DataIdentity next) {
  const std::string name(DataIdentity::file_name);
  const bool is_new = !root_->exists(name);
  if (is_new && root_->exists("PAWL.tmp")) {
    if (auto removed = root_->remove("PAWL.tmp"); !removed) return removed;
  }
  const auto file = is_new ? root_->create("PAWL.tmp") : root_->open(name);
  if (!file) return std::unexpected(file.error());
  for (int i = 0; i < 2; ++i) {
    PageBlock block(block_bytes);
    const std::uint64_t offset = write_identity(Block(block.data(), block_bytes), next);
    if (auto written = root_->write_now(*file, offset, block.span()); !written) return written;
    if (auto synced = root_->sync_now(*file); !synced) return synced;
  }
  root_->close(*file);
  if (is_new) {
    if (auto renamed = root_->rename("PAWL.tmp", name); !renamed) return renamed;
    if (auto synced = root_->sync_dir_now(); !synced) return synced;
  }
  identity_ = next;
  identity_flipped_ = false;
  return {};
}

Result<void> SimulatedBroker::note_start() {
  DataIdentity next = identity_;
  ++next.starts;
  next.made = next.all_shards();
  next.clock = clock_->anchor();
  auto stored = store_identity(next);
  clock_->noted();
  return stored;
}

void SimulatedBroker::flip_identity() {
  if (identity_flipped_ || !root_->exists(DataIdentity::file_name)) return;
  identity_flipped_ = true;
  root_->flip_bit(DataIdentity::file_name, random_.below(DataIdentity::file_bytes),
                  static_cast<unsigned>(random_.below(8)));
}

void SimulatedBroker::keep_copy(std::uint32_t shard) {
  Machine& machine = *machines_[shard];
  machine.older = machine.disk->copy_after_crash(Crash::process, random_.next());
  machine.older_start = identity_.starts;
}

// The manifest of a copy may have the number of the next startup, if that startup was interrupted.
bool SimulatedBroker::has_older_copy(std::uint32_t shard) const {
  return machines_[shard]->older && machines_[shard]->older_start + 1 < identity_.starts;
}

void SimulatedBroker::misplace(std::uint32_t shard, Misplaced how) {
  CHECK(!up_ && away_.empty());
  for (auto& machine : machines_) {
    away_.push_back(std::move(machine->disk));
    SimDiskOptions options = plan_.disk;
    options.seed = random_.next();
    machine->disk = std::make_unique<SimDisk>(options);
    machine->disk->step(now_us_);
  }
  const auto copy = [&](std::uint32_t from) {
    return away_[from]->copy_after_crash(Crash::process, random_.next());
  };
  for (std::uint32_t i = 0; i < plan_.shards && how != Misplaced::none_left; ++i)
    if (i != shard) machines_[i]->disk = copy(i);
  const std::uint32_t other = (shard + 1) % plan_.shards;
  if (how == Misplaced::of_another_time) {
    machines_[shard]->disk =
        machines_[shard]->older->copy_after_crash(Crash::process, random_.next());
  } else if (how == Misplaced::swapped && other != shard) {
    machines_[shard]->disk = copy(other);
    machines_[other]->disk = copy(shard);
  }
}

void SimulatedBroker::put_back() {
  for (std::uint32_t i = 0; i < plan_.shards; ++i) machines_[i]->disk = std::move(away_[i]);
  away_.clear();
}

bool SimulatedBroker::close_logs() {
  bool all = true;
  for (auto& machine : machines_) {
    if (machine->closed) continue;
    const Result<void> closed = machine->engine->log().close_clean();
    machine->closed = closed.has_value();
    all &= machine->closed;
    if (!closed && closed.error().code != Errc::not_ready)
      trace_->broken("a stop in order succeeds", "shard {}: {} errno {}",
                     raw(machine->request_owner.home), closed.error().what, closed.error().sys);
  }
  return all;
}

void SimulatedBroker::stopped() {
  for (const auto& machine : machines_) CHECK(machine->closed && machine->disk->in_flight() == 0);
  trace_->note("{} us: stopped", now_us_);
  tear_down();
}

// --- time and turns ---

std::uint64_t SimulatedBroker::at_us(Instant instant) const {
  if (instant == never) return UINT64_MAX;
  const std::int64_t us = clock_->running_us_at(instant) + static_cast<std::int64_t>(boot_us_);
  return us <= 0 ? 0 : static_cast<std::uint64_t>(us);
}

bool SimulatedBroker::runnable(std::uint32_t shard) const {
  const Machine& machine = *machines_[shard];
  if (!up_ || machine.closed || machine.stalled_until > now_us_) return false;
  return !machine.asleep || machine.kicked || machine.wake_at <= now_us_ || machine.due <= now();
}

// Other shards may run between a turn and the sleep after it: input that they send meanwhile must
// be seen.
bool SimulatedBroker::turn(std::uint32_t shard) {
  Machine& machine = *machines_[shard];
  if (machine.asleep) {
    machine.port->awake();
    machine.idle_turns = 0;
  } else if (std::exchange(machine.drowsy, false) && falls_asleep(machine)) {
    return true;
  }
  machine.asleep = machine.kicked = false;
  if (machine.wake_at <= now_us_) machine.wake_at = UINT64_MAX;
  Turn turn;
  turn.shard = machine.request_owner.home;
  turn.step = ++step_;
  turn.now = machine.now = std::max(machine.now, now());
  newest_now_ = std::max(newest_now_, turn.now);
  turn.fired = machine.fired;
  machine.held_before = bytes_held(machine);
  inside_turn_ = true;
  const bool worked = machine.engine->loop().turn(turn.now, now_us_);
  inside_turn_ = false;
  if (machine.request_owner.home == control_shard && now_us_ - followed_us_ > 1'000'000) {
    followed_us_ = now_us_;
    if (clock_->follow().changed) {
      DataIdentity next = identity_;
      next.clock = clock_->anchor();
      CHECK(store_identity(next).has_value());
      clock_->noted();
    }
  }
  const Instant due = machine.engine->loop().next_deadline();
  // A new wish for another turn at once is no idling yet.
  const Instant before = std::exchange(machine.due, due);
  const bool hurries = due <= turn.now && due != before;
  machine.idle_turns = worked || hurries ? 0 : machine.idle_turns + 1;
  if (due > turn.now || machine.engine->shard().next_deadline() > turn.now)
    machine.fired = turn.now - ShardLoop::timers_late;
  turn.fires = machine.fired;
  trace_->note("{} us: turn {} of shard {}, {}, due {}", now_us_, step_, shard,
               worked ? "worked" : "idle", due.ms);
  // A request decided after a message was set aside in this turn rightly misses the message.
  const bool set_aside = machine.engine->shard().set_aside() > 0;
  trace_->be_lenient(set_aside);
  observer_->on_turn(turn);
  trace_->be_lenient(false);
  if (set_aside) return false;
  if (machine.engine->loop().log().failure()) {
    trace_->note("shard {}: {} failed", shard, machine.engine->loop().log().failure()->what);
    return false;
  }
  for (std::uint64_t wakes = machine.engine->loop().take_wakes(); wakes != 0; wakes &= wakes - 1) {
    Machine& other = *machines_[static_cast<std::size_t>(std::countr_zero(wakes))];
    other.wake_at = std::min(other.wake_at, now_us_ + random_.between(0, plan_.wake_us_max));
  }
  machine.drowsy = due > turn.now && !random_.chance(plan_.extra_turns, 100);
  return true;
}

std::uint64_t SimulatedBroker::bytes_held(const Machine& machine) {
  ShardLoop& loop = machine.engine->loop();
  return loop.shard().memory().sum() + loop.log().stats().image_bytes;
}

bool SimulatedBroker::short_of_memory(ShardId shard, std::uint64_t bytes) const {
  const Machine& machine = *machines_[raw(shard)];
  const std::uint64_t held = std::max(machine.held_before, bytes_held(machine));
  const std::uint64_t limit = plan_.memory != 0 ? plan_.memory : plan_.log.memory_max;
  return held + bytes + plan_.log.extent_bytes >= limit - limit / 4;
}

// --- rot ---

void SimulatedBroker::flip(const Flip& flip) {
  trace_->note("disk {}: bit {} of byte {} of {} flips", flip.shard, flip.bit, flip.offset,
               flip.file);
  disk(flip.shard).flip_bit(flip.file, flip.offset, flip.bit);
  flip_ = flip;
  flip_->around = around(flip);
}

std::vector<std::byte> SimulatedBroker::around(const Flip& flip) const {
  const SimDisk& disk = *machines_[flip.shard]->disk;
  std::vector<std::byte> bytes(128);
  if (!disk.exists(flip.file)) return {};
  disk.peek(flip.file, flip.offset - std::min<std::uint64_t>(flip.offset, 64), bytes);
  return bytes;
}

bool SimulatedBroker::flipped() const { return flip_ && around(*flip_) == flip_->around; }

bool SimulatedBroker::flip_back() {
  const bool there = flipped();
  if (there) {
    trace_->note("disk {}: the bit flips back", flip_->shard);
    disk(flip_->shard).flip_bit(flip_->file, flip_->offset, flip_->bit);
  }
  flip_.reset();
  return there;
}

StoredMessage SimulatedBroker::stored(ShardId shard, QueueId queue, const Delivery& delivery) {
  Machine& machine = *machines_[raw(shard)];
  if (const std::byte* const record = machine.engine->log().in_memory(delivery.position)
                                          ? machine.engine->log().record(delivery.position)
                                          : nullptr) {
    return trusted_message(record, queue);
  }
  const LogOptions& log = plan_.log;
  const Lsn position = full_position(delivery.position, machine.engine->log().appended());
  const std::string file = segment_name(position / log.segment_bytes);
  const std::uint64_t offset = position % log.segment_bytes;
  extent_.resize(log.extent_bytes);
  const std::span<std::byte> bytes =
      std::span(extent_).first(log.extent_bytes - offset % log.extent_bytes);
  machine.disk->peek(file, offset, bytes);
  if (flipped() && flip_->shard == raw(shard) && flip_->file == file && flip_->offset >= offset &&
      flip_->offset - offset < bytes.size())
    bytes[flip_->offset - offset] ^= std::byte(1u << flip_->bit);
  return trusted_message(bytes.data(), queue);
}

// --- time ---

bool SimulatedBroker::falls_asleep(Machine& machine) {
  if (machine.kicked || machine.due <= now()) return false;  // not kicked: `due` has not changed
  machine.asleep = machine.port->try_sleep();
  return machine.asleep;
}

void SimulatedBroker::advance(std::uint64_t us) {
  now_us_ += us;
  for (auto& machine : machines_) {
    const std::size_t before = machine->disk->in_flight();
    machine->disk->step(now_us_);
    if (machine->disk->in_flight() != before) machine->kicked = true;
  }
}

std::uint64_t SimulatedBroker::next_event(bool with_timers) const {
  std::uint64_t next = UINT64_MAX;
  for (const auto& machine : machines_) {
    const auto consider = [&](std::uint64_t us) {
      const std::uint64_t at = us == UINT64_MAX ? us : std::max(us, machine->stalled_until);
      if (at > now_us_) next = std::min(next, at);
    };
    next = std::min(next, machine->disk->next_due().value_or(UINT64_MAX));
    consider(!machine->asleep || machine->kicked ? 0 : machine->wake_at);
    if (with_timers) consider(at_us(machine->due));  // also for spinning shards
  }
  return next;
}

void SimulatedBroker::unstall() {
  for (auto& machine : machines_) machine->stalled_until = 0;
}

// --- requests ---

void SimulatedBroker::submit(Request& request, ShardId home, ShardId target) {
  machines_[raw(home)]->engine->loop().submit(request, target);
  if (!inside_turn_) kick(raw(home));  // otherwise the turn under way must handle it
}

bool SimulatedBroker::cancel(Request& request, ShardId home, ShardId target) {
  if (!inside_turn_) kick(raw(home));
  return machines_[raw(home)]->engine->loop().cancel(request, target);
}

}  // namespace pawl::sim

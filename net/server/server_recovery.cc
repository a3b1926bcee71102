// SPDX-License-Identifier: Apache-2.0
// The recovery of all shards of a server, from their logs to the state that is ready to serve.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>

#include "core/base/check.h"
#include "net/admin/admin_connection.h"
#include "net/io/resource_limits.h"
#include "net/server/absent_log.h"
#include "net/server/file_access.h"
#include "net/server/machine.h"
#include "net/server/process_limits.h"
#include "net/server/recovery_events.h"
#include "net/server/server.h"
#include "net/server/start_watch.h"

namespace pawl {
namespace {

// Most connections: the open files limit, less a quarter for the logs (log_descriptors()) and the
// share of the admin port. `explicit_max`: 0 if there is none.
std::uint32_t connections_allowed(std::uint32_t explicit_max) {
  const std::uint32_t asked = explicit_max != 0 ? explicit_max : ServerOptions::connections_default;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return asked;
  constexpr std::uint64_t admin = WorkerShared::admin_connections_max;
  const std::uint64_t share = files.rlim_cur - files.rlim_cur / 4;
  const std::uint64_t most = share > 2 * admin ? share - admin : share;
  if (asked <= most) return asked;
  if (explicit_max != 0)
    emit(Event{
        EventCode::connections_limited,
        fmt::format("the limit of connections is {} instead of {}: this process may open {} "
                    "files, of which a quarter is for the logs and {} for the admin port. Raise "
                    "the limit of files for more (ulimit -n, LimitNOFILE).",
                    most, asked, files.rlim_cur, share - most)}
             .with("connections", most)
             .with("asked", asked)
             .with("files", files.rlim_cur));
  return static_cast<std::uint32_t>(most);
}

Event calibration_event(const Calibration& calibration) {
  if (!calibration.measured) {
    return Event{
        EventCode::disk_not_calibrated,
        fmt::format("the disk is full: durable writes were not measured; using {}. Receives "
                    "and deletes work; free space on the disk for sends",
                    name_of(calibration.kind))}
        .with("flush", name_of(calibration.kind));
  }
  return Event{
      EventCode::disk_calibrated,
      fmt::format("durable 4 KiB write beside a busy loop: linked fdatasync {:.0f} us, dsync "
                  "{:.0f} us; the device shows {}FUA; using {}{}",
                  calibration.linked_us, calibration.dsync_us, calibration.fua ? "" : "no ",
                  name_of(calibration.kind),
                  calibration.direct ? "" : " (no O_DIRECT here: through the page cache)")}
      .with("flush", name_of(calibration.kind))
      .with("linked_us", std::lround(calibration.linked_us))
      .with("dsync_us", std::lround(calibration.dsync_us));
}

}  // namespace

std::uint64_t Server::memory_of_shard() const {
  CHECK(data_->identity().shards > 0, "a data directory without shards");
  return (options_.memory != 0 ? options_.memory : memory_shares_.messages) /
         data_->identity().shards;
}

ConnectionContext Server::context_of(std::uint32_t shard, std::uint64_t boot_id) {
  const DataIdentity& identity = data_->identity();
  CHECK(shard < identity.shards, "shard {} of {}", shard, identity.shards);
  CHECK(guard_ != nullptr, "the guards are made before recovery");
  CHECK(admin_guard_ != nullptr, "the guards are made before recovery");
  ConnectionContext context;
  context.sqs.account = options_.account;
  context.sqs.region = options_.region;
  context.sqs.base_url = options_.base_url;
  context.sqs.strict_sqs = options_.strict_sqs;
  if (options_.dev) context.sqs.dev = this;
  context.sqs.secret = identity.secret;
  context.sqs.shift = context.session.shift = &shared_->clock.shift();
  context.sqs.declare = declare_with(options_.declared, context.sqs);
  context.session.account = options_.account;
  context.session.secret = identity.secret;
  context.session.home = ShardId{static_cast<std::uint8_t>(shard)};
  context.session.shards = identity.shards;
  context.session.boot_id = boot_id;
  context.guard = guard_.get();
  context.admin_guard = admin_guard_.get();
  context.admin_tls = options_.admin_tls;
  context.http_url =
      fmt::format("{}://{}", options_.tls_key.empty() ? "http" : "https", address(Protocol::http));
  context.settings = settings_.get();
  context.times = options_.times;
  context.memory_max = std::max(memory_shares_.connections, memory_of_shard() / 8);
  context.open_count = &shared_->open_counts[shard];
  context.connection_limits = &shared_->connection_limits;
  context.admin_connection_limits = &shared_->admin_connection_limits;
  context.admin = admin_port(admin_facts_);
  return context;
}

// Blocks until all shards are recovered. The steps of a shard are in run_shard().
std::expected<void, StartError> Server::recover() {
  const auto begun = std::chrono::steady_clock::now();
  if (auto limited = limit_server_files(options_); !limited)
    return std::unexpected(limited.error());
  make_shared_state();
  const auto admin = std::ranges::find(listeners_, Protocol::admin, &Listener::protocol);
  CHECK(admin != listeners_.end(), "the ports are bound before recovery");
  const StartWatch watch(
      {admin->fd, *admin_guard_, options_.admin_tls ? settings_->current().tls : nullptr},
      shared_->recoveries);
  make_workers();
  start_threads();
  let_signals(Ends::recovery);
  phases_->opened.wait();
  let_signals(Ends::wait);
  note_absent_logs();
  if (auto opened = end_if_failed(phases_->adopt); !opened) return opened;
  report_recoveries();
  const std::vector<ShardEngine*> recovered = engines();
  shared_->clock.settle(newest_frame(recovered));
  share_directory(recovered);
  phases_->adopt.count_down();
  phases_->adopted.wait();
  if (auto adopted = end_if_failed(phases_->run); !adopted) return adopted;
  share_transfers(recovered);
  if (auto noted = note_start(); !noted) {
    phases_->errors[0] = noted.error();
    return end_if_failed(phases_->run);
  }
  note_unserved_accounts();
  for (const ShardEngine* const engine : recovered)
    recovered_messages_ += engine->shard().messages();
  recovery_ms_ = std::chrono::duration_cast<std::chrono::milliseconds>(
                     std::chrono::steady_clock::now() - begun)
                     .count();
  return {};
}

void Server::make_shared_state() {
  CHECK(shared_ == nullptr, "the shared state is made once");
  const DataIdentity& identity = data_->identity();
  const std::uint32_t all = connections_allowed(options_.connections_max);
  const std::uint32_t each = options_.address_connections_max;
  shared_ = std::make_unique<WorkerShared>(identity.shards, all, each != 0 ? each : all - all / 4);
  phases_ = std::make_unique<Phases>(identity.shards);
  memory_shares_ = memory_shares(usable_memory(), identity.shards);
  if (identity.clock.known() || identity.made != 0)
    shared_->clock.resume(identity.clock, options_.trust_clock);
}

WorkerOptions Server::worker_options(std::uint32_t shard, const std::vector<int>& cpus) const {
  const DataIdentity& identity = data_->identity();
  CHECK(shard < identity.shards, "shard {} of {}", shard, identity.shards);
  WorkerOptions worker;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0)
    worker.descriptors_max = log_descriptors(files.rlim_cur, identity.shards);
  worker.id = ShardId{static_cast<std::uint8_t>(shard)};
  worker.shards = identity.shards;
  worker.directory = data_->shard_path(shard);
  worker.lock = data_->lock();
  worker.identity = identity;
  worker.log.stream = identity.stream_of(shard);
  worker.log.membership = identity.membership_of(shard);
  worker.log.segment_bytes = identity.segment_bytes;
  worker.log.spare_segments = options_.spare_segments;
  worker.log.memory_max = memory_of_shard();
  worker.strict_sqs = options_.strict_sqs;
  worker.measures_disk = !options_.dev;
  worker.metrics_queues = options_.metrics_queues;
  if (options_.account_queues_max > 0) {
    worker.account_queues_max = options_.account_queues_max;
  } else if (options_.load_keys) {
    worker.account_queues_max /= 2;
  }
  worker.io = options_.io == "uring"     ? IoWish::uring
              : options_.io == "threads" ? IoWish::threads
                                         : IoWish::automatic;
  worker.poll = options_.poll == "always"  ? Poll::spin
                : options_.poll == "never" ? Poll::block
                                           : Poll::automatic;
  if (identity.shards <= cpus.size()) {
    worker.cpu = cpus[shard];
  } else {
    worker.poll =
        worker.poll == Poll::automatic ? Poll::block : worker.poll;  // more shards than cores
  }
  return worker;
}

void Server::make_workers() {
  const std::vector<int> cpus = allowed_cpus();
  const std::uint64_t boot_id = std::random_device{}() | std::uint64_t{std::random_device{}()}
                                                             << 32;
  CHECK(workers_.empty() && contexts_.empty(), "the workers are made once");
  for (std::uint32_t i = 0; i < data_->identity().shards; ++i) {
    workers_.push_back(std::make_unique<Worker>(worker_options(i, cpus), *shared_));
    contexts_.push_back(context_of(i, boot_id));
  }
}

void Server::start_threads() {
  CHECK(threads_.empty(), "the threads are started once");
  let_signals(Ends::wait);  // the threads inherit this mask
  for (std::uint32_t i = 0; i < workers_.size(); ++i)
    threads_.emplace_back([this, i] { run_shard(i); });
}

// The thread of a shard: opens its log, adopts the shared directory, serves until the server stops.
void Server::run_shard(std::uint32_t shard) {
  CHECK(shard < workers_.size(), "shard {} of {}", shard, workers_.size());
  CHECK(workers_.size() == contexts_.size(), "{} contexts of {} shards", contexts_.size(),
        workers_.size());
  Worker& worker = *workers_[shard];
  Phases& phases = *phases_;
  if (shard != 0) phases.calibrated.wait();
  const auto opened = worker.open(shard == 0 ? nullptr : &workers_[0]->calibration());
  if (shard == 0) phases.calibrated.count_down();
  if (!opened) phases.errors[shard] = opened.error();
  phases.opened.count_down();
  phases.adopt.wait();
  if (phases.failed) return;
  if (const auto adopted = worker.adopt(); !adopted) phases.errors[shard] = adopted.error();
  phases.adopted.count_down();
  phases.run.wait();
  if (phases.failed) return;
  std::vector<ListeningSocket> listeners;
  if (shard == 0) {
    for (const Listener& listener : listeners_)
      listeners.push_back({listener.fd, listener.protocol, listener.handed});
  }
  const int own = shard == 0 && declared_ ? declared_->shard_end() : -1;
  worker.run(contexts_[shard], listeners, own);
}

// If a shard failed: opens `gate`, at which the shards wait, and joins their threads.
std::expected<void, StartError> Server::end_if_failed(std::latch& gate) {
  const auto error = std::ranges::find_if(phases_->errors, &StartError::failed);
  if (error == phases_->errors.end()) return {};
  phases_->failed = true;
  gate.count_down();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  return std::unexpected(*error);
}

std::vector<ShardEngine*> Server::engines() const {
  std::vector<ShardEngine*> engines;
  for (const auto& worker : workers_) engines.push_back(&worker->engine());
  return engines;
}

// Reports the calibration of the disk, and damage found in the logs.
void Server::report_recoveries() const {
  if (shared_->ring.error != 0)
    emit(Event{EventCode::io_uring_refused, fallback_text(shared_->ring)}.with(
        "errno", shared_->ring.error));
  if (!options_.dev) emit(calibration_event(workers_[0]->calibration()));
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    CHECK(workers_[i]->opened(), "shard {} has no log", i);
    const RecoveryReport& report = workers_[i]->engine().report();
    for (Event& event : recovery_events(report, static_cast<std::uint32_t>(i), options_.data))
      emit(std::move(event));
  }
}

// Reports lost or foreign logs before any other error, with the queues in them.
void Server::note_absent_logs() {
  std::vector<const Shard*> shards;
  for (const auto& worker : workers_)
    shards.push_back(worker->opened() ? &worker->engine().shard() : nullptr);
  std::string absent;
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    const RecoveryReport& report = workers_[i]->report();
    if (report.absence == LogAbsence::none) continue;
    absent += absent.empty() ? "" : ".\n";
    absent += describe_absent_log(options_.data, data_->identity(), i, report, shards);
  }
  if (!absent.empty()) phases_->errors[0] = StartError(absent, StartFault::data);
}

// Warns of queues whose account is not served: they appear in no list.
void Server::note_unserved_accounts() const {
  std::map<std::string, std::size_t> queues;
  const auto keys = settings_->current().keys;
  workers_[0]->engine().shard().directory().for_each([&](const ConfigPtr& config) {
    const std::string account(owning_account(config->account));
    const bool served = keys ? keys->serves(account) : account == options_.account;
    if (!served) ++queues[account];
  });
  for (const auto& [account, count] : queues) {
    emit(Event{
        EventCode::account_not_served,
        fmt::format(
            "{} has {} queue{} and topics of account {}, which {}, so no list shows them. Start "
            "with {} to serve them",
            options_.data, count, count == 1 ? "" : "s", account,
            keys ? "no access key signs for" : fmt::format("is not --account {}", options_.account),
            keys ? "a key for that account" : fmt::format("--account {}", account))}
             .with("path", options_.data)
             .with("account", account)
             .with("queues", count));
  }
}

// Writes the number of this startup to PAWL, after all manifests have it, and marks all logs as
// made.
std::expected<void, std::string> Server::note_start() {
  EngineClock& clock = shared_->clock;
  DataIdentity next = data_->identity();
  CHECK(next.shards == workers_.size(), "{} of {} logs are open", workers_.size(), next.shards);
  ++next.starts;
  next.made = next.all_shards();
  next.clock = clock.anchor();
  if (next.upgraded == never) next.upgraded = workers_[0]->engine().shard().upgraded();
  if (auto written = data_->write(next); !written) return written;
  clock.noted();
  for (const ClockFault& fault : clock_faults())
    emit(Event{EventCode::clock_hidden, fmt::format("{}. {}", fault.what, fault.remedy)});
  if (clock.waits()) {
    emit(Event{
        EventCode::clock_waits,
        fmt::format(
            "by the wall clock {} s have passed since pawl ended, but the machine was restarted "
            "since, and its kernel does not report a synchronised clock. These seconds count for "
            "retention, delays and timeouts as soon as it does, when the clock was not set for "
            "{} minutes, or after a start with --trust-clock yes",
            clock.uncounted_us() / 1'000'000, EngineClock::steady_us / 60'000'000)}
             .with("uncounted_us", clock.uncounted_us()));
  }
  return {};
}

}  // namespace pawl

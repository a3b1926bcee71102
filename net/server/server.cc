// SPDX-License-Identifier: Apache-2.0
#include "net/server/server.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <latch>
#include <map>
#include <random>

#include "core/check.h"
#include "net/io/listen.h"
#include "net/server/absent_log.h"
#include "net/server/machine.h"
#include "net/server/process_limits.h"
#include "net/server/start_watch.h"

namespace pawl {

// Startup phases shared by server and workers: opened -> adopted -> running.
struct Server::Phases {
  explicit Phases(std::ptrdiff_t workers)
      : opened(workers), adopted(workers), errors(static_cast<std::size_t>(workers)) {}
  std::latch calibrated{1};  // shard 0 has measured the disk for all
  std::latch opened;
  std::latch adopt{1};
  std::latch adopted;
  std::latch run{1};
  bool failed = false;  // written by the server before it opens `adopt` or `run`
  std::vector<std::string> errors;
};

namespace {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) cpus.push_back(i);
  }
  return cpus;
}

constexpr std::uint64_t connections_memory_min = std::uint64_t{64} << 20;  // per shard

// Half of the machine's memory, the cgroup's or the address space limit, whichever is least.
std::uint64_t default_memory() {
  struct sysinfo info{};
  sysinfo(&info);
  std::uint64_t total = std::uint64_t{info.totalram} * info.mem_unit;
  std::ifstream limit("/sys/fs/cgroup/memory.max");
  std::string text;
  if (std::uint64_t bytes = 0; limit >> text) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (error == std::errc() && end == text.data() + text.size()) total = std::min(total, bytes);
  }
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0) total = std::min<std::uint64_t>(total, space.rlim_cur);
  return total / 2;
}

// Most connections: the open files limit, less a quarter for the logs (log_descriptors()) and the
// share of the admin port.
std::uint32_t connections_allowed(std::uint32_t asked) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return asked;
  constexpr std::uint64_t admin = WorkerShared::admin_connections_max;
  const std::uint64_t share = files.rlim_cur - files.rlim_cur / 4;
  const std::uint64_t most = share > 2 * admin ? share - admin : share;
  if (asked <= most) return asked;
  if (asked != ServerOptions{}.connections_max)  // only an explicit number deserves a warning
    fmt::print(stderr,
               "pawl: the limit of connections is {} instead of {}: this process may open {} "
               "files, of which a quarter is for the logs and {} for the admin port. Raise the "
               "limit of files for more (ulimit -n, LimitNOFILE).\n",
               most, asked, files.rlim_cur, share - most);
  return static_cast<std::uint32_t>(most);
}

// While `on`, SIGTERM and SIGINT end the process at once. During recovery nothing has been
// acknowledged yet; during a drain acknowledged changes are as durable as their queues promise. A
// handler is needed, because process 1 of a container has no default action.
void ends_at_once(bool on) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  struct sigaction action{};
  action.sa_handler = on ? [](int taken) { _exit(128 + taken); } : SIG_DFL;
  if (!on) pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  if (on) pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
}

std::string calibration_text(const Calibration& calibration) {
  if (!calibration.measured) {
    return fmt::format(
        "pawl: the disk is full: durable writes were not measured; using {}. Receives and deletes "
        "work; free space on the disk for sends\n",
        name_of(calibration.kind));
  }
  return fmt::format(
      "pawl: durable 4 KiB write beside a busy loop: linked fdatasync {:.0f} us, dsync "
      "{:.0f} us; the "
      "device has {}FUA; using {}{}\n",
      calibration.linked_us, calibration.dsync_us, calibration.fua ? "" : "no ",
      name_of(calibration.kind),
      calibration.direct ? "" : " (no O_DIRECT here: through the page cache)");
}

}  // namespace

std::expected<std::unique_ptr<Server>, std::string> Server::start(const ServerOptions& options) {
  std::unique_ptr<Server> server(new Server(options));
  if (options.shards > shards_max) {
    return std::unexpected(
        fmt::format("--shards {}: at most {} shards are possible. Name a smaller number",
                    options.shards, shards_max));
  }
  // Threads inherit this mask: only run() takes signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A stray signal must not end a server that holds messages.
  for (const int ignored : {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM}) signal(ignored, SIG_IGN);
  ends_at_once(true);
  rlimit files{};  // connections need descriptors: use the hard limit
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }

  auto tls = server->load_tls();
  if (!tls) return std::unexpected(tls.error());
  auto keys = server->load_keys();
  if (!keys) return std::unexpected(keys.error());
  server->settings_ = std::make_unique<ReloadableSettings>(
      ReloadableSettings::Values{std::move(*tls), std::move(*keys)});
  if (auto bound = server->bind_all(); !bound) return std::unexpected(bound.error());
  if (auto made = server->make_guards(); !made) return std::unexpected(made.error());
  const auto cpus = allowed_cpus();
  const auto shards = options.shards != 0
                          ? options.shards
                          : std::clamp<unsigned>(static_cast<unsigned>(cpus.size()), 1, shards_max);
  if (auto fits = check_process_limits(shards, options.memory); !fits)
    return std::unexpected(fits.error());
  auto data = DataDir::open(options.data, shards, options.segment_bytes);
  if (!data) return std::unexpected(data.error());
  server->data_ = std::move(*data);
  server->data_->note_process();
  if (const std::string risk = copy_on_write_warning(options.data); !risk.empty())
    fmt::print(stderr, "pawl: {}: {}. {}\n", options.data, risk, copy_on_write_remedy);
  const std::uint32_t made_with = server->data_->identity().shards;
  if (options.shards != 0 && options.shards != made_with) {
    return std::unexpected(
        fmt::format("{} was made with {} shards, but --shards is {}: the number of a data "
                    "directory is fixed. Omit --shards, or name another directory with --data",
                    options.data, made_with, options.shards));
  }
  if (made_with > shards) {
    if (auto fits = check_process_limits(made_with, options.memory); !fits)
      return std::unexpected(fits.error());
  }
  if (auto recovered = server->recover(); !recovered) return std::unexpected(recovered.error());
  if (auto launched = server->launch(); !launched) return std::unexpected(launched.error());
  return server;
}

std::expected<void, std::string> Server::bind_all() {
  const std::pair<const char*, std::pair<const std::string*, Protocol>> wanted[] = {
      {"http",   {&options_.http, Protocol::http}    },
      {"admin",  {&options_.admin, Protocol::admin}  },
      {"binary", {&options_.binary, Protocol::binary}}
  };
  for (const auto& [flag, what] : wanted) {
    const bool asked = options_.auth == "sigv4" && what.second != Protocol::admin;
    const auto fd = bind_to(flag, *what.first, asked || options_.insecure_no_auth);
    if (!fd) return std::unexpected(fd.error());
    listeners_.push_back({*fd, what.second, address_text(*fd)});
  }
  return {};
}

Server::Loaded<TlsContext> Server::load_tls() const {
  if (options_.tls_certificate.empty() != options_.tls_key.empty()) {
    return std::unexpected(fmt::format("only {} is given: TLS needs both --tls-cert and --tls-key",
                                       options_.tls_key.empty() ? "--tls-cert" : "--tls-key"));
  }
  if (options_.tls_key.empty()) return nullptr;
  return TlsContext::load(options_.tls_certificate, options_.tls_key);
}

Server::Loaded<Keyring> Server::load_keys() const {
  if (options_.auth == "none") return nullptr;
  if (!options_.load_keys) return std::unexpected("--auth sigv4 needs access keys: --keys FILE");
  return options_.load_keys();
}

std::expected<void, std::string> Server::make_guards() {
  const std::pair<Protocol, std::unique_ptr<HttpGuard>*> wanted[] = {
      {Protocol::http,  &guard_      },
      {Protocol::admin, &admin_guard_}
  };
  for (const auto& [protocol, guard] : wanted) {
    HttpGuardRules rules;
    rules.ask = protocol == Protocol::admin || options_.auth == "none";
    rules.hosts = options_.allow_hosts;
    rules.origins = options_.allow_origins;
    const std::string& bound = address(protocol);
    rules.any_address = bound.starts_with("0.0.0.0:") || bound.starts_with("[::]:");
    rules.hosts.push_back(bound.substr(0, bound.rfind(':')));
    const std::string& given = protocol == Protocol::http ? options_.http : options_.admin;
    rules.hosts.push_back(given.substr(0, given.rfind(':')));
    for (const std::string& text : options_.trusted_proxies) {
      const std::optional<Network> network = Network::parse(text);
      if (!network) {
        return std::unexpected(fmt::format(
            "--trusted-proxy {}: neither an address nor a network such as 10.0.0.0/8", text));
      }
      rules.proxies.push_back(*network);
    }
    *guard = std::make_unique<HttpGuard>(std::move(rules));
  }
  return {};
}

std::uint64_t Server::memory_of_shard() const {
  return (options_.memory != 0 ? options_.memory : default_memory()) / data_->identity().shards;
}

ConnectionContext Server::context_of(std::uint32_t shard, std::uint64_t boot_id) {
  const DataIdentity& identity = data_->identity();
  ConnectionContext context;
  context.sqs.account = options_.account;
  context.sqs.region = options_.region;
  context.sqs.base_url = options_.base_url;
  context.sqs.secret = identity.secret;
  context.sqs.shift = context.session.shift = &shared_->clock.shift();
  context.session.account = options_.account;
  context.session.secret = identity.secret;
  context.session.home = ShardId{static_cast<std::uint8_t>(shard)};
  context.session.shards = identity.shards;
  context.session.boot_id = boot_id;
  context.guard = guard_.get();
  context.admin_guard = admin_guard_.get();
  context.http_url =
      fmt::format("{}://{}", options_.tls_key.empty() ? "http" : "https", address(Protocol::http));
  context.settings = settings_.get();
  context.times = options_.times;
  context.memory_max = std::max(connections_memory_min, memory_of_shard() / 8);
  context.open_count = &shared_->open_counts[shard];
  context.connection_limits = &shared_->connection_limits;
  context.admin_connection_limits = &shared_->admin_connection_limits;
  context.server = this;
  context.admin_answer = [](void* server, std::string_view path, int& status) {
    return static_cast<const Server*>(server)->admin_answer(path, status);
  };
  return context;
}

std::expected<void, std::string> Server::recover() {
  const auto begun = std::chrono::steady_clock::now();
  const DataIdentity& identity = data_->identity();
  const std::vector<int> cpus = allowed_cpus();
  const std::uint32_t all = connections_allowed(options_.connections_max);
  const std::uint32_t each = options_.address_connections_max;
  shared_ = std::make_unique<WorkerShared>(identity.shards, all, each != 0 ? each : all - all / 4);
  phases_ = std::make_unique<Phases>(identity.shards);
  if (identity.clock.known() || identity.made != 0)
    shared_->clock.resume(identity.clock, options_.trust_clock);
  const auto admin = std::ranges::find(listeners_, Protocol::admin, &Listener::protocol);
  const StartWatch watch(admin->fd, *admin_guard_, shared_->recoveries);
  const std::uint64_t boot_id = std::random_device{}() | std::uint64_t{std::random_device{}()}
                                                             << 32;
  rlimit files{};
  const bool limited = getrlimit(RLIMIT_NOFILE, &files) == 0;
  for (std::uint32_t i = 0; i < identity.shards; ++i) {
    WorkerOptions worker;
    if (limited) worker.descriptors_max = log_descriptors(files.rlim_cur, identity.shards);
    worker.id = ShardId{static_cast<std::uint8_t>(i)};
    worker.shards = identity.shards;
    worker.directory = data_->shard_path(i);
    worker.lock = data_->lock();
    worker.identity = identity;
    worker.log.stream = identity.stream_of(i);
    worker.log.membership = identity.membership_of(i);
    worker.log.segment_bytes = identity.segment_bytes;
    worker.log.memory_max = memory_of_shard();
    worker.strict_sqs = options_.strict_sqs;
    if (options_.account_queues_max > 0) {
      worker.account_queues_max = options_.account_queues_max;
    } else if (options_.load_keys) {
      worker.account_queues_max /= 2;
    }
    worker.poll = options_.poll == "always"  ? Poll::spin
                  : options_.poll == "never" ? Poll::block
                                             : Poll::automatic;
    if (identity.shards <= cpus.size()) {
      worker.cpu = cpus[i];
    } else {
      worker.poll =
          worker.poll == Poll::automatic ? Poll::block : worker.poll;  // more shards than cores
    }
    workers_.push_back(std::make_unique<Worker>(worker, *shared_));
    contexts_.push_back(context_of(i, boot_id));
  }
  ends_at_once(false);  // the threads inherit this mask
  for (std::uint32_t i = 0; i < identity.shards; ++i) {
    threads_.emplace_back([this, i] {
      Worker& worker = *workers_[i];
      Phases& phases = *phases_;
      if (i != 0) phases.calibrated.wait();
      const auto opened = worker.open(i == 0 ? nullptr : &workers_[0]->calibration());
      if (i == 0) phases.calibrated.count_down();
      if (!opened) phases.errors[i] = opened.error();
      phases.opened.count_down();
      phases.adopt.wait();
      if (phases.failed) return;
      if (const auto adopted = worker.adopt(); !adopted) phases.errors[i] = adopted.error();
      phases.adopted.count_down();
      phases.run.wait();
      if (phases.failed) return;
      std::vector<std::pair<int, Protocol>> listeners;
      if (i == 0) {
        for (const Listener& listener : listeners_)
          listeners.emplace_back(listener.fd, listener.protocol);
      }
      worker.run(contexts_[i], listeners);
    });
  }
  ends_at_once(true);
  phases_->opened.wait();
  ends_at_once(false);
  note_absent_logs();
  if (auto opened = end_if_failed(phases_->adopt); !opened) return opened;
  fmt::print(stderr, "{}", calibration_text(workers_[0]->calibration()));
  std::vector<ShardEngine*> engines;
  for (const auto& worker : workers_) engines.push_back(&worker->engine());
  for (std::size_t i = 0; i < engines.size(); ++i) {
    const RecoveryReport& report = engines[i]->report();
    for (const std::uint64_t segment : report.unreadable_segments) {
      fmt::print(stderr,
                 "pawl: shard {}: the header of segment {} is damaged: its messages may be "
                 "unreadable. Stop the server: `pawl wal verify {}` names them, `pawl wal repair` "
                 "sets them aside.\n",
                 i, segment_name(segment), options_.data);
    }
    if (report.passed_over != 0) {
      fmt::print(stderr,
                 "pawl: shard {}: skips {} optional parts of records that a newer version wrote; "
                 "the latest is {} {}\n",
                 i, report.passed_over, name_of(report.passed_over_latest.kind),
                 report.passed_over_latest.value);
    }
    if (report.torn_at != 0) {
      fmt::print(stderr,
                 "pawl: shard {}: the last write, at lsn {}, is incomplete and was cut off: the "
                 "process or the power ended during this write or within {} ms after it. In the "
                 "second case it may have been acknowledged\n",
                 i, report.torn_at, LogOptions{}.vouch_after.ms);
    }
  }
  shared_->clock.settle(newest_frame(engines));
  share_directory(engines);
  phases_->adopt.count_down();
  phases_->adopted.wait();
  if (auto adopted = end_if_failed(phases_->run); !adopted) return adopted;
  share_transfers(engines);
  if (auto noted = note_start(); !noted) {
    phases_->errors[0] = noted.error();
    return end_if_failed(phases_->run);
  }
  note_unserved_accounts();
  for (const ShardEngine* const engine : engines) recovered_messages_ += engine->shard().messages();
  recovery_ms_ = std::chrono::duration_cast<std::chrono::milliseconds>(
                     std::chrono::steady_clock::now() - begun)
                     .count();
  return {};
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
  if (!absent.empty()) phases_->errors[0] = absent;
}

// Warns of queues whose account is not served: they appear in no list.
void Server::note_unserved_accounts() const {
  std::map<std::string, std::size_t> queues;
  const auto keys = settings_->current().keys;
  workers_[0]->engine().shard().directory().for_each([&](const ConfigPtr& config) {
    const std::string account =
        config->account.substr(config->account.find('/') + 1);  // topics have "sns/<account>"
    const bool served = keys ? keys->serves(account) : account == options_.account;
    if (!served) ++queues[account];
  });
  for (const auto& [account, count] : queues) {
    fmt::print(
        stderr,
        "pawl: {} has {} queue{} and topics of account {}, which {}, so no list shows them. Start "
        "with {} to serve them\n",
        options_.data, count, count == 1 ? "" : "s", account,
        keys ? "no access key signs for" : fmt::format("is not --account {}", options_.account),
        keys ? "a key for that account" : fmt::format("--account {}", account));
  }
}

// Writes the number of this startup to PAWL, after all manifests have it, and marks all logs as
// made.
std::expected<void, std::string> Server::note_start() {
  EngineClock& clock = shared_->clock;
  DataIdentity next = data_->identity();
  ++next.starts;
  next.made = next.all_shards();
  next.clock = clock.anchor();
  if (next.upgraded == never) next.upgraded = workers_[0]->engine().shard().identity().upgraded;
  if (auto written = data_->write(next); !written) return written;
  clock.noted();
  if (clock.waits()) {
    fmt::print(stderr,
               "pawl: by the wall clock {} s have passed since pawl ended, but the machine was "
               "restarted since, and its kernel does not report a synchronised clock. These "
               "seconds count for retention, delays and timeouts as soon as it does, when the "
               "clock was not set for {} minutes, or after a start with --trust-clock yes\n",
               clock.uncounted_us() / 1'000'000, EngineClock::steady_us / 60'000'000);
  }
  return {};
}

// Called at least once a second.
void Server::follow_clock() {
  EngineClock& clock = shared_->clock;
  const EngineClock::Followed followed = clock.follow();
  if (followed.stepped_us != 0)
    fmt::print(stderr,
               "pawl: the wall clock was set by {:+} s; the age of messages does not change\n",
               followed.stepped_us / 1'000'000);
  if (followed.counted_us != 0)
    fmt::print(stderr, "pawl: the {} s that the machine was off count from now on\n",
               followed.counted_us / 1'000'000);
  if (!followed.changed) return;
  DataIdentity next = data_->identity();
  next.clock = clock.anchor();
  if (auto written = data_->write(next); !written) {
    fmt::print(stderr, "pawl: {}\n", written.error());
    return;
  }
  clock.noted();
}

// If a shard failed: opens `gate`, at which the shards wait, and joins their threads.
std::expected<void, std::string> Server::end_if_failed(std::latch& gate) {
  const auto error =
      std::ranges::find_if(phases_->errors, [](const std::string& e) { return !e.empty(); });
  if (error == phases_->errors.end()) return {};
  phases_->failed = true;
  gate.count_down();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  return std::unexpected(*error);
}

std::expected<void, std::string> Server::launch() {
  for (const Listener& listener : listeners_) {
    const int error = listen_on(listener.fd, 4096);
    if (error == 0) continue;
    phases_->errors[0] = fmt::format(
        "cannot listen on {}: {}. Another server took the port; stop it, or choose "
        "another port",
        listener.address, std::strerror(error));
    return end_if_failed(phases_->run);
  }
  phases_->run.count_down();
  return {};
}

std::string Server::ready_line() const {
  std::string line = R"({"event":"ready")";
  for (const Listener& listener : listeners_) {
    const char* name = listener.protocol == Protocol::http    ? "http"
                       : listener.protocol == Protocol::admin ? "admin"
                                                              : "binary";
    line += fmt::format(R"(,"{}":"{}")", name, listener.address);
  }
  return line + fmt::format(R"(,"shards":{},"recovered_messages":{},"recovery_ms":{}}})",
                            workers_.size(), recovered_messages_, recovery_ms_);
}

int Server::run() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  int taken = 0;
  constexpr timespec second{.tv_sec = 1, .tv_nsec = 0};
  do {
    taken = sigtimedwait(&signals, nullptr, &second);
    if (taken == SIGHUP) reload();
    follow_clock();
  } while (taken != SIGTERM && taken != SIGINT);
  fmt::print(stderr,
             "pawl: stops when all requests are answered; a second signal stops it at once\n");
  ends_at_once(true);
  stop();
  return 0;
}

void Server::reload() {
  ReloadableSettings::Values settings = settings_->current();
  const auto take = [](auto& current, auto loaded, const char* what) {
    if (loaded) {
      if (*loaded != nullptr) fmt::print(stderr, "pawl: SIGHUP: {} read again\n", what);
      current = std::move(*loaded);
    } else {
      fmt::print(stderr, "pawl: SIGHUP: not {}, which stay as they were: {}\n", what,
                 loaded.error());
    }
  };
  take(settings.tls, load_tls(), "certificate and key");
  take(settings.keys, load_keys(), "access keys");
  settings_->publish(std::move(settings));
  for (const auto& worker : workers_) worker->nudge();
}

void Server::stop() {
  shared_->stopping = true;
  // Shutting down the listening sockets ends their multishot accepts: no new connections.
  for (const Listener& listener : listeners_) ::shutdown(listener.fd, SHUT_RDWR);
  for (const auto& worker : workers_) worker->nudge();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

const std::string& Server::address(Protocol protocol) const {
  const auto found = std::ranges::find(listeners_, protocol, &Listener::protocol);
  CHECK(found != listeners_.end());
  return found->address;
}

Server::Server(const ServerOptions& options) : options_(options) {}

Server::~Server() {
  for (const Listener& listener : listeners_) ::close(listener.fd);
  CHECK(threads_.empty(), "a server is stopped before it goes");
}

std::string Server::admin_answer(std::string_view path, int& status) const {
  if (path == "/livez" || path == "/readyz") return "ok\n";
  std::vector<const ShardNumbers*> numbers;
  for (const auto& worker : workers_) numbers.push_back(&worker->numbers());
  if (path == "/metrics") return metrics_text(numbers);
  if (path == "/healthz") {
    std::string text = health_text(numbers);
    if (text != health_ok) status = 503;
    return text;
  }
  status = 404;
  return "not found; there are /livez /readyz /healthz /metrics\n";
}

}  // namespace pawl

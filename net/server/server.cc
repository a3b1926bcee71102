// SPDX-License-Identifier: Apache-2.0
#include "net/server/server.h"

#include <fmt/core.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "net/io/listen.h"
#include "net/io/unix_socket.h"
#include "net/server/machine.h"
#include "net/server/process_limits.h"
#include "net/server/service_manager.h"
#include "net/server/watchdog.h"

namespace pawl {

namespace {

constexpr timespec second{.tv_sec = 1, .tv_nsec = 0};
constexpr timespec drain_look{.tv_sec = 0, .tv_nsec = 20'000'000};

// The signals that run() takes.
sigset_t taken_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) sigaddset(&signals, each);
  return signals;
}

// Null: the admin port asks for no token.
std::expected<std::shared_ptr<const BearerToken>, std::string> load_admin_token(
    const ServerOptions& options) {
  if (!options.load_admin_token) return nullptr;
  return options.load_admin_token();
}

std::shared_ptr<const std::string> shared_text(std::span<const ToldSetting> settings) {
  return std::make_shared<const std::string>(settings_text(settings));
}

constexpr std::pair<const char*, Protocol> named_protocols[] = {
    {"http",   Protocol::http  },
    {"admin",  Protocol::admin },
    {"binary", Protocol::binary},
    {"unix",   Protocol::local }
};

}  // namespace

void Server::let_signals(Ends how) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  if (how == Ends::recovery) action.sa_handler = [](int taken) { _exit(128 + taken); };
  if (how == Ends::stop) action.sa_handler = [](int) { _exit(1); };
  if (how == Ends::wait) pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  if (how != Ends::wait) pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
}

std::expected<std::unique_ptr<Server>, StartError> Server::start(const ServerOptions& options) {
  std::unique_ptr<Server> server(new Server(options));
  if (options.shards > shards_max) {
    return std::unexpected(
        fmt::format("--shards {}: at most {} shards are possible. Name a smaller number",
                    options.shards, shards_max));
  }
  // Threads inherit this mask: only run() takes signals.
  const sigset_t signals = taken_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A stray signal must not end a server that holds messages.
  for (const int ignored : {SIGPIPE, SIGUSR1, SIGALRM}) signal(ignored, SIG_IGN);
  let_signals(Ends::recovery);
  rlimit files{};  // connections need descriptors: use the hard limit
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    reserve_descriptors(files.rlim_cur);
  }

  auto tls = server->load_tls();
  if (!tls) return std::unexpected(tls.error());
  auto keys = server->load_keys();
  if (!keys) return std::unexpected(keys.error());
  auto token = load_admin_token(options);
  if (!token) return std::unexpected(token.error());
  server->settings_ = std::make_unique<ReloadableSettings>(ReloadableSettings::Values{
      std::move(*tls), std::move(*keys), std::move(*token), shared_text(options.settings)});
  auto handed = take_handed_sockets();
  if (!handed) return std::unexpected(handed.error());
  server->handed_ = std::move(*handed);
  server->process_usage_.emplace();  // later, because its descriptors would look handed over
  if (auto bound = server->bind_all(); !bound) return std::unexpected(bound.error());
  if (auto made = server->make_guards(); !made) return std::unexpected(made.error());
  const auto cpus = allowed_cpus();
  const auto shards = options.shards != 0 ? options.shards
                      : options.dev
                          ? 1
                          : std::clamp<unsigned>(static_cast<unsigned>(cpus.size()), 1, shards_max);
  if (auto fits = check_process_limits(shards, options.memory); !fits)
    return std::unexpected(fits.error());
  server->event_writing_.emplace();
  warn_of_group_memory(options.memory, shards);
  auto data = DataDir::open(options.data, shards, options.segment_bytes);
  if (!data) return std::unexpected(data.error());
  server->data_ = std::move(*data);
  server->data_->note_process();
  if (const std::string risk = copy_on_write_warning(options.data); !risk.empty())
    emit(Event{EventCode::copy_on_write_disk,
               fmt::format("{}: {}. {}", options.data, risk, copy_on_write_remedy)}
             .with("path", options.data));
  const std::uint32_t made_with = server->data_->identity().shards;
  if (options.shards != 0 && options.shards != made_with) {
    return std::unexpected(StartError(
        fmt::format("{} was made with {} shards, but --shards is {}: the number of a data "
                    "directory is fixed. Omit --shards, or name another directory with --data",
                    options.data, made_with, options.shards),
        StartFault::data));
  }
  if (made_with > shards) {
    if (auto fits = check_process_limits(made_with, options.memory); !fits)
      return std::unexpected(fits.error());
  }
  if (auto recovered = server->recover(); !recovered) return std::unexpected(recovered.error());
  if (auto launched = server->launch(); !launched) return std::unexpected(launched.error());
  event_log().flush();  // its lines precede the ready line
  return server;
}

// True: the service manager has handed over a socket of this name.
std::expected<bool, std::string> Server::adopt(std::string_view name, Protocol protocol,
                                               bool guarded) {
  const auto found = std::ranges::find(handed_, name, &HandedSocket::name);
  if (found == handed_.end()) return false;
  if (protocol != Protocol::local) {
    if (auto fits = adopt_socket(found->name, found->fd, found->address, guarded); !fits)
      return std::unexpected(fits.error());
  }
  listeners_.push_back({found->fd, protocol, found->address, 0, true});
  return true;
}

std::expected<void, std::string> Server::bind_all() {
  struct Wanted {
    const char* flag;
    Protocol protocol;
    std::vector<std::string> addresses;
  };
  std::vector<std::string> http = options_.more_http;
  http.insert(http.begin(), options_.http);
  const Wanted wanted[] = {
      {"http",   Protocol::http,   std::move(http)  },
      {"admin",  Protocol::admin,  {options_.admin} },
      {"binary", Protocol::binary, {options_.binary}}
  };
  // The admin port shows nothing beyond loopback that needs credentials: see make_guards().
  const bool allowed = options_.auth == "sigv4" || options_.insecure_no_auth || options_.dev;
  for (const auto& [flag, protocol, addresses] : wanted) {
    const bool guarded = allowed || protocol == Protocol::admin;
    const auto adopted = adopt(flag, protocol, guarded);
    if (!adopted) return std::unexpected(adopted.error());
    if (*adopted) continue;
    for (const std::string& address : addresses) {
      const auto fd = bind_to(flag, address, guarded);
      if (!fd) return std::unexpected(fd.error());
      CHECK(*fd >= 0);
      listeners_.push_back({*fd, protocol, address_text(*fd)});
    }
  }
  return {};
}

// Runs just before the sockets listen: another server would replace a socket that does not listen,
// because it looks like the socket of a killed server.
std::expected<void, std::string> Server::bind_local() {
  if (adopt("unix", Protocol::local, true).value_or(false)) return {};
  if (options_.unix_path.empty()) return {};
  const auto made = bind_unix("unix", options_.unix_path, options_.unix_mode);
  if (!made) return std::unexpected(made.error());
  listeners_.push_back({made->fd, Protocol::local, options_.unix_path, made->inode});
  return {};
}

Server::Loaded<TlsContext> Server::load_tls() const {
  if (options_.tls_certificate.empty() != options_.tls_key.empty()) {
    return std::unexpected(fmt::format("only {} is given: TLS needs both --tls-cert and --tls-key",
                                       options_.tls_key.empty() ? "--tls-cert" : "--tls-key"));
  }
  if (options_.admin_tls && options_.tls_key.empty())
    return std::unexpected("--admin-tls yes needs a certificate: --tls-cert and --tls-key");
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
    CHECK(*guard == nullptr, "the guards are made once");
    rules.ask = protocol == Protocol::admin ? !options_.load_admin_token : options_.auth == "none";
    rules.any_host = options_.dev;
    rules.hosts = options_.allow_hosts;
    rules.origins = options_.allow_origins;
    const bool admin = protocol == Protocol::admin;
    const auto host_of = [](const std::string& text) { return text.substr(0, text.rfind(':')); };
    rules.hosts.push_back(host_of(admin ? options_.admin : options_.http));
    if (!admin)
      std::ranges::transform(options_.more_http, std::back_inserter(rules.hosts), host_of);
    for (const Listener& listener : listeners_) {
      if (listener.protocol != protocol) continue;
      const std::string& bound = rules.hosts.emplace_back(host_of(listener.address));
      if (bound == "0.0.0.0" || bound == "[::]") rules.any_address = true;
      if (admin && !is_loopback_host(bound) && !options_.load_admin_token)
        rules.probes_only = !options_.insecure_no_auth;
    }
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

// Called at least once a second.
void Server::follow_clock() {
  EngineClock& clock = shared_->clock;
  const std::scoped_lock alone(clock_change_);
  const EngineClock::Followed followed = clock.follow();
  health_.note_clock(clock.waits(), kernel_clocks().synchronised());
  if (followed.stepped_us != 0)
    emit(Event{EventCode::wall_clock_set,
               fmt::format("the wall clock was set by {:+} s; the age of messages does not change",
                           followed.stepped_us / 1'000'000)}
             .with("stepped_us", followed.stepped_us));
  if (followed.counted_us != 0)
    emit(Event{EventCode::time_off_counted,
               fmt::format("the {} s that the machine was off count from now on",
                           followed.counted_us / 1'000'000)}
             .with("counted_us", followed.counted_us));
  if (!followed.changed) return;
  DataIdentity next = data_->identity();
  next.clock = clock.anchor();
  if (auto written = data_->write(next); !written) {
    emit(Event{EventCode::clock_not_saved, written.error()});
    return;
  }
  clock.noted();
}

void Server::advance_clock(Duration by) {
  {
    const std::scoped_lock alone(clock_change_);
    shared_->clock.advance(by);
  }
  emit(Event{EventCode::clock_advanced, fmt::format("a test advanced the clock by {} ms", by.ms)}
           .with("advanced_ms", by.ms));
}

// The threads read them from the gate `run` on.
void Server::collect_admin_facts() {
  CHECK(admin_facts_.numbers.empty(), "the facts are collected once");
  for (const auto& worker : workers_) {
    admin_facts_.numbers.push_back(&worker->numbers());
    admin_facts_.requests.push_back(&worker->requests());
  }
  admin_facts_.process = &*process_usage_;
  admin_facts_.health = &health_;
  admin_facts_.settings = settings_.get();
  admin_facts_.version = options_.version;
  admin_facts_.directory = data_->lock();
  admin_facts_.memory_limit = memory_of_shard() * workers_.size();
  admin_facts_.backend = name_of(shared_->ring.backend);
  if (shared_->ring.error != 0) admin_facts_.fallback = fallback_text(shared_->ring);
  admin_facts_.stage = &shared_->stage;
}

// The workers run before the sockets listen: what the configuration file declares is made first.
std::expected<void, StartError> Server::launch() {
  CHECK(threads_.size() == workers_.size(), "{} threads of {} shards", threads_.size(),
        workers_.size());
  collect_admin_facts();
  // The workers copy the list of sockets when they begin to run.
  if (const auto bound = bind_local(); !bound) {
    phases_->errors[0] = bound.error();
    return end_if_failed(phases_->run);
  }
  if (contexts_[0].sqs.declare != nullptr) declared_.emplace();
  phases_->run.count_down();
  StartError fault;
  if (declared_) {
    if (const auto summary = declared_->apply(); summary) {
      emit(Event{EventCode::declared, *summary});
    } else {
      fault = summary.error();
    }
  }
  for (const Listener& listener : listeners_) {
    if (fault.failed()) break;
    if (const int error = listen_on(listener.fd, 4096); error != 0) {
      fault = fmt::format(
          "cannot listen on {}: {}. Another server took the port; stop it, or choose another port",
          listener.address, std::strerror(error));
    }
  }
  if (fault.failed()) {
    stop();
    return std::unexpected(fault);
  }
  shared_->admits.store(true, std::memory_order_release);
  workers_[0]->nudge();
  return {};
}

// Runs after the ready line, which programs wait for.
void Server::report_start() const {
  const std::uint64_t memory = admin_facts_.memory_limit;
  const std::uint32_t connections = shared_->connection_limits.total_max();
  emit(
      Event{EventCode::limits,
            fmt::format("version {}, {} shards in {}: {} MiB for messages, {} connections; sockets "
                        "and disk by {}; idle cores: --poll {}",
                        options_.version, workers_.size(), options_.data, memory >> 20, connections,
                        admin_facts_.backend, options_.poll)}
          .with("version", options_.version)
          .with("path", options_.data)
          .with("shards", std::uint64_t{workers_.size()})
          .with("memory_bytes", memory)
          .with("connections", std::uint64_t{connections})
          .with("io", admin_facts_.backend));
  Event ready{EventCode::ready, fmt::format("serves after {} ms, with {} messages recovered:",
                                            recovery_ms_, recovered_messages_)};
  ready.fields.emplace_back("recovered_messages", recovered_messages_);
  ready.fields.emplace_back("recovery_ms", recovery_ms_);
  for (const auto& [name, protocol] : named_protocols) {
    if (const std::string& bound = address(protocol); !bound.empty()) {
      ready.text += fmt::format(" {} {}", name, bound);
      ready.fields.emplace_back(name, bound);
    }
  }
  emit(std::move(ready));
}

std::string Server::ready_line() const {
  std::string line = R"({"event":"ready")";
  for (const auto& [name, protocol] : named_protocols)
    if (const std::string& bound = address(protocol); !bound.empty())
      line += fmt::format(R"(,"{}":"{}")", name, bound);
  std::string more;
  for (std::size_t i = 1; !address(Protocol::http, i).empty(); ++i)
    more += fmt::format(R"({}"{}")", i == 1 ? "" : ",", address(Protocol::http, i));
  if (!more.empty()) line += fmt::format(R"(,"more_http":[{}])", more);
  return line + fmt::format(R"(,"shards":{},"recovered_messages":{},"recovery_ms":{}}})",
                            workers_.size(), recovered_messages_, recovery_ms_);
}

int Server::run() {
  CHECK(!threads_.empty(), "a server runs after its start");
  std::vector<Watchdog::Shard> watched;
  for (const auto& worker : workers_)
    watched.push_back({&worker->pulse(), [&shard = *worker] { shard.nudge(); }});
  const Watchdog watchdog(service_manager(), std::move(watched));
  service_manager().ready(fmt::format("serves; {} messages were recovered", recovered_messages_));
  report_start();
  const sigset_t signals = taken_signals();
  std::optional<std::chrono::steady_clock::time_point> drain_end;
  for (int taken = 0; taken != SIGTERM && taken != SIGINT;) {
    taken = sigtimedwait(&signals, nullptr, drain_end ? &drain_look : &second);
    if (taken == SIGHUP) reload();
    if (taken == SIGUSR2 && !drain_end) {
      begin_drain();
      drain_end = std::chrono::steady_clock::now() + drain_max;
    }
    if (drain_end && (drained() || std::chrono::steady_clock::now() >= *drain_end)) break;
    follow_clock();
    const std::int64_t now_us = wall_now().ms * 1000;
    health_.observe(admin_facts_, now_us);
  }
  const bool late = drain_end && !drained();
  const std::string text =
      fmt::format("stops when all requests are answered{}; a second signal stops it at once",
                  late ? ", without waiting for the drain to end" : "");
  service_manager().stopping(text);
  emit(Event{EventCode::stopping, text});
  let_signals(Ends::stop);
  stop();
  emit(Event{EventCode::stopped, "stopped: all requests are answered, the log is closed"});
  return 0;
}

void Server::begin_drain() {
  const std::string text = fmt::format(
      "drains: new connections are refused. Stops when the clients have their answers and have "
      "answered what was pushed to them, at the latest after {} minutes; SIGTERM stops it now",
      drain_max.count());
  service_manager().status(text);
  emit(Event{EventCode::draining, text});
  enter(Stage::draining);
}

void Server::enter(Stage stage) {
  shared_->stage.store(stage, std::memory_order_relaxed);  // nudge() follows
  for (const auto& worker : workers_) worker->nudge();
}

bool Server::drained() const {
  return std::ranges::all_of(workers_, [](const auto& worker) { return worker->idle(); });
}

void Server::reload() {
  const ReloadNotice notice(service_manager());
  ReloadableSettings::Values settings = settings_->current();
  if (options_.reload_settings) {
    SettingsAfterReload after = options_.reload_settings();
    for (Event& event : after.events) emit(std::move(event));
    settings.told = shared_text(after.running);
  }
  const auto take = [](auto& current, auto loaded, const char* what) {
    if (loaded) {
      if (*loaded != nullptr)
        emit(Event{EventCode::settings_reloaded, fmt::format("SIGHUP: {} read again", what)});
      current = std::move(*loaded);
    } else {
      emit(Event{EventCode::settings_not_reloaded,
                 fmt::format("SIGHUP: not {}, which stay as they were: {}", what, loaded.error())});
    }
  };
  take(settings.tls, load_tls(), "certificate and key");
  take(settings.keys, load_keys(), "access keys");
  take(settings.admin_token, load_admin_token(options_), "the token of the admin port");
  settings_->publish(std::move(settings));
  for (const auto& worker : workers_) worker->nudge();
}

void Server::stop() {
  enter(Stage::stopping);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

const std::string& Server::address(Protocol protocol, std::size_t number) const {
  for (const Listener& listener : listeners_) {
    if (listener.protocol != protocol) continue;
    if (number == 0) return listener.address;
    --number;
  }
  static const std::string none;
  return none;
}

Server::Server(const ServerOptions& options) : options_(options) {}

Server::~Server() {
  for (const Listener& listener : listeners_) {
    if (listener.protocol == Protocol::local && !listener.handed)
      remove_unix_socket({listener.fd, listener.inode}, listener.address);
    ::close(listener.fd);
  }
  CHECK(threads_.empty(), "a server is stopped before it goes");
}

}  // namespace pawl

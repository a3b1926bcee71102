// SPDX-License-Identifier: Apache-2.0
// The server: data directory, a worker thread per shard, listening sockets, signals.
//
//   start: lock -> limit file access -> recover all shards at once -> share the directory -> listen
//          -> ready
//   run:   until SIGTERM or SIGINT: stop accepting, answer pending requests (long polls empty),
//          flush, 0; a second signal ends the process at once, with 1
//          SIGUSR2: accept no more, serve the clients until they have their answers, then stop
//          SIGHUP: reload certificate and keys, compare the settings with their file
//
// Errors: start() returns a text for the operator, and whether the data directory was refused.
// Owner:  main().
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "net/admin/admin_page.h"
#include "net/admin/health.h"
#include "net/admin/settings_page.h"
#include "net/events/event_log.h"
#include "net/io/process_usage.h"
#include "net/server/data_dir.h"
#include "net/server/declared_start.h"
#include "net/server/handed_sockets.h"
#include "net/server/process_limits.h"
#include "net/server/start_error.h"
#include "net/server/worker.h"
#include "proto/dev/dev_call.h"

namespace pawl {

using KeyLoader = std::function<std::expected<std::shared_ptr<const Keyring>, std::string>()>;

// The result of reading the configuration again.
struct SettingsAfterReload {
  std::vector<Event> events;         // for the operator
  std::vector<ToldSetting> running;  // for /config
};

struct ServerOptions {
  static constexpr std::uint32_t connections_default = 20'000;
  std::string data = "./pawl-data";
  std::string http = "127.0.0.1:9324";
  std::vector<std::string> more_http;  // further addresses of the same protocol
  std::string admin = "127.0.0.1:9325";
  std::string binary = "127.0.0.1:9326";
  std::string unix_path;      // of a socket for the binary protocol without TLS; empty: none
  mode_t unix_mode = 0600;    // of its file: who may connect
  unsigned shards = 0;        // 0: as many as cores; fixed when the data directory is made
  std::string auth = "none";  // none | sigv4: signatures on http, key proofs on binary
  KeyLoader load_keys;        // with sigv4: called at startup and at each SIGHUP
  // Reads the token of the admin port. Empty: it asks for none.
  std::function<std::expected<std::shared_ptr<const BearerToken>, std::string>()> load_admin_token;
  // Without authentication, allows addresses that other machines can reach. The admin port is
  // allowed there anyway, and then shows all pages instead of /livez and /readyz alone.
  bool insecure_no_auth = false;
  std::string tls_certificate;  // PEM files; both or neither. http and binary then accept only TLS
  std::string tls_key;
  bool admin_tls = false;                    // the admin port accepts only TLS too
  std::vector<std::string> allow_hosts;      // without auth: more names of this server
  std::vector<std::string> allow_origins;    // without auth: pages that may send requests
  std::vector<std::string> trusted_proxies;  // addresses or networks
  std::uint32_t connections_max = 0;  // of all shards together; 0: connections_default, or fewer
  std::uint32_t address_connections_max = 0;  // from one address; 0: three quarters of all
  // Most queues and topics of one account. 0: no limit of its own; with keys half of the server's
  // limit, so that no key can use all.
  std::uint32_t account_queues_max = 0;
  std::uint32_t metrics_queues = LabelledQueues::most_default;
  // For tests of programs: any address; a Host of any name from programs, not from browsers; an
  // access key id of 12 digits is the account; the disk is not measured.
  bool dev = false;
  bool strict_sqs = false;  // as AWS where pawl is more helpful, see tools/SERVING.md
  ConnectionTimes times;
  std::string poll = "auto";            // auto | always | never
  std::string io = "auto";              // auto | uring | threads: see net/io/ring_choice.h
  std::optional<LogFormat> log_format;  // nothing: the caller of start() looks at stderr
  bool trust_clock = false;             // after a reboot: see net/engine/clock.h
  // The starting thread and those of the server lose access to most files, for ever: see
  // net/server/file_access.h.
  bool landlock = false;
  std::string version = "unknown";    // of the program, for metrics and events
  bool deletes_data = false;          // the caller deletes the data directory after the end
  std::string keys_file;              // of load_keys
  std::string admin_token_file;       // of load_admin_token
  std::vector<ToldSetting> settings;  // for /config
  std::string config_file;            // of reload_settings
  std::function<SettingsAfterReload()> reload_settings;  // called at each SIGHUP; may be empty
  std::uint64_t memory = 0;  // bytes for bodies and metadata; 0: half of the machine or cgroup
  std::string region = "us-east-1";
  std::string account = "000000000000";
  DeclaredRowsPtr declared;                // by the configuration file; null: nothing
  std::string base_url;                    // base of returned queue URLs; empty: the request's Host
  std::uint64_t segment_bytes = 64 << 20;  // of a new data directory
  std::uint32_t spare_segments = LogOptions{}.spare_segments;
};

class Server : private DevControl {
 public:
  static std::expected<std::unique_ptr<Server>, StartError> start(const ServerOptions& options);
  ~Server() override;

  std::string ready_line() const;
  static constexpr std::chrono::minutes drain_max{10};
  // Blocks until SIGTERM, SIGINT or the end of a drain, then stops. Returns the exit code. A second
  // signal during the stop ends the process at once, with 1.
  int run();
  // Refuses new connections, except on the admin port, and serves the others until their clients
  // have their answers and have answered what was pushed to them.
  void begin_drain();
  bool drained() const;
  // Refuses connections, answers pending requests, flushes. Blocks until done.
  void stop();
  // Reloads settings, certificate and keys. Errors become events; the failed part keeps its current
  // value.
  void reload();
  // host:port as bound, or the path of the Unix socket; empty: there is no such listener. The first
  // address of a protocol has number 0.
  const std::string& address(Protocol protocol, std::size_t number = 0) const;

 private:
  struct Listener {
    int fd = -1;
    Protocol protocol{};
    std::string address;  // as bound
    ino_t inode = 0;      // of a Unix socket's file
    bool handed = false;  // see handed_sockets.h
  };

  // Startup phases shared by server and workers: opened -> adopted -> running.
  struct Phases {
    explicit Phases(std::ptrdiff_t workers)
        : opened(workers), adopted(workers), errors(static_cast<std::size_t>(workers)) {}
    std::latch calibrated{1};  // shard 0 has measured the disk for all
    std::latch opened;
    std::latch adopt{1};
    std::latch adopted;
    std::latch run{1};
    bool failed = false;             // written by the server before it opens `adopt` or `run`
    std::vector<StartError> errors;  // [i] of shard i
  };

  explicit Server(const ServerOptions& options);
  void advance_clock(Duration by) override;
  std::uint32_t shards() const override { return data_->identity().shards; }
  template <typename T>
  using Loaded = std::expected<std::shared_ptr<const T>, std::string>;
  Loaded<TlsContext> load_tls() const;
  Loaded<Keyring> load_keys() const;
  std::expected<void, std::string> bind_all();
  std::expected<void, std::string> bind_local();
  std::expected<bool, std::string> adopt(std::string_view name, Protocol protocol, bool guarded);
  std::expected<void, std::string> make_guards();
  ConnectionContext context_of(std::uint32_t shard, std::uint64_t boot_id);
  std::uint64_t memory_of_shard() const;
  std::expected<void, StartError> launch();
  void collect_admin_facts();
  void report_start() const;
  void follow_clock();
  void enter(Stage stage);
  // SIGTERM and SIGINT: `wait` for run(), or end the process at once. During recovery nothing has
  // been acknowledged yet: 128 + the signal. During a stop acknowledged changes are as durable as
  // their queues promise: 1. A handler is needed, because process 1 of a container has no default
  // action.
  enum class Ends : std::uint8_t { wait, recovery, stop };
  static void let_signals(Ends how);

  // --- recovery, in server_recovery.cc ---
  std::expected<void, StartError> recover();
  void make_shared_state();
  void make_workers();
  WorkerOptions worker_options(std::uint32_t shard, const std::vector<int>& cpus) const;
  void start_threads();
  void run_shard(std::uint32_t shard);
  std::expected<void, StartError> end_if_failed(std::latch& gate);
  std::vector<ShardEngine*> engines() const;
  void report_recoveries() const;
  void note_absent_logs();
  void note_unserved_accounts() const;
  std::expected<void, std::string> note_start();

  std::optional<EventWriting> event_writing_;  // until all others are gone
  ServerOptions options_;
  MemoryShares memory_shares_;  // of this machine; set by make_shared_state()
  std::unique_ptr<DataDir> data_;
  std::unique_ptr<ReloadableSettings> settings_;
  std::unique_ptr<HttpGuard> guard_;
  std::unique_ptr<HttpGuard> admin_guard_;
  std::unique_ptr<WorkerShared> shared_;
  std::mutex clock_change_;  // held while the clock is followed or advanced
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<ProcessUsage> process_usage_;  // opened after the handed sockets were taken
  HealthMonitor health_;                       // observed once a second
  AdminFacts admin_facts_;                     // set by launch()
  std::vector<ConnectionContext> contexts_;
  std::vector<HandedSocket> handed_;  // by the service manager
  std::vector<Listener> listeners_;
  std::optional<DeclaredStart> declared_;  // set by launch()
  std::vector<std::thread> threads_;
  std::uint64_t recovered_messages_ = 0;
  std::int64_t recovery_ms_ = 0;
  std::unique_ptr<Phases> phases_;
};

}  // namespace pawl

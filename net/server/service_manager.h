// SPDX-License-Identifier: Apache-2.0
// ServiceManager: tells the service manager, systemd for example, about the state of the server, as
// a unit of Type=notify does.
//
//   progress()* ─▶ ready() ─▶ [reloading(), ready()]* ─▶ stopping()
//                     feed_watchdog() every third of WATCHDOG_USEC, see net/server/watchdog.h
//
// A message is one datagram of lines NAME=value to the socket NOTIFY_SOCKET: a path, or the name of
// an abstract socket after '@'.
//
// Units:  WATCHDOG_USEC, EXTEND_TIMEOUT_USEC and MONOTONIC_USEC are microseconds.
// Limits: a message waits up to send_patience for a full socket.
// Errors: none. Without NOTIFY_SOCKET nothing is sent; an unusable socket is an event.
// Owner:  service_manager() is that of the process. Any thread may use it.
// Source: sd_notify(3), sd_watchdog_enabled(3), systemd.service(5).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

namespace pawl {

// The values of NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; null: not set.
struct NotifyVariables {
  const char* socket = nullptr;
  const char* watchdog_usec = nullptr;
  const char* watchdog_pid = nullptr;
};

class ServiceManager {
 public:
  static constexpr std::chrono::seconds send_patience{1};
  // A start may take this much longer from each report of progress on. Reports come every 5 s.
  static constexpr std::chrono::seconds progress_extension{60};

  // `process`: the watchdog of another process is ignored.
  ServiceManager(const NotifyVariables& variables, pid_t process);
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // The start goes on, and may take `more` from now on.
  void progress(std::string_view status, std::chrono::seconds more = progress_extension) const;
  void ready(std::string_view status) const;
  void reloading() const;
  void stopping(std::string_view status) const;
  void status(std::string_view status) const;
  void feed_watchdog() const;

  // The longest time between two calls of feed_watchdog(); 0: nobody waits for them.
  std::chrono::microseconds watchdog_period() const { return watchdog_period_; }

 private:
  void connect(std::string_view address);
  void read_watchdog(const NotifyVariables& variables, pid_t process);
  void send(const std::string& lines) const;

  int socket_ = -1;  // -1: nobody listens
  std::chrono::microseconds watchdog_period_{0};
};

// With the variables of this process.
const ServiceManager& service_manager();

// A reload of settings, as the service manager sees it.
class ReloadNotice {
 public:
  explicit ReloadNotice(const ServiceManager& manager) : manager_(manager) { manager_.reloading(); }
  ~ReloadNotice() { manager_.ready({}); }
  ReloadNotice(const ReloadNotice&) = delete;
  ReloadNotice& operator=(const ReloadNotice&) = delete;

 private:
  const ServiceManager& manager_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/server/service_manager.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>

#include "core/base/check.h"
#include "net/events/event_log.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr std::uint64_t watchdog_usec_max = std::uint64_t{1} << 53;  // 285 years

// The value of a line ends with the line.
std::string status_line(std::string_view status) {
  if (status.empty()) return {};
  std::string line = fmt::format("STATUS={}\n", status);
  std::replace(line.begin(), line.end() - 1, '\n', ' ');
  return line;
}

std::int64_t monotonic_us() {
  timespec now{};
  CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "{}", std::strerror(errno));
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

void report_unusable(const std::string& problem) {
  emit(Event{EventCode::service_manager_unreachable,
             fmt::format("{}. The server works without notifications; a unit of Type=notify sets "
                         "the variable, other units need Type=exec",
                         problem)});
}

}  // namespace

ServiceManager::ServiceManager(const NotifyVariables& variables, pid_t process) {
  if (variables.socket == nullptr || *variables.socket == 0) return;
  connect(variables.socket);
  if (socket_ >= 0) read_watchdog(variables, process);
}

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) ::close(socket_);
}

void ServiceManager::connect(std::string_view address) {
  const bool abstract = address.starts_with('@');
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  // The kernel takes a path with or without a final zero; the name of an abstract socket has none.
  if ((!abstract && !address.starts_with('/')) || address.size() < 2 ||
      address.size() >= sizeof target.sun_path) {
    return report_unusable(
        fmt::format("NOTIFY_SOCKET is \"{}\": neither an absolute path nor '@' and the name of an "
                    "abstract socket, of 2 to {} bytes",
                    address, sizeof target.sun_path - 1));
  }
  std::memcpy(target.sun_path, address.data(), address.size());
  if (abstract) target.sun_path[0] = 0;
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() + (abstract ? 0 : 1));
  const int made = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = send_patience.count(), .tv_usec = 0};
  if (made >= 0 && ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
      ::connect(made, reinterpret_cast<const sockaddr*>(&target), length) == 0) {
    socket_ = made;
    return;
  }
  report_unusable(
      fmt::format("cannot connect to NOTIFY_SOCKET {}: {}", address, std::strerror(errno)));
  if (made >= 0) ::close(made);
}

void ServiceManager::read_watchdog(const NotifyVariables& variables, pid_t process) {
  if (variables.watchdog_usec == nullptr) return;
  if (variables.watchdog_pid != nullptr &&
      decimal_number(variables.watchdog_pid) != static_cast<std::uint64_t>(process))
    return;
  const std::optional<std::uint64_t> period = decimal_number(variables.watchdog_usec);
  if (!period || *period == 0 || *period > watchdog_usec_max) {
    return report_unusable(
        fmt::format("WATCHDOG_USEC is \"{}\": not a positive number of microseconds, so that the "
                    "watchdog is not fed",
                    variables.watchdog_usec));
  }
  watchdog_period_ = std::chrono::microseconds(*period);
}

void ServiceManager::send(const std::string& lines) const {
  if (socket_ < 0) return;
  CHECK(lines.ends_with('\n'), "a message without a line: {}", lines);
  if (::send(socket_, lines.data(), lines.size(), MSG_NOSIGNAL) >= 0) return;
  report_unusable(fmt::format("cannot send \"{}\" to NOTIFY_SOCKET: {}",
                              lines.substr(0, lines.find('\n')), std::strerror(errno)));
}

void ServiceManager::progress(std::string_view status, std::chrono::seconds more) const {
  CHECK(more.count() > 0, "{} s more", more.count());
  send(fmt::format("{}EXTEND_TIMEOUT_USEC={}\n", status_line(status),
                   std::chrono::microseconds(more).count()));
}

void ServiceManager::ready(std::string_view status) const {
  send("READY=1\n" + status_line(status));
}

void ServiceManager::reloading() const {
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\n", monotonic_us()));
}

void ServiceManager::stopping(std::string_view status) const {
  send("STOPPING=1\n" + status_line(status));
}

void ServiceManager::status(std::string_view status) const { send(status_line(status)); }

void ServiceManager::feed_watchdog() const { send("WATCHDOG=1\n"); }

const ServiceManager& service_manager() {
  static const ServiceManager manager(
      {std::getenv("NOTIFY_SOCKET"), std::getenv("WATCHDOG_USEC"), std::getenv("WATCHDOG_PID")},
      getpid());
  return manager;
}

}  // namespace pawl

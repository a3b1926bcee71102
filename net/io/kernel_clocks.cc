// SPDX-License-Identifier: Apache-2.0
#include "net/io/kernel_clocks.h"

#include <fmt/core.h>
#include <sys/timex.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>

namespace pawl {
namespace {

std::int64_t read_us(clockid_t id) {
  std::timespec time{};
  clock_gettime(id, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

constexpr const char* boot_id_path = "/proc/sys/kernel/random/boot_id";

// All zero if the file cannot be read whole.
BootId read_boot_id(const std::string& root = {}) {
  BootId id{};
  std::ifstream file(root + boot_id_path);
  std::string text;
  file >> text;
  std::erase(text, '-');
  if (text.size() != 2 * id.size()) return {};
  for (std::size_t i = 0; i < id.size(); ++i) {
    char* const digits = &text[2 * i];
    const auto [end, error] = std::from_chars(digits, digits + 2, id[i], 16);
    if (error != std::errc() || end != digits + 2) return {};
  }
  return id;
}

// The state of the kernel's clock; its first member is the error if the call was refused.
struct ClockState {
  int error = 0;
  bool synchronised = false;
};
ClockState clock_state() {
  timex state{};
  const int answer = adjtimex(&state);
  if (answer == -1) return {.error = errno};
  return {.synchronised = answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0};
}

class KernelClocks final : public MachineClocks {
 public:
  std::int64_t wall_us() const override { return read_us(CLOCK_REALTIME); }
  std::int64_t running_us() const override { return read_us(CLOCK_BOOTTIME); }
  BootId boot_id() const override { return boot_id_; }
  bool synchronised() const override { return clock_state().synchronised; }

 private:
  BootId boot_id_ = read_boot_id();
};

}  // namespace

const MachineClocks& kernel_clocks() {
  static const KernelClocks clocks;
  return clocks;
}

Instant wall_now() { return Instant{kernel_clocks().wall_us() / 1000}; }

std::vector<ClockFault> clock_faults(const std::string& root) {
  std::vector<ClockFault> faults;
  constexpr const char* vouch = "start with --trust-clock yes if the wall clock is right at boot";
  if (const int error = clock_state().error; error != 0)
    faults.push_back(
        {fmt::format("adjtimex is refused ({}): the wall clock counts as not synchronised, and "
                     "after a reboot it is trusted ten minutes later",
                     std::strerror(error)),
         fmt::format("Allow the system calls adjtimex and clock_adjtime (systemd: "
                     "ProtectClock=no), or {}.",
                     vouch)});
  if (!is_known(read_boot_id(root)))
    faults.push_back(
        {fmt::format("{} cannot be read: every start counts as one after a reboot", boot_id_path),
         fmt::format("Show /proc/sys to the process (systemd: ProcSubset=all), or {}.", vouch)});
  return faults;
}

std::uint64_t steady_now_us() { return static_cast<std::uint64_t>(read_us(CLOCK_MONOTONIC)); }

}  // namespace pawl

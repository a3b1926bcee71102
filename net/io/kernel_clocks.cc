// SPDX-License-Identifier: Apache-2.0
#include "net/io/kernel_clocks.h"

#include <sys/timex.h>

#include <array>
#include <charconv>
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

std::array<std::uint8_t, 16> read_boot_id() {
  std::array<std::uint8_t, 16> id{};
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  file >> text;
  std::erase(text, '-');
  for (std::size_t i = 0; i < id.size() && 2 * i + 2 <= text.size(); ++i)
    std::from_chars(&text[2 * i], &text[2 * i] + 2, id[i], 16);
  return id;
}

class KernelClocks final : public MachineClocks {
 public:
  std::int64_t wall_us() const override { return read_us(CLOCK_REALTIME); }
  std::int64_t running_us() const override { return read_us(CLOCK_BOOTTIME); }
  std::array<std::uint8_t, 16> boot_id() const override { return boot_id_; }
  bool synchronised() const override {
    timex state{};
    return adjtimex(&state) != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
  }

 private:
  std::array<std::uint8_t, 16> boot_id_ = read_boot_id();
};

}  // namespace

const MachineClocks& kernel_clocks() {
  static const KernelClocks clocks;
  return clocks;
}

Instant wall_now() { return Instant{kernel_clocks().wall_us() / 1000}; }

std::uint64_t steady_now_us() { return static_cast<std::uint64_t>(read_us(CLOCK_MONOTONIC)); }

}  // namespace pawl

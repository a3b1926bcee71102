// SPDX-License-Identifier: Apache-2.0
#include "bench/stop_signals.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"

namespace pawl::load {
namespace {

constexpr std::string_view notice =
    "stopping: waits for responses, up to 5 s for each step; a second signal ends it at once\n";

// The state that the handler uses; lock-free atomics may be used in signal handlers.
std::atomic<bool> installed = false;
std::atomic<bool> stop_requested = false;
std::atomic<int> wake_descriptor = -1;
std::atomic<int> notice_descriptor = -1;
std::array<std::atomic<bool>, StopSignals::signals.size()> ignored;  // signals to leave alone
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void write_quietly(int descriptor, const void* bytes, std::size_t size) {
  [[maybe_unused]] const ssize_t n = ::write(descriptor, bytes, size);
}

}  // namespace

StopSignals::StopSignals(std::FILE* err) : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(!installed.exchange(true), "two loads wait for signals");
  stop_requested = false;
  wake_descriptor = descriptor_;
  notice_descriptor = ::fileno(err);
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // output that is under way; poll and epoll end nevertheless
  for (const int number : signals) ::sigaddset(&action.sa_mask, number);
  // The handler reads all flags, so that they come first.
  for (std::size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &former_[i]);
    ignored[i] = former_[i].sa_handler == SIG_IGN;
  }
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (!ignored[i]) ::sigaction(signals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &former_[i], nullptr);
  wake_descriptor = -1;
  if (descriptor_ >= 0) ::close(descriptor_);
  installed = false;
}

bool StopSignals::requested() const { return stop_requested; }

// Calls async-signal-safe functions only. The second signal meets the default action.
void StopSignals::on_signal(int) {
  const int saved = errno;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (!ignored[i]) ::signal(signals[i], SIG_DFL);
  }
  stop_requested = true;
  const std::uint64_t one = 1;
  write_quietly(wake_descriptor, &one, sizeof one);
  write_quietly(notice_descriptor, notice.data(), notice.size());
  errno = saved;
}

}  // namespace pawl::load

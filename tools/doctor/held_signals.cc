// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/held_signals.h"

namespace pawl {
namespace {

constexpr int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};

}  // namespace

HeldSignals::HeldSignals() {
  sigemptyset(&held_);
  for (const int number : ends) {
    struct sigaction action{};
    const bool ignored = sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (!ignored) sigaddset(&held_, number);
  }
  pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

HeldSignals::~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool HeldSignals::pending() const {
  sigset_t arrived;
  sigemptyset(&arrived);
  sigpending(&arrived);
  for (const int number : ends)
    if (sigismember(&held_, number) == 1 && sigismember(&arrived, number) == 1) return true;
  return false;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/client/verdicts.h"

#include <algorithm>
#include <utility>

namespace pawl::client {

void Verdicts::complete(Consumer::Token token, Verdict verdict) {
  const std::lock_guard lock(mutex_);
  pending_.push_back({token, verdict});
  if (asleep_) wake();
}

void Verdicts::advance(Mode mode) {
  const std::lock_guard lock(mutex_);
  mode_ = std::max(mode_, mode);
  wake();
}

void Verdicts::interrupt() {
  const std::lock_guard lock(mutex_);
  wake();
}

void Verdicts::wake() {
  asleep_ = false;
  if (std::exchange(signalled_, true)) return;
  readiness_.wake();
}

bool Verdicts::is_idle() const {
  const std::lock_guard lock(mutex_);
  return reported_mode_ == mode_ && status_.under_way == 0;
}

bool Verdicts::wait_idle(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return idle_changed_.wait_until(
      lock, deadline, [&] { return reported_mode_ == mode_ && status_.under_way == 0; });
}

Consumer::Status Verdicts::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

Verdicts::Mode Verdicts::collect(std::vector<TokenVerdict>& verdicts) {
  const std::lock_guard lock(mutex_);
  asleep_ = false;
  if (std::exchange(signalled_, false)) readiness_.clear();
  verdicts.clear();
  verdicts.swap(pending_);
  return mode_;
}

void Verdicts::report(const Consumer::Status& status, Mode mode) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  reported_mode_ = mode;
  if (status.under_way == 0 && mode != Mode::running) idle_changed_.notify_all();
}

bool Verdicts::sleep() {
  const std::lock_guard lock(mutex_);
  if (!pending_.empty() || signalled_) return false;
  asleep_ = true;
  return true;
}

}  // namespace pawl::client

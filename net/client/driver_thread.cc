// SPDX-License-Identifier: Apache-2.0
#include "net/client/driver_thread.h"

#include <signal.h>

#include <system_error>
#include <utility>

#include "core/base/check.h"

namespace pawl::client {
namespace {

thread_local const DriverThread* current = nullptr;  // the owner of this thread

}  // namespace

DriverThread::~DriverThread() { CHECK(!running(), "the thread was not stopped"); }

int DriverThread::start(std::function<void()> turn, std::function<void()> wait,
                        std::function<void()> last) {
  CHECK(!running(), "the thread is started twice");
  const auto run = [this, turn = std::move(turn), wait = std::move(wait), last = std::move(last)] {
    current = this;
    for (;;) {
      turn();
      // After the turn: a wake-up that the turn has consumed came with the stop.
      if (stopping_.load(std::memory_order_acquire)) break;
      wait();
    }
    last();
  };
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  running_.store(true, std::memory_order_relaxed);
  int error = 0;
  try {
    thread_ = std::thread(run);
  } catch (const std::system_error& failed) {
    error = failed.code().value();
    running_.store(false, std::memory_order_relaxed);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

bool DriverThread::is_current() const { return current == this; }

void DriverThread::stop(const std::function<void()>& wake) {
  CHECK(!is_current(), "the thread stops itself");
  stopping_.store(true, std::memory_order_release);
  wake();
  if (running()) thread_.join();
  running_.store(false, std::memory_order_relaxed);
}

}  // namespace pawl::client

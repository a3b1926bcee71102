// SPDX-License-Identifier: Apache-2.0
// The thread of a Producer or Consumer that does not run on a loop of its caller.
//
//   start() --turn, wait, turn, wait...--> stop() --the last call--> joined
//
// All signals are blocked in it: the program's handlers run in threads of the program.
//
// Errors: errno of the thread's creation.
// Owner:  a Producer or Consumer; stop() must not be called by the thread itself.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace pawl::client {

class DriverThread {
 public:
  DriverThread() = default;
  ~DriverThread();
  DriverThread(const DriverThread&) = delete;
  DriverThread& operator=(const DriverThread&) = delete;

  // Calls `turn` and `wait` by turns until stop(), and then `last`.
  // Returns 0 or an errno.
  int start(std::function<void()> turn, std::function<void()> wait, std::function<void()> last);
  // `wake` ends a wait.
  void stop(const std::function<void()>& wake);

  // Any thread may ask, also the new one before start() returns.
  bool running() const { return running_.load(std::memory_order_relaxed); }
  bool is_current() const;

 private:
  // From start() to the end of stop(). Relaxed: creation and join of the thread order its work.
  std::atomic<bool> running_ = false;
  // The acquire after a turn pairs with the release in stop(): `last` sees all that its caller did.
  // The eventfd of `wake` orders the two: a turn that consumes the wake-up is followed by the stop.
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace pawl::client

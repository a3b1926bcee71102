// SPDX-License-Identifier: Apache-2.0
// One descriptor for a loop: it is readable when the connection is ready or a thread called wake().
//
// It is an epoll descriptor with an eventfd and, at times, the connection's socket in it. A
// caller's loop registers it once, although connections come and go.
//
// Errors: errno of the constructor in error(); without descriptors nothing can be awaited.
// Owner:  one Producer or Consumer; wake() may be called by any thread.
// Source: epoll(7), "epoll file descriptors are pollable"; eventfd(2).
#pragma once

#include <chrono>

namespace pawl::client {

class Readiness {
 public:
  Readiness();
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  int error() const { return error_; }            // 0, or an errno
  int descriptor() const { return descriptor_; }  // wait until it is readable

  // Waits for `events` of poll(2) on this socket from now on, and on no other. -1: on none.
  void watch(int socket, short events);
  // Call it when the watched socket may have been closed: its number may belong to another file of
  // the process now. The next watch() touches only the socket that it names.
  void forget();

  void wake() const;
  // Makes it unreadable again after a wake().
  void clear() const;
  // Waits until descriptor() is readable or the deadline passes.
  void wait_until(std::chrono::steady_clock::time_point deadline) const;

 private:
  int descriptor_ = -1;
  int wakeup_ = -1;
  int error_ = 0;
  int socket_ = -1;  // watched; -1: none, or forgotten
  short events_ = 0;
};

}  // namespace pawl::client

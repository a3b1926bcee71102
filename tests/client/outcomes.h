// SPDX-License-Identifier: Apache-2.0
// The completions of a Producer, by cookie.
//
// Owner: the test; completions may come from any thread.
#pragma once

#include <pawl/producer.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace pawl {

class Outcomes {
 public:
  static void on_complete(void* context, std::uint64_t cookie,
                          const Client::Result<Client::Sent>& outcome) {
    auto& self = *static_cast<Outcomes*>(context);
    const std::lock_guard lock(self.mutex_);
    self.codes_[cookie].push_back(outcome ? Client::Code::ok : outcome.error().code);
    self.order_.push_back(cookie);
    self.arrived_.notify_all();
  }

  // Waits for that many completions, at most ten seconds.
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, std::chrono::seconds(10),
                             [&] { return order_.size() >= count; });
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
  }
  std::vector<std::uint64_t> order() const {
    const std::lock_guard lock(mutex_);
    return order_;
  }
  // The code of a cookie that was completed once; busy if it was not, or more than once.
  Client::Code code(std::uint64_t cookie) const {
    const std::lock_guard lock(mutex_);
    const auto found = codes_.find(cookie);
    return found == codes_.end() || found->second.size() != 1 ? Client::Code::busy
                                                              : found->second.front();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::uint64_t, std::vector<Client::Code>> codes_;
  std::vector<std::uint64_t> order_;
};

}  // namespace pawl

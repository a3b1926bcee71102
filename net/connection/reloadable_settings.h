// SPDX-License-Identifier: Apache-2.0
// Settings that SIGHUP reloads in a running server: the certificate, the access keys, the token of
// the admin port, and the text of its page /config.
//
//   server: publish() -> shards: each sees a new generation() and takes current(), within a second
//
// Open connections keep the certificate they began with. A binary connection is closed when its key
// is revoked.
//
// Owner:  the server publishes, from one thread; any thread reads. Values are replaced, never
//         changed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "net/io/tls.h"
#include "proto/auth/bearer_token.h"
#include "proto/auth/keys.h"

namespace pawl {

class ReloadableSettings {
 public:
  struct Values {
    std::shared_ptr<const TlsContext> tls;           // null: http and binary are served without TLS
    std::shared_ptr<const Keyring> keys;             // null: no authentication
    std::shared_ptr<const BearerToken> admin_token;  // null: the admin port asks for none
    std::shared_ptr<const std::string> told;         // null: the page /config is empty
  };

  explicit ReloadableSettings(Values first) : current_(std::move(first)) {}

  std::uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  Values current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  void publish(Values next) {
    const std::lock_guard lock(mutex_);
    current_ = std::move(next);
    generation_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  mutable std::mutex mutex_;
  Values current_;
  // Relaxed: it changes while the mutex is held. A reader that sees the new number and then locks
  // the mutex finds the new values.
  std::atomic<std::uint64_t> generation_{1};
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// StartWatch: the admin port during recovery. It answers: alive, not ready, progress and remaining
// time. A long recovery is reported on stderr and to the service manager too.
//
// Errors: none; a client that is slow or does not speak HTTP is disconnected.
// Owner:  Server::start(). It has a thread of its own, which the destructor ends; then nothing
//         uses the listening socket.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "net/connection/http_guard.h"
#include "net/engine/shard_recovery.h"
#include "net/io/tls.h"
#include "net/server/service_manager.h"

namespace pawl {

class StartWatch {
 public:
  struct Port {
    int listener;
    const HttpGuard& guard;
    std::shared_ptr<const TlsContext> tls = nullptr;  // null: without TLS
  };

  StartWatch(Port port, std::span<const RecoveryProgress> shards,
             const ServiceManager& manager = service_manager());
  ~StartWatch();
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  void run();
  bool readable(int socket, int timeout_ms);
  void answer(int socket);
  std::string response_to(const HttpRequest& request) const;
  std::string text() const;

  Port port_;
  int end_fd_;
  bool over_ = false;
  std::span<const RecoveryProgress> shards_;
  const ServiceManager& manager_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::thread thread_;
};

}  // namespace pawl

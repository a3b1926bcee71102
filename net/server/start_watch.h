// StartWatch: answers on the admin port while the shards read their logs: alive, not ready, how far, how long yet.
// A start that takes long says it on stderr too.
//
// Errors: none; who asks in another way than HTTP, or slowly, is hung up on.
// Owner:  Server::start(); a thread of its own. The listening socket is not touched any more once it is gone.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <thread>

#include "net/connection/http_guard.h"
#include "net/engine/shard_replay.h"

namespace pawl {

class StartWatch {
 public:
  StartWatch(int listener, const HttpGuard& guard, std::span<const ReplayProgress> shards);
  ~StartWatch();
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  void run();
  bool readable(int socket, int timeout_ms);
  void answer(int socket);
  std::string text() const;

  int listener_;
  int end_fd_;
  bool over_ = false;
  const HttpGuard& guard_;
  std::span<const ReplayProgress> shards_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::thread thread_;
};

}  // namespace pawl

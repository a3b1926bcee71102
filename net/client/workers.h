// SPDX-License-Identifier: Apache-2.0
// The threads of a Consumer that call its handler, so that a slow handler delays no extension of a
// visibility timeout.
//
//   push() --> queued --> running --verdict--> Verdicts
//                 \--stop()--> discarded: the ConsumerCore releases them
//
// Limits: the queue has at most the Consumer's concurrency.
// Errors: errno of a thread's creation.
// Owner:  one Consumer; push() by its core.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "net/client/pawl/consumer.h"
#include "net/client/verdicts.h"

namespace pawl::client {

class Workers {
 public:
  explicit Workers(Consumer::Handler handler) : handler_(std::move(handler)) {}
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int start(std::uint32_t threads, Verdicts& verdicts);  // 0 or an errno
  // Copies the message.
  void push(const Client::MessageView& message, Consumer::Token token);
  std::size_t queued() const;
  bool is_current() const;  // called by a handler
  // Discards queued messages and waits for running handlers.
  void stop();

 private:
  struct Work {
    Client::Message message;
    Consumer::Token token;
  };
  void run(Verdicts& verdicts);

  const Consumer::Handler handler_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pawl::client

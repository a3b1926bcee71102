// SPDX-License-Identifier: Apache-2.0
#include "net/client/workers.h"

#include <signal.h>

#include <system_error>
#include <utility>

#include "core/base/check.h"

namespace pawl::client {
namespace {

thread_local const Workers* current = nullptr;  // the owners of this thread

}  // namespace

Workers::~Workers() { CHECK(threads_.empty(), "{} threads were not stopped", threads_.size()); }

int Workers::start(std::uint32_t threads, Verdicts& verdicts) {
  CHECK(threads_.empty(), "the threads are started twice");
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  try {
    while (threads_.size() < threads) threads_.emplace_back([this, &verdicts] { run(verdicts); });
  } catch (const std::system_error& failed) {
    error = failed.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) stop();
  return error;
}

bool Workers::is_current() const { return current == this; }

void Workers::push(const Client::MessageView& message, Consumer::Token token) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  queue_.push_back({Client::Message(message), token});
  changed_.notify_one();
}

std::size_t Workers::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Workers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Workers::run(Verdicts& verdicts) {
  current = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const Verdict verdict = handler_(work.message, work.token);
    if (verdict.kind != Verdict::Kind::later) verdicts.complete(work.token, verdict);
    lock.lock();
  }
}

}  // namespace pawl::client

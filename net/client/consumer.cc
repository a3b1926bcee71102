// SPDX-License-Identifier: Apache-2.0
#include "net/client/pawl/consumer.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "core/base/format.h"
#include "net/client/consumer_core.h"
#include "net/client/driver_thread.h"
#include "net/client/endpoint.h"
#include "net/client/process.h"
#include "net/client/workers.h"

namespace pawl {
namespace {

using client::error_of;
using Code = Client::Code;
using Mode = client::Verdicts::Mode;

constexpr std::chrono::days visibility_most{30};  // of a queue's x-max-visibility
constexpr std::uint32_t concurrency_max = 100'000;
constexpr std::uint32_t handler_threads_max = 1024;

}  // namespace

class Consumer::Impl {
 public:
  // On a loop the core calls the handler; otherwise the workers do.
  Impl(const Options& options, Handler handler, bool on_loop)
      : release_timeout_(options.release_timeout),
        workers_(on_loop ? Handler() : handler),
        core_(options,
              on_loop ? std::move(handler) : Handler([this](const auto& message, Token token) {
                workers_.push(message, token);
                return Verdict::later();
              }),
              Clock::now()) {}
  ~Impl() { close(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  int start(std::uint32_t handler_threads) {
    if (const int error = workers_.start(handler_threads, core_.verdicts()); error != 0)
      return error;
    has_thread_ = true;
    const int error = thread_.start([this] { core_.turn(Clock::now()); },
                                    [this] { core_.readiness().wait_until(core_.deadline()); },
                                    [this] { core_.close(); });
    has_thread_ = error == 0;
    return error;
  }

  void turn(Clock::time_point now) {
    if (has_thread_ || in_turn_ || closed() || !is_here()) return;
    in_turn_ = true;
    core_.turn(now);
    in_turn_ = false;
  }

  Client::Result<void> drain(Clock::time_point deadline) {
    if (!is_here()) return std::unexpected(error_of(Code::invalid));
    if (in_turn_ || thread_.is_current() || workers_.is_current())
      return std::unexpected(error_of(Code::busy));
    core_.verdicts().advance(Mode::draining);
    const bool idle = closed() || wait_idle(deadline);
    close();
    if (!idle) return std::unexpected(error_of(Code::timed_out));
    return {};
  }

  client::ConsumerCore& core() { return core_; }
  bool is_here() const { return home_.is_here(); }

 private:
  bool closed() const { return closed_.load(std::memory_order_relaxed); }

  // Lets running handlers end, and releases the messages without a verdict.
  void close() {
    const std::lock_guard lock(closing_);
    if (closed()) return;
    client::Verdicts& verdicts = core_.verdicts();
    verdicts.advance(Mode::draining);
    workers_.stop();
    verdicts.advance(Mode::releasing);
    wait_idle(Clock::now() + release_timeout_);
    closed_.store(true, std::memory_order_relaxed);
    if (thread_.running()) return thread_.stop([&] { verdicts.interrupt(); });
    core_.close();
  }

  bool wait_idle(Clock::time_point deadline) {
    client::Verdicts& verdicts = core_.verdicts();
    if (has_thread_) return verdicts.wait_idle(deadline);
    for (;;) {
      turn(Clock::now());
      if (verdicts.is_idle()) return true;
      if (Clock::now() >= deadline) return false;
      core_.readiness().wait_until(std::min(deadline, core_.deadline()));
    }
  }

  const std::chrono::milliseconds release_timeout_;
  client::Workers workers_;
  client::ConsumerCore core_;
  client::DriverThread thread_;
  const client::HomeProcess home_;
  bool has_thread_ = false;           // else it has the loop form
  bool in_turn_ = false;              // of the loop form
  std::mutex closing_;                // held until the threads have ended
  std::atomic<bool> closed_ = false;  // relaxed: closing_ orders the end of the threads
};

std::string Consumer::problem_of(const Options& options) {
  using std::chrono_literals::operator""s;
  if (options.concurrency < 1 || options.concurrency > concurrency_max)
    return format_text("concurrency: {}; 1 to {}", options.concurrency, concurrency_max);
  if (options.handler_threads < 1 || options.handler_threads > handler_threads_max)
    return format_text("handler_threads: {}; 1 to {}", options.handler_threads,
                       handler_threads_max);
  if (options.wait < 1s || options.wait > 20s)
    return format_text("wait: {} ms; 1000 to 20000 ms", options.wait.count());
  if (options.visibility &&
      (options.visibility->count() < 0 || *options.visibility > visibility_most))
    return format_text("visibility: {} ms; 0 to 2592000000 ms", options.visibility->count());
  if (options.release_timeout.count() < 0)
    return format_text("release_timeout: {} ms; at least 0 ms", options.release_timeout.count());
  if (!options.queue.empty() && options.dead_letter_queue == options.queue)
    return format_text("dead_letter_queue: \"{}\"; another queue than the source",
                       options.dead_letter_queue);
  return client::problem_of(options.endpoint, options.queue);
}

namespace {

// ok, or the reason for which the Consumer cannot work.
Client::Error check(const Consumer::Options& options, const Consumer::Handler& handler) {
  if (!handler || !Consumer::problem_of(options).empty()) return error_of(Code::invalid);
  return {};
}

}  // namespace

Client::Result<Consumer> Consumer::create_on_loop(const Options& options, Handler handler) {
  if (const Client::Error error = check(options, handler); error.code != Code::ok)
    return std::unexpected(error);
  auto impl = std::make_unique<Impl>(options, std::move(handler), true);
  if (const int error = impl->core().readiness().error(); error != 0)
    return std::unexpected(error_of(Code::unreachable, error));
  return Consumer(std::move(impl));
}

Client::Result<Consumer> Consumer::start(const Options& options, Handler handler) {
  if (const Client::Error error = check(options, handler); error.code != Code::ok)
    return std::unexpected(error);
  auto impl = std::make_unique<Impl>(options, std::move(handler), false);
  if (const int error = impl->core().readiness().error(); error != 0)
    return std::unexpected(error_of(Code::unreachable, error));
  if (const int error = impl->start(options.handler_threads); error != 0)
    return std::unexpected(error_of(Code::no_memory, error));
  return Consumer(std::move(impl));
}

Consumer::Consumer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Consumer::Consumer(Consumer&&) noexcept = default;
Consumer& Consumer::operator=(Consumer&&) noexcept = default;
Consumer::~Consumer() {
  // A child of fork() has no thread to stop, and must not end the connection of its parent.
  if (impl_ && !impl_->is_here()) (void)impl_.release();
}

void Consumer::complete(Token token, Verdict verdict) {
  if (impl_->is_here()) impl_->core().verdicts().complete(token, verdict);
}
Client::Result<void> Consumer::drain(Clock::time_point deadline) { return impl_->drain(deadline); }
Consumer::Status Consumer::status() const {
  return impl_->is_here() ? impl_->core().verdicts().status() : Status{};
}
int Consumer::descriptor() const { return impl_->core().readiness().descriptor(); }
Consumer::Clock::time_point Consumer::next_deadline() const { return impl_->core().deadline(); }
void Consumer::on_ready(Clock::time_point now) { impl_->turn(now); }

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/client/pawl/producer.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/base/format.h"
#include "net/client/driver_thread.h"
#include "net/client/endpoint.h"
#include "net/client/process.h"
#include "net/client/producer_core.h"

namespace pawl {
namespace {

using client::error_of;
using Code = Client::Code;

constexpr std::size_t memory_min = 1 << 20;
constexpr std::size_t memory_max = std::size_t{64} << 30;

}  // namespace

class Producer::Impl {
 public:
  Impl(const Options& options, OnComplete on_complete, void* context)
      : core_(options, on_complete, context, Clock::now()) {}
  ~Impl() { close(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // ok, or the reason for which it cannot work.
  Client::Error check() const {
    if (!core_.intake().valid()) return error_of(Code::no_memory);
    const int error = core_.readiness().error();
    return error == 0 ? Client::Error{} : error_of(Code::unreachable, error);
  }
  int start() {
    has_thread_ = true;
    const int error = thread_.start([this] { core_.turn(Clock::now()); },
                                    [this] { core_.readiness().wait_until(core_.deadline()); },
                                    [this] { core_.close(); });
    has_thread_ = error == 0;
    return error;
  }
  void close() {
    const std::lock_guard lock(closing_);
    if (thread_.running()) return thread_.stop([this] { core_.intake().interrupt(); });
    core_.close();
  }

  void turn(Clock::time_point now) {
    if (has_thread_ || in_turn_ || !is_here()) return;
    in_turn_ = true;
    core_.turn(now);
    in_turn_ = false;
  }
  Client::Result<void> flush(Clock::time_point deadline) {
    if (!is_here()) return std::unexpected(error_of(Code::invalid));
    if (in_turn_ || thread_.is_current()) return std::unexpected(error_of(Code::busy));
    client::Intake& intake = core_.intake();
    const std::uint64_t number = intake.request_flush();
    const bool flushed =
        has_thread_ ? intake.wait_flushed(number, deadline) : drive_until_flushed(number, deadline);
    intake.end_flush();
    if (!flushed) return std::unexpected(error_of(Code::timed_out));
    return {};
  }

  client::ProducerCore& core() { return core_; }
  bool is_here() const { return home_.is_here(); }

 private:
  bool drive_until_flushed(std::uint64_t number, Clock::time_point deadline) {
    for (;;) {
      turn(Clock::now());
      if (core_.intake().is_flushed(number)) return true;
      if (Clock::now() >= deadline) return false;
      core_.readiness().wait_until(std::min(deadline, core_.deadline()));
    }
  }

  client::ProducerCore core_;
  client::DriverThread thread_;
  const client::HomeProcess home_;
  bool has_thread_ = false;  // else it has the loop form
  bool in_turn_ = false;     // of the loop form
  std::mutex closing_;       // held until the thread has ended
};

std::string Producer::problem_of(const Options& options) {
  using std::chrono_literals::operator""h;
  using std::chrono_literals::operator""s;
  if (options.memory_limit < memory_min || options.memory_limit > memory_max)
    return format_text("memory_limit: {} bytes; {} to {} bytes", options.memory_limit, memory_min,
                       memory_max);
  if (options.linger.count() < 0 || options.linger > 60s)
    return format_text("linger: {} us; 0 to 60000000 us", options.linger.count());
  if (options.deadline.count() < 1 || options.deadline > 12h)
    return format_text("deadline: {} ms; 1 to 43200000 ms", options.deadline.count());
  return client::problem_of(options.endpoint, options.queue);
}

Client::Result<Producer> Producer::create_on_loop(const Options& options, OnComplete on_complete,
                                                  void* context) {
  if (on_complete == nullptr || !problem_of(options).empty())
    return std::unexpected(error_of(Code::invalid));
  auto impl = std::make_unique<Impl>(options, on_complete, context);
  if (const Client::Error error = impl->check(); error.code != Code::ok)
    return std::unexpected(error);
  return Producer(std::move(impl));
}

Client::Result<Producer> Producer::start(const Options& options, OnComplete on_complete,
                                         void* context) {
  auto producer = create_on_loop(options, on_complete, context);
  if (!producer) return producer;
  if (const int error = producer->impl_->start(); error != 0)
    return std::unexpected(error_of(Code::no_memory, error));
  return producer;
}

Producer::Producer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Producer::Producer(Producer&&) noexcept = default;
Producer& Producer::operator=(Producer&&) noexcept = default;
Producer::~Producer() {
  // A child of fork() has no thread to stop, and must not end the connection of its parent.
  if (impl_ && !impl_->is_here()) (void)impl_.release();
}

SendResult Producer::send(const Client::Outgoing& message, std::uint64_t cookie) {
  return send(message, cookie, Client::SendOptions{});
}

SendResult Producer::send(const Client::Outgoing& message, std::uint64_t cookie,
                          const Client::SendOptions& options) {
  if (!impl_->is_here())
    return {.status = SendResult::Status::invalid,
            .text = "the Producer belongs to the parent process; make another one after fork()"};
  return impl_->core().intake().send(message, cookie, options);
}

Client::Result<void> Producer::flush(Clock::time_point deadline) { return impl_->flush(deadline); }

Client::Result<void> Producer::drain(Clock::time_point deadline) {
  if (!impl_->is_here()) return std::unexpected(error_of(Code::invalid));
  impl_->core().intake().close();
  const auto flushed = impl_->flush(deadline);
  if (flushed || flushed.error().code != Code::busy) impl_->close();
  return flushed;
}

Producer::Status Producer::status() const {
  return impl_->is_here() ? impl_->core().intake().status() : Status{};
}
int Producer::descriptor() const { return impl_->core().readiness().descriptor(); }
Producer::Clock::time_point Producer::next_deadline() const { return impl_->core().deadline(); }
void Producer::on_ready(Clock::time_point now) { impl_->turn(now); }

}  // namespace pawl

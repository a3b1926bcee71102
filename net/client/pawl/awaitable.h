// SPDX-License-Identifier: Apache-2.0
// Sends of a Producer, awaited by C++20 coroutines. It allocates nothing besides the coroutine.
//
//   auto producer = pawl::Producer::start(options, pawl::AwaitedSend::on_complete, nullptr);
//   pawl::AwaitedSend send(*producer, message);
//   const pawl::Client::Result<pawl::Client::Sent> sent = co_await send;
//
// The coroutine continues inside the completion: on the Producer's thread, or in on_ready(). It
// must not block there, and must not destroy the Producer.
//
// g++ 12 copies temporaries of a co_await expression wrongly, and destroys some of them twice. An
// AwaitedSend and its arguments are trivially destructible, so that nothing goes wrong; name
// arguments of your own that are not, before the co_await.
//
// Errors: as those of FutureSend.
// Owner:  the coroutine's frame. The message must live until the co_await begins. A Producer made
//         with AwaitedSend::on_complete takes no other messages.
#pragma once

#include <pawl/future.h>
#include <pawl/producer.h>

#include <coroutine>
#include <cstdint>
#include <type_traits>

namespace pawl {

class AwaitedSend {
 public:
  using Outcome = Client::Result<Client::Sent>;

  AwaitedSend(Producer& producer, const Client::Outgoing& message)
      : producer_(&producer), message_(message) {}

  static bool await_ready() { return false; }
  // False: the message was not accepted, and the coroutine continues at once. Otherwise it may be
  // running in another thread already, and this object may be gone.
  bool await_suspend(std::coroutine_handle<> coroutine) {
    coroutine_ = coroutine;
    const SendResult result = producer_->send(message_, reinterpret_cast<std::uintptr_t>(this));
    if (result.accepted()) return true;
    outcome_ = std::unexpected(error_of(result));
    return false;
  }
  Outcome await_resume() const { return outcome_; }

  static void on_complete(void*, std::uint64_t cookie, const Outcome& outcome) {
    auto* const self = reinterpret_cast<AwaitedSend*>(static_cast<std::uintptr_t>(cookie));
    self->outcome_ = outcome;
    self->coroutine_.resume();
  }

 private:
  Producer* producer_;
  Client::Outgoing message_;
  std::coroutine_handle<> coroutine_{};
  Outcome outcome_{};
};

static_assert(std::is_trivially_destructible_v<AwaitedSend>);
static_assert(std::is_trivially_destructible_v<Client::Outgoing>);

}  // namespace pawl

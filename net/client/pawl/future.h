// SPDX-License-Identifier: Apache-2.0
// Futures of a Producer's messages. Each allocates; the form with cookies does not.
//
//   auto producer = pawl::Producer::start(options, pawl::FutureSend::on_complete, nullptr);
//   std::future<pawl::Client::Result<pawl::Client::Sent>> sent = pawl::FutureSend::send(*producer,
//                                                                                       message);
//
// Errors: a message that send() does not accept is completed at once: would_block (full or
//         throttled; Error::retry_after says for how long), closed or invalid.
// Owner:  a Producer made with FutureSend::on_complete takes no other messages.
#pragma once

#include <pawl/producer.h>

#include <cstdint>
#include <future>
#include <memory>
#include <utility>

namespace pawl {

// The Error of a message that was not accepted.
inline Client::Error error_of(const SendResult& result) {
  using Status = SendResult::Status;
  if (result.status == Status::closed) return {.code = Client::Code::closed};
  if (result.status == Status::invalid) return {.code = Client::Code::invalid};
  return {.code = Client::Code::would_block, .retry_after = result.retry_after};
}

class FutureSend {
 public:
  using Outcome = Client::Result<Client::Sent>;

  static std::future<Outcome> send(Producer& producer, const Client::Outgoing& message) {
    auto promise = std::make_unique<std::promise<Outcome>>();
    std::future<Outcome> future = promise->get_future();
    const auto cookie = reinterpret_cast<std::uintptr_t>(promise.get());
    const SendResult result = producer.send(message, cookie);
    if (result.accepted()) {
      // on_complete() frees it, and may have done so already.
      static_cast<void>(promise.release());
    } else {
      promise->set_value(std::unexpected(error_of(result)));
    }
    return future;
  }

  static void on_complete(void*, std::uint64_t cookie, const Outcome& outcome) {
    const std::unique_ptr<std::promise<Outcome>> promise(
        reinterpret_cast<std::promise<Outcome>*>(static_cast<std::uintptr_t>(cookie)));
    promise->set_value(outcome);
  }
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// SNS for fan-out: topics send their messages to all subscribed queues. Calls use SNS's Query
// protocol (Version 2010-03-31) on the same port as SQS.
//
//   begin --respond--> write_body
//     \--route--> [each of routes() applied] -> resume --respond--> write_body
//                  ^                              |
//                  +------------route-------------+
//
// A publish is one send to each queue whose subscription wants the message. It is answered when all
// queues have acknowledged their sends. If one queue cannot accept the message now, the message
// fails as a whole and must be published again; the other queues then get a duplicate, unless they
// are FIFO. If a queue can never accept it (deleted, message too large), it goes to the
// subscription's dead-letter queue, if there is one.
//
// Limits: message_bytes_max; entries_max a batch; routes_max concurrent sends; page_max list items.
// Errors: none to the caller; every error becomes the response.
// Owner:  the HttpCall. Memory used by the requests stays valid until the next begin().
// Source: SNS API Reference 2010-03-31; "Fanout to Amazon SQS queues"; "Message filtering".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/queue/directory.h"
#include "core/queue/request.h"
#include "proto/aws/call_types.h"
#include "proto/text/form.h"

namespace pawl {

struct SnsState;

// The context of one SNS call.
struct SnsContext {
  const Directory* directory = nullptr;
  const CallSettings* config = nullptr;
  std::string_view account;   // the caller's
  std::string_view base_url;  // the server as the caller addresses it: "http://host:port"
  std::string_view request_id;
  Instant now;
  std::uint64_t request_number = 0;
  std::string_view trace = {};  // the header X-Amzn-Trace-Id; empty: none
};

class SnsCall {
 public:
  static constexpr std::string_view version = "2010-03-31";
  static constexpr std::size_t message_bytes_max = 256 << 10;  // a message; also a whole batch
  static constexpr std::size_t entries_max = 10;
  static constexpr std::size_t routes_max = 16;
  static constexpr std::size_t page_max = 100;
  // Comparisons of messages with filter policies in one turn of the shard. A longer publish
  // continues in another turn.
  static constexpr std::size_t comparisons_a_turn = 50'000;

  SnsCall();
  ~SnsCall();

  CallStep begin(const Form& form, std::string_view action, const SnsContext& context);
  std::span<const CallRoute> routes() const;
  CallStep resume(const Directory& directory);

  std::string_view error_code() const;  // a constant; empty without an error
  std::string_view action() const;      // "Publish"; empty: unknown action
  std::uint16_t status() const;
  void write_body(std::string& out) const;
  std::size_t memory() const;  // approximate bytes held

 private:
  std::unique_ptr<SnsState> state_;
};

}  // namespace pawl

// SNS for fan-out: topics whose messages go to every queue that has subscribed, over the Query protocol of SNS
// (Version 2010-03-31) on the same port as SQS.
//
//   begin --respond--> write_body
//     \--route--> [each of routes() applied] -> resume --respond--> write_body
//                  ^                              |
//                  +------------route-------------+
//
// A publish is a send to each queue whose subscription wants the message. It is answered when all of them have it on
// disk. If one cannot take it now, the publish fails as a whole and is to be sent again: who had it already has it
// twice, unless it is a FIFO queue. A queue that can never take it (deleted, message too large) gets nothing, or
// its subscription's dead-letter queue does.
//
// Limits: message_bytes_max; entries_max a batch; routes_max sends under way; page_max rows of a list.
// Errors: none to the caller; whatever goes wrong becomes the answer.
// Owner:  the SqsCall that it is a part of. Memory that the requests point to lives here until the next begin().
// Source: SNS API Reference 2010-03-31; "Fanout to Amazon SQS queues"; "Message filtering".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/directory.h"
#include "core/request.h"
#include "core/time.h"
#include "proto/form.h"
#include "proto/sqs.h"

namespace pawl {

struct SnsState;

// What SNS is told of a call.
struct SnsContext {
  const Directory* directory = nullptr;
  const SqsConfig* config = nullptr;
  std::string_view account;   // of the caller
  std::string_view base_url;  // how the caller reaches us: "http://host:port"
  std::string_view request_id;
  Instant now;
  std::uint64_t request_number = 0;
};

class SnsCall {
 public:
  static constexpr std::string_view version = "2010-03-31";
  static constexpr std::size_t message_bytes_max = 256 << 10;  // of a message, and of a batch
  static constexpr std::size_t entries_max = 10;
  static constexpr std::size_t routes_max = 16;
  static constexpr std::size_t page_max = 100;
  // Of messages with filter policies: a publish that takes more goes on in another turn of the shard.
  static constexpr std::size_t comparisons_a_turn = 50'000;

  SnsCall();
  ~SnsCall();

  SqsCall::Next begin(const Form& form, std::string_view action, const SnsContext& context);
  std::span<const SqsRoute> routes() const;
  SqsCall::Next resume(const Directory& directory);

  std::string_view action() const;  // "Publish"; empty: none of ours
  std::uint16_t status() const;
  void write_body(std::string& out) const;
  std::size_t memory() const;  // bytes held, about

 private:
  std::unique_ptr<SnsState> state_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// HttpCall: one request of an API of AWS over HTTP, from parsing to the response, in the client's
// protocol. It chooses the API; neither API knows the other.
//
//   begin --respond--> write_response
//     \--route--> [each of routes() applied] --> resume --respond--> write_response
//                  ^                               |
//                  +------------route--------------+
//
// Both AWS protocols work on every path: JSON 1.0 with an X-Amz-Target header, otherwise Query
// (form in, XML or JSON out). Errors use the protocol of the request. Query requests with SNS's
// version go to proto/sns/call.h, requests without an action to a path of EventBridge Scheduler to
// proto/scheduler/call.h.
//
// With keys, every request must be signed by one of them (proto/auth/sigv4.h) and acts for that
// key's account. Policies admit it to queues of other accounts (proto/sqs/policy.h). Unsigned
// requests may only be OPTIONS, or GET and HEAD of / and /health.
//
// Units:  seconds on the wire, Duration in Request.
// Limits: SQS's own: ten entries a batch, ten messages a receive, 1 MiB a message or batch.
// Errors: none to the caller; every failure becomes an error response.
// Owner:  the connection. Requests point into the call, whose memory lives until the next begin(),
//         or into the HttpRequest's buffer, which must live until write_response() returns. A call
//         is reused: in steady state it allocates nothing.
// Source: SQS API Reference 2012-11-05; AWS JSON 1.0 and AWS Query protocols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/queue/directory.h"
#include "proto/aws/call_types.h"
#include "proto/errors/errors.h"
#include "proto/http/parser.h"

namespace pawl {

struct HttpCallState;

class HttpCall {
 public:
  using Next = CallStep;

  HttpCall();
  ~HttpCall();
  HttpCall(HttpCall&&) noexcept;
  HttpCall& operator=(HttpCall&&) noexcept;

  // Largest body of an action without messages.
  static constexpr std::size_t small_body_bytes_max = 256 << 10;
  // Fits 1 MiB of messages with every byte as %XX, or as base64 with every character as %XX.
  static constexpr std::size_t form_bytes_max = 4608 << 10;
  // The largest body of any action that this head allows; larger bodies can be refused unread.
  static std::size_t body_bytes_max(const HttpRequest& head);

  enum class Head : std::uint8_t {
    refused,     // write_response() has the error; the body must not be read
    unverified,  // no fault so far
    verified,    // signed with a configured key, or there are no keys
  };
  // Resets the call and checks the head of a request, before its body has arrived.
  Head check_head(const HttpRequest& http, const CallSettings& config,
                  std::uint64_t request_number);

  // Resets the call, then parses and validates the request. The request id is derived from
  // `request_number`: different numbers give different ids. A counter with a random start is best.
  Next begin(const HttpRequest& http, const Directory& directory, const CallSettings& config,
             Instant now, std::uint64_t request_number);

  // Replaces begin(): the response is an error with the text `why`, in the client's protocol.
  // `status` is 403 (AccessDenied), 413 (RequestEntityTooLarge), 415 (UnsupportedMediaType) or 429
  // (RequestThrottled).
  void deny(const HttpRequest& http, const CallSettings& config, int status, std::string_view why,
            std::uint64_t request_number);

  // The routed requests, at least one. Valid after begin() or resume() returned `route`, until the
  // next begin(). The caller sets their `home` and `waiter`.
  std::span<const CallRoute> routes() const;

  // Continues after every routed request has returned with its out members filled.
  Next resume(const Directory& directory);

  // Appends the whole HTTP response. `date` is an RFC 7231 date. The response announces that the
  // connection stays open if the client asked for it and `may_stay` is true.
  void write_response(std::string& out, std::string_view date, bool may_stay = true);

  // True if the connection may be used for another request; known after begin().
  bool keep_alive() const;

  // Resets the call, so that it can serve another connection.
  void clear();
  std::size_t memory() const;  // bytes held, approximately

  // After begin() or check_head(): the reason for failed authentication, or `none`. verified() is
  // true if the request was signed with a configured key; unsigned requests are never verified.
  AuthFault auth_fault() const;
  bool verified() const;

  // For metrics and logs: the action's name ("SendMessage"; empty when none was recognised) and the
  // HTTP status, which is known once the response is ready.
  std::string_view action() const;
  std::uint16_t status() const;
  // Constants: the protocol, which is json, query, sns, pawl, dev, scheduler or http; and the
  // error's code without a namespace, as "QueueDoesNotExist", empty without an error.
  std::string_view protocol() const;
  std::string_view error_code() const;

 private:
  std::unique_ptr<HttpCallState> state_;
};

}  // namespace pawl

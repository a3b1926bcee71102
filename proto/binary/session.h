// SPDX-License-Identifier: Apache-2.0
// Binary operations: a frame becomes a Request, and its response becomes a frame.
//
//   BinarySession, one per connection:
//     new --HELLO--> greeted --bad frame--> (closed by net/)
//       \--HELLO--> challenged --AUTHENTICATE--> greeted
//
//   BinaryCall, one per frame in flight:
//     idle --begin--> respond | route | close
//     route: net/ carries request() to target() and back, then --resume--> respond | route | close
//     respond: write_response, and the call is idle again
//     close:   write_response, then the connection is closed when that has been sent
//     deliver: write_response writes a DELIVER of a subscription, then --push--> route | pause
//     pause:   the subscription has no credit; push() again when it may have some
//     hand_over: HELLO names a queue of shard target(), where it begins again
//     A subscription's call ends with --end_subscription--> respond.
//
// Responses may be sent in any order: the correlation of the request identifies each.
//
// Units:  wire durations and core Durations are both milliseconds.
// Limits: handles_max open queues per connection; entries_max entries per batch; BinarySettings for
//         the rest.
// Errors: every error is a Status in the response; invalid input has no other effect.
// Owner:  the connection's shard. A BinaryCall owns the bytes and arrays its Request points to and
//         must not move while routed. It keeps its buffers between frames, up to a bound, so that a
//         steady state allocates nothing.
// Source: proto/PROTOCOL.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/queue/directory.h"
#include "core/queue/request.h"
#include "proto/auth/keys.h"
#include "proto/binary/state.h"
#include "proto/binary/subscriptions.h"

namespace pawl {

class BinarySession {
 public:
  static constexpr std::size_t handles_max = BinarySessionState::handles_max;

  bool greeted() const { return state_.greeted; }
  const std::string& client() const { return state_.client; }  // at most 64 bytes
  // Account of the client's key, which limits its access. Empty: the client has no key.
  const std::string& account() const { return state_.account; }
  // False: `keys` no longer holds the key that the client proved.
  bool may_stay(const Keyring* keys) const;
  // The reason for refusing the client; `none` until then.
  AuthFault auth_fault() const { return state_.fault; }
  // Response bytes promised to all calls in flight: the sum of BinaryCall::promised().
  void set_promised(std::size_t bytes) { state_.promised = bytes; }
  // The time of the next calls.
  void set_now(Instant now) { state_.now = now; }
  // Whether the next sends are refused with no_memory: the host holds too many requests.
  void refuse_sends(bool yes) { state_.refuses_sends = yes; }
  Subscriptions& subscriptions() { return state_.subscriptions; }

 private:
  friend class BinaryCall;
  BinarySessionState state_;
};

class BinaryCall {
 public:
  using Next = BinaryNext;

  BinaryCall() = default;
  BinaryCall(const BinaryCall&) = delete;
  BinaryCall& operator=(const BinaryCall&) = delete;

  // `frame` is one complete frame, as long as its header says (parse_header). It is copied.
  Next begin(BinarySession& session, std::string_view frame, const Directory& directory,
             const BinarySettings& config);

  // Valid while routed; target() also after Next::hand_over.
  Request& request() { return *state_.routed; }
  ShardId target() const { return state_.target; }
  // Bytes of the request and of the prepared deliveries. Only while not routed.
  std::size_t memory() const {
    return state_.frame.size() + state_.request.deliveries.size() * sizeof(Delivery) +
           state_.request.route.copied.capacity() + (state_.api == nullptr ? 0 : api_memory());
  }
  // Capacity of its buffers in bytes.
  std::size_t capacity() const;
  // Most message bytes in the response of a RECEIVE; 0 for other operations.
  std::size_t promised() const {
    return state_.request.op == Op::receive ? state_.receive_bytes_max : 0;
  }
  // Call before resume(): bytes free for the response. 0: all deliveries return to their queue.
  void limit_answer(std::size_t bytes) { state_.answer_bytes_max = bytes; }

  // Continues after the request has returned. Contents of RECEIVE deliveries are read here and in
  // write_response(), and must stay valid until that returns.
  Next resume(BinarySession& session, const Directory& directory, const BinarySettings& config);

  // For metrics, before the response is written: the operation, 0 if it is unknown, and the status.
  BinaryOp op() const { return state_.verb == nullptr ? BinaryOp{} : state_.verb->op; }
  Status status() const { return state_.status; }
  // Appends the response. The call is idle afterwards.
  void write_response(std::string& out);

  // --- a subscription's call ---
  // Null: the call is of another verb.
  Subscription* subscription() const { return state_.subscription; }
  // Receives again for the subscription, after its DELIVER was written or after Next::pause.
  Next push(BinarySession& session, const Directory& directory, const BinarySettings& config);
  // Call after a grant of credit: a receive that waits in the connection's own shard gets space for
  // it. False: there is none, or it has the space.
  bool widen();
  // Ends the subscription with `status`; write_response() then writes the response to SUBSCRIBE.
  Next end_subscription(BinarySession& session, Status status);
  // Discards an unwanted response. A call whose response was written is already empty.
  void drop() {
    state_.subscription = nullptr;
    if (!state_.empty) state_.trim();
  }

 private:
  Next run(BinarySessionState& session, BinaryReader& in, const Directory& directory,
           const BinarySettings& config);
  void write_payload(std::string& out) const;
  std::size_t api_memory() const;

  BinaryCallState state_;
};

}  // namespace pawl

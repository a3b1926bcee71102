// SPDX-License-Identifier: Apache-2.0
// CALL: an action of pawl's own API (proto/pawl) in a frame of the binary protocol.
//
//   request   the action, as "PeekMessages", and its members as a JSON object
//   response  the HTTP status and the JSON object that the HTTP port would answer
//
// The requests of one step go to their shards one after the other.
//
// Limits: body_bytes_max, that of the HTTP port.
// Errors: bad_frame without an action; invalid with more bytes; unknown_op with --strict-sqs; those
//         of the action are in the response.
// Owner:  the BinaryCallState, while the call is under way.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "proto/binary/state.h"
#include "proto/pawl/call.h"
#include "proto/sqs/state.h"

namespace pawl {

struct ApiCall {
  static constexpr std::size_t body_bytes_max = 256 << 10;

  SqsState sqs;  // caller, settings and refusal
  PawlCall pawl;
  std::span<const CallRoute> routes;  // of this step
  std::size_t next = 0;               // the first that was not routed yet

  std::size_t memory() const { return sqs.memory() + pawl.memory(); }
};

namespace binary {

BinaryNext call_action(BinaryCallState& s, const BinaryArguments& call);
// After each routed request.
BinaryNext resume_action(BinaryCallState& s);

}  // namespace binary
}  // namespace pawl

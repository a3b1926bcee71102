// SPDX-License-Identifier: Apache-2.0
// The verbs about subscriptions, and the receives that fill their DELIVERs.
//
// Owner:  free functions; session.cc lists them, and calls the last three for BinaryCall.
// Source: proto/PROTOCOL.md
#pragma once

#include "proto/binary/state.h"

namespace pawl::binary {

BinaryNext subscribe(BinaryCallState& s, const BinaryArguments& call);
BinaryNext subscribe_result(BinaryCallState& s, BinarySessionState& session,
                            const Directory& directory);
BinaryNext unsubscribe(BinaryCallState& s, const BinaryArguments& call);

// session.h describes these three.
BinaryNext push(BinaryCallState& s, BinarySessionState& session, const Directory& directory,
                const BinarySettings& config);
bool widen(BinaryCallState& s);
BinaryNext end_subscription(BinaryCallState& s, BinarySessionState& session, Status status);

}  // namespace pawl::binary

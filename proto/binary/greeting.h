// SPDX-License-Identifier: Apache-2.0
// The verbs that begin a connection, and PING.
//
// Owner:  free functions; session.cc lists them.
// Source: proto/PROTOCOL.md
#pragma once

#include "proto/binary/state.h"

namespace pawl::binary {

BinaryNext hello(BinaryCallState& s, const BinaryArguments& call);
BinaryNext authenticate(BinaryCallState& s, const BinaryArguments& call);
BinaryNext ping(BinaryCallState& s, const BinaryArguments& call);

}  // namespace pawl::binary

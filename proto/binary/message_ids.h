// SPDX-License-Identifier: Apache-2.0
// The verbs about messages that are named by their ids: CANCEL, RESCHEDULE.
//
// Units:  milliseconds on the wire.
// Limits: a new delivery time is within QueueConfig::delay_limit().
// Owner:  free functions; session.cc lists the verbs.
// Source: proto/PROTOCOL.md
#pragma once

#include <string>

#include "proto/binary/state.h"

namespace pawl::binary {

BinaryNext cancel(BinaryCallState& s, const BinaryArguments& call);
void write_cancelled(const BinaryCallState& s, std::string& out);
BinaryNext reschedule(BinaryCallState& s, const BinaryArguments& call);

}  // namespace pawl::binary

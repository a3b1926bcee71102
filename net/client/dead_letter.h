// SPDX-License-Identifier: Apache-2.0
// A received message, encoded to be sent to a dead-letter queue.
//
// Body, attributes, trace header and group are kept; a time to live is not. For a FIFO queue the
// deduplication id is the message's own, or else its message id, and the same serves for a missing
// group: a repeated send creates no duplicate.
//
// Owner:  a free function.
// Source: proto/PROTOCOL.md, grammar of `message`
#pragma once

#include <string>

#include "net/client/pawl/client.h"

namespace pawl::client {

// Appends one message of SEND.
void put_dead_letter(std::string& out, const Client::MessageView& message, bool fifo);

}  // namespace pawl::client

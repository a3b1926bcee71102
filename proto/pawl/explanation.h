// SPDX-License-Identifier: Apache-2.0
// explanation: the sentence that tells why a message of a queue is delivered or not, until when,
// and what holds it.
//
// Units:  times are those of the engine.
// Errors: none.
// Owner:  the caller.
#pragma once

#include <string>

#include "core/base/time.h"
#include "core/queue/queue_config.h"
#include "core/queue/request.h"

namespace pawl {

struct Explained {
  const QueueConfig& queue;
  const PeekedMessage* message = nullptr;  // null: the queue has no such message
  const PeekedMessage* blocker = nullptr;  // message->behind; null: it is gone, or there is none
  Instant now;
  const PeekSlice* slice = nullptr;  // of the message, or of where it would be; null: unknown
  Seq number = 0;                    // sought; 0: an id was
};

std::string explanation(const Explained& subject);

// A sentence on how the message came from another queue, with a space before it; empty: it was sent
// to this one.
std::string arrival(const Delivery& delivery, Instant now);

// "12.3 s", "15 min", "7 h", "3 days"; to the nearest hour or day, and never negative.
std::string rough_text(Duration time);

}  // namespace pawl

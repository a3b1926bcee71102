// SPDX-License-Identifier: Apache-2.0
// PeekedWriter: one peeked message in a response, with its state.
//
//   {"MessageId":...,"Body":...,"Attributes":{...},"Number":7,"State":"in_flight",
//    "VisibleAt":1764400000000,"Behind":5}
//
// Behind is the number of the message of its group that it waits for. A message that came from
// another queue keeps its MessageId; "x-id:" and its PlaceId name it in this one. An unreadable
// message has Number and State alone.
//
// Units:  epoch ms, as in SQS.
// Errors: none.
// Owner:  the call.
#pragma once

#include <span>
#include <string>

#include "core/queue/queue_config.h"
#include "core/queue/request.h"
#include "proto/aws/call_types.h"
#include "proto/sqs/message_writer.h"

namespace pawl {

class PeekedWriter {
 public:
  // Appends to `out`; the caller adds commas between messages.
  PeekedWriter(const QueueConfig& queue, const CallSettings& settings, SqsForm form,
               std::string& out, std::string& scratch);

  // With all members. `delivery` is null if the message has no body.
  void write(const PeekedMessage& message, const Delivery* delivery);
  // As ReceiveMessage writes it, with `more` among its attributes.
  void write(const Delivery& delivery, std::span<const MessageWriter::Pair> more);

 private:
  const CallSettings& settings_;
  QueueId queue_;
  SqsResult result_;
  MessageWriter writer_;
};

}  // namespace pawl

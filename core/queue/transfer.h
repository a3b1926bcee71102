// SPDX-License-Identifier: Apache-2.0
// A message on its way from its queue to another one: a dead letter, or a message of a move task.
//
//   source: prepare, hidden --accept--> target: sent, durable --commit--> source: deleted, durable
//     --forget--> target: forgets the transfer key --> done
//
// The source keeps the message, hidden, until the target has it on disk. Only then does the source
// delete it, and only when that delete is on disk does the target forget the transfer key. So at
// every moment at least one log has the message, and at most one queue shows it. A transfer is
// unsettled while the target knows its key. After a crash each target names its unsettled transfers
// (Shard::unsettled_transfers()), and the sources commit them before they serve requests. If the
// target refuses (deleted meanwhile, full), the message returns to its source.
//
// A delete that arrives while the message is hidden waits at the source. Once the target has
// accepted the message, the delete travels on as `deleted`, and is answered when the target has
// deleted the message durably. The delete must find the message there, also if it has been
// received: a message therefore does not move on while it is unsettled (Slot::unsettled).
//
// The stages are one Request that travels over the mesh. It carries a copy, because the source's
// log may free the message meanwhile.
//
// Owner:  the source's shard; in transit, the shard that holds the request.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/queue/kept_content.h"
#include "core/queue/request.h"

namespace pawl {

struct Transfer : KeptContent {
  // The next stage of the transfer; the source has prepared it.
  enum class Stage : std::uint8_t { free, accept, commit, forget, done };

  Request request;  // its queue is the target's
  Stage stage = Stage::free;
  ShardId to{};
  TransferKey from;
  bool fifo = false;
  Seq accepted_seq = 0;  // its number at the target; 0: the target did not accept it
  bool deleted =
      false;  // deletes wait for it at the source: the target deletes it in the forget stage
  std::uint64_t counted = 0;  // bytes counted in the memory of the source
  std::uint32_t task = 0;     // number of the move task; 0: a dead letter
  std::string destination;    // format: QueueName::text(); empty: the message's origin

  // The message. Until its content has been read from the log, `position` locates it.
  LogPos position = log_pos_none;
  Instant sent;
  MessageId id;
  std::uint32_t receive_count = 0;
  Instant first_received;
  Instant last_received;
  Instant ages_from;     // from then its retention counts; 0: from `sent`
  bool expired = false;  // a dead letter whose time ended
  std::string origin;
  std::array<char, 36> uuid{};
};

}  // namespace pawl

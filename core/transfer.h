// A message on its way from its queue to another one: a dead letter, or one that a move task takes.
//
//   source: hidden --arriving--> target: sent, durable --landed--> source: removed, durable
//                                                        --settling--> target: forgets where it came from --> done
//
// It stays in its source, hidden, until the target has it on disk; only then is it removed there, and only when
// that is on disk does the target forget the key under which it took it. So at every moment at least one log
// has the message, and at most one queue shows it: after a crash each target names the keys it still knows
// (Shard::unsettled()), and the source removes those before it serves anybody. A target that refuses
// (deleted meanwhile, no room) leaves the message where it was.
//
// A delete that comes while the message is hidden at its source waits there. When the message has landed the delete
// travels on as `deleted`, and is answered when the target has deleted the message durably. So that it finds the message
// there, whoever has received it, a message does not move on before it is settled (Slot::unsettled).
//
// The hops are one Request that travels over the mesh; what it carries is a copy, for the source's log may let
// go of the message while it is under way.
//
// Owner:  the source's shard; while it is under way the shard that holds the request.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "core/kept_content.h"
#include "core/request.h"
#include "core/time.h"

namespace pawl {

struct Transfer : KeptContent {
  enum class Stage : std::uint8_t { free, arriving, landed, settling, done };

  Request request;  // its queue is the target's
  Stage stage = Stage::free;
  ShardId to{};
  TransferKey from;
  bool fifo = false;
  Seq arrived = 0;       // its number at the target; 0: the target did not put it in
  bool deleted = false;  // deletes wait for it at the source: the target deletes it when it settles
  std::uint64_t counted = 0;  // bytes in the source's account
  std::uint32_t task = 0;     // number of the move task; 0: a dead letter
  std::string destination;    // as QueueName::text() has it; empty: where the message came from

  // The message. Until its content has been read from the log, `position` says where it is.
  LogPos position = log_pos_none;
  Instant sent;
  MessageId id;
  std::uint32_t receive_count = 0;
  Instant first_received;
  Instant last_received;
  std::string origin;
  std::array<char, 36> uuid{};
};

}  // namespace pawl

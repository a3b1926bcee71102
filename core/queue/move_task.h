// SPDX-License-Identifier: Apache-2.0
// Move tasks: redrive of dead letters, as started by StartMessageMoveTask.
//
//   running --all moved--> completed
//      \--cancelled by request--> cancelled      \--cannot go on--> failed
//
// A task belongs to its source queue and lives on that queue's shard and in its log: it continues
// after a restart. Its count is exact: it moves nothing before the record of its start is durable.
//
// Units:  rate in messages a second; Instant ms.
// Limits: one running task a source; tasks_kept of a source are remembered.
// Owner:  core/shard/shard.h.
// Source: SQS API Reference, StartMessageMoveTask, ListMessageMoveTasks, CancelMessageMoveTask.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace pawl {

inline constexpr std::size_t tasks_kept = 10;
inline constexpr std::uint32_t move_rate_max = 500;

struct MoveTask {
  enum class Status : std::uint8_t { running, completed, cancelled, failed };

  QueueId source = QueueId::none;
  std::uint32_t number = 0;  // of the source's tasks, rising from 1
  Status status = Status::running;
  Errc failure =
      Errc::ok;  // of a failed one: no_such_queue, source_unknown, message_numbers_used_up
  std::uint32_t rate = 0;  // 0: as fast as the target takes them
  std::uint64_t moved = 0;
  std::uint64_t to_move = 0;  // visible messages of the source when it was started
  Instant started;
  std::string destination;  // format: QueueName::text(); empty: each message's own source

  bool operator==(const MoveTask&) const = default;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Schedules: rows of the directory that send a message at each of their times. Such a time is a
// fire.
//
//   put or changed --> waits for its next fire --> one message to each target --> waits, or is over
//
// The account of a schedule is "scheduler/<account>", its name "<group>/<name>"; a name without '/'
// is that of a group. One attribute has its definition, which core does not read: a ScheduleReader
// does.
//
// Every shard has all schedules, and sends to its own queues alone. So the message of a fire and
// the memory of this fire are one record in one log: no crash repeats or loses one of both.
//
// Units:  Instant ms of the wall clock.
// Limits: Directory::queues_max and bytes_max.
// Errors: a schedule whose definition cannot be read never fires.
// Owner:  values; the reader is shared by all shards and has no state.
// Source: EventBridge Scheduler API Reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/queue/request.h"

namespace pawl {

class Directory;

// The treatment of fires that are more than missed_after late: the server was down, or its clock
// was set forward.
enum class CatchUp : std::uint8_t { none, last, all };
inline constexpr Duration missed_after = seconds(60);

struct ScheduleTerms {
  bool enabled = false;
  bool skips_overlap = false;  // no message while that of the fire before is in the queue
  bool ends_deleted = false;   // the schedule is deleted after its last fire
  CatchUp catch_up = CatchUp::last;
  Instant from;       // no fire up to here: when it was created or changed
  std::string queue;  // the queue it sends to, as QueueName::text(); empty: it sends to a topic
};

// The message of a fire, for queues of one type and one shard.
struct FiredMessage {
  std::vector<FanOutTarget> targets;
  std::string body;
  std::string attributes, group, dedup_id, notification;  // as in Content
};

class ScheduleReader {
 public:
  virtual ~ScheduleReader() = default;
  // A row without a definition, such as that of a group, has terms that are not enabled.
  virtual ScheduleTerms terms(const QueueConfig& row) const = 0;
  // The first fire after `after`; `never`: none.
  virtual Instant next(const QueueConfig& row, Instant after) const = 0;
  // The messages of a fire for the queues of shard `own`; none: it has no target there. A message
  // without targets, on the control shard: no queue of the server can take it.
  virtual std::vector<FiredMessage> messages(const QueueConfig& row, Instant fire,
                                             const Directory& directory, ShardId own) const = 0;
};

}  // namespace pawl

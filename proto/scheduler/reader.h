// SPDX-License-Identifier: Apache-2.0
// DefinitionReader: what the schedules of the directory do, for the engine that fires them.
//
//   a queue         one message with fired_input()
//   a topic         as a publish of SNS: queues whose subscriptions want Input, raw or enveloped
//   not deliverable the dead-letter queue of the schedule or of the subscription, if it has one
//
// Limits: those of the queues; a message that a queue can never accept is a dead letter.
// Errors: none: a definition that cannot be read never fires.
// Owner:  shared by all shards; the settings never change.
// Source: EventBridge Scheduler User Guide, "Adding context attributes", "Configuring a dead-letter
//         queue".
#pragma once

#include <string>
#include <vector>

#include "core/queue/schedule.h"
#include "proto/aws/call_types.h"

namespace pawl {

class DefinitionReader final : public ScheduleReader {
 public:
  // `base_url`: of the server, for the envelopes of topics: "http://host:port".
  DefinitionReader(const CallSettings& settings, std::string base_url);

  ScheduleTerms terms(const QueueConfig& row) const override;
  Instant next(const QueueConfig& row, Instant after) const override;
  std::vector<FiredMessage> messages(const QueueConfig& row, Instant fire,
                                     const Directory& directory, ShardId own) const override;

 private:
  std::string region_, base_url_;
  Secret secret_;
};

}  // namespace pawl

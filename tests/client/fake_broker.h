// SPDX-License-Identifier: Apache-2.0
// A broker that keeps messages in maps: a small part of SQS, in one thread, without a disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/queue/directory.h"
#include "core/queue/receipt.h"
#include "core/queue/request.h"

namespace pawl {

class FakeBroker {
 public:
  // Applies the request and fills its response. Returns false for a receive that found no message
  // and may wait.
  bool apply(Request& request, Instant now);

  Directory& directory() { return directory_; }

 private:
  struct HeldMessage {
    std::string body, attributes, system, group, dedup_id;
    Instant sent;
    Instant visible_at;
    Instant first_received;
    std::uint32_t receive_count = 0;
    bool in_flight = false;
  };
  using Messages = std::map<Seq, HeldMessage>;

  void create(Request& request, Instant now);
  void change(Request& request);
  void send(Request& request, const QueueConfig& config, Messages& messages, Instant now);
  bool receive(Request& request, const QueueConfig& config, Messages& messages, Instant now);
  void with_receipts(Request& request, Messages& messages, Instant now);
  void count(Request& request, const Messages& messages, Instant now);
  void start_replay(Request& request, const QueueConfig& config, Instant now);
  void cancel_replay(Request& request);

  SipKey receipt_key_{};
  Directory directory_;
  std::uint32_t next_queue_ = 1;
  std::map<std::uint32_t, Seq> next_seq_;
  std::map<std::uint32_t, Messages> queues_;
  // For ever, by queue and deduplication id, or producer and sequence.
  std::map<std::uint32_t, std::map<std::string, Seq>> deduplicated_;
  std::map<std::uint32_t, std::vector<ReplayTask>>
      replays_;  // newest first; no task ends by itself
};

}  // namespace pawl

// ReceiveRequestAttemptId: a receive from a FIFO queue whose answer was lost may be asked again.
//
// Within five minutes the same attempt id gets the same messages with the same handles, their visibility
// begun anew, as long as none of them was deleted, changed or became visible again. Attempts are not on
// disk: after a restart the messages of one are in flight and come back by their timeouts.
//
// Limits: attempts_max a queue; the oldest goes first.
// Owner:  one FIFO queue of one shard.
// Source: SQS API Reference, ReceiveMessage.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/ids.h"
#include "core/ring_queue.h"
#include "core/time.h"

namespace pawl {

struct Attempted {  // a message as it was handed out
  Seq seq = 0;
  std::uint32_t nonce = 0;
  Instant deadline;
};

class Attempts {
 public:
  static constexpr std::size_t attempts_max = 10'000;
  static constexpr Duration window = seconds(300);

  // What the attempt got, to be read and brought up to date; null: there is none.
  std::vector<Attempted>* find(const TextKey& id, Instant now);
  void put(const TextKey& id, std::vector<Attempted> messages, Instant now);
  void clear();

 private:
  struct Old {
    TextKey id;
    Instant until;
  };
  void forget(Instant now, std::size_t keep);

  std::map<TextKey, std::vector<Attempted>> by_id_;
  RingQueue<Old> old_;  // in the order they were made
};

}  // namespace pawl

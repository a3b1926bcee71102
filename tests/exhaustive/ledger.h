// SPDX-License-Identifier: Apache-2.0
// Ledger: the requests to a broker, its responses, and the messages it must have after a crash.
//
//   not asked -> asked (may be) -> yes (must be) | no (must not be)      for a send, and for a delete
//
// A message is identified by its body, which begins with its number. It is in one of several
// queues: dead-letter moves and move tasks transfer it.
//
// Errors: check() describes the first error in one sentence; empty: none.
// Owner:  values; a copy is a snapshot.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/queue/queue_config.h"
#include "core/queue/request.h"

namespace pawl::exhaustive {

enum class Said : std::uint8_t { nothing, asked, yes, no };

// A delivered message and its queue.
struct Found {
  std::size_t queue = 0;
  std::size_t message = 0;
};

class Ledger {
 public:
  struct Queue {
    std::string name;
    bool fifo = false;
    ShardId owner{};
    std::vector<AttributeChange> changes;
    Said made = Said::nothing;
    Said gone = Said::nothing;
    std::uint64_t goes_to = 0;  // a bit for each queue its messages may move to
    Seq newest = 0;             // the highest number of all answered sends
  };
  struct Text {  // requests in progress point at it
    std::string body, attributes, group, dedup;
  };
  struct SentMessage {
    std::size_t queue = 0;
    std::uint64_t queues = 0;  // a bit for each queue it may be in
    std::shared_ptr<const Text> text;
    Said sent = Said::nothing;
    Said gone = Said::nothing;
    bool forgotten = false;  // purged: its deduplication may have ended
  };

  std::vector<Queue> queues;
  std::vector<SentMessage> messages;
  std::uint64_t version = 0;  // rises with every request and response

  std::size_t add_queue(Queue queue);
  std::size_t add_message(std::size_t queue, std::size_t bytes, std::string group);
  // From now on messages of `from` may move to `to`.
  void link(std::size_t from, std::size_t to);
  Content content(std::size_t message) const;
  // The number of the message; npos: it was not sent, or its content differs.
  static constexpr std::size_t npos = SIZE_MAX;
  std::size_t which(const Content& content) const;

  // Checks the deliveries after a crash. The broker reported `unreadable` more messages as
  // unreadable.
  std::string check(const std::vector<Found>& found, std::uint64_t unreadable = 0) const;

 private:
  std::string check_order(const std::vector<Found>& found) const;
};

}  // namespace pawl::exhaustive

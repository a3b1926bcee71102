// Ledger: what was asked of a broker, what it has answered, and therefore what must be there after a crash.
//
//   not asked -> asked (may be) -> yes (must be) | no (must not be)      for a send, and likewise for being gone
//
// A message is known by its body, which begins with its number. It is in one of some queues: dead letters and move
// tasks take it from one to the other.
//
// Errors: check() says what is wrong in one sentence; empty: nothing.
// Owner:  values; copies are what was known at some moment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/queue_config.h"
#include "core/request.h"

namespace pawl::exhaustive {

enum class Said : std::uint8_t { nothing, asked, yes, no };

// As a receive hands it out.
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
    Seq newest = 0;             // of all sends that were answered
  };
  struct Text {  // that requests under way point at
    std::string body, attributes, group, dedup;
  };
  struct Message {
    std::size_t queue = 0;
    std::uint64_t places = 0;  // a bit for each queue it may be in
    std::shared_ptr<const Text> text;
    Said sent = Said::nothing;
    Said gone = Said::nothing;
    bool forgotten = false;  // purged: its deduplication may have ended
  };

  std::vector<Queue> queues;
  std::vector<Message> messages;
  std::uint64_t version = 0;  // rises with every answer and question

  std::size_t add_queue(Queue queue);
  std::size_t add_message(std::size_t queue, std::size_t bytes, std::string group);
  // From now on messages may go from one queue to another.
  void link(std::size_t from, std::size_t to);
  Content content(std::size_t message) const;
  // Which message this is; npos: none that was sent, or not as it was sent.
  static constexpr std::size_t npos = SIZE_MAX;
  std::size_t which(const Content& content) const;

  // What a broker has shown after a crash. `unreadable`: so many more it said it could not read.
  std::string check(const std::vector<Found>& found, std::uint64_t unreadable = 0) const;

 private:
  std::string check_order(const std::vector<Found>& found) const;
};

}  // namespace pawl::exhaustive

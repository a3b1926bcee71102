// SPDX-License-Identifier: Apache-2.0
// The order of the groups of a FIFO queue in a Consumer: one message of a group is with the handler
// at a time, and the later ones wait for its verdict.
//
//   take() --first of its group--> with the handler --end()--> the next one may begin
//      \--> waiting -------------------------^
//                  \--stop()--> released, behind the message that is to come again
//
// Limits: the messages that the Consumer holds.
// Errors: none.
// Owner:  one ConsumerCore.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pawl::client {

class GroupOrder {
 public:
  using Index = std::uint32_t;  // of a held message
  static constexpr Index none = 0xFFFF'FFFF;

  // True: the message is handled now. False: it waits.
  bool take(std::string_view group, Index message);
  // Ends the turn of a message that take() or next() has let begin.
  void end(Index message);
  // Ends it, and returns the messages that wait in its group: they are to be released.
  std::vector<Index> stop(Index message);
  // A waiting message whose turn has come; none: there is none.
  Index next();
  // Forgets all messages, because all are released.
  void clear();

 private:
  struct Group {
    Index active = none;
    std::deque<Index> waiting;
  };
  using Groups = std::unordered_map<std::string, Group>;

  Groups groups_;                                          // those with a message
  std::unordered_map<Index, Groups::value_type*> active_;  // by the message with the handler
  std::deque<Groups::value_type*> ready_;                  // without one, and with waiting ones
};

}  // namespace pawl::client

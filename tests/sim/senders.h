// SPDX-License-Identifier: Apache-2.0
// Senders: the simulated clients that number their messages and send them again until a response
// settles them (core/queue/producers.h).
//
//   new --number()--> in flight --accepted, or refused for good--> settled
//                       ^    |
//                       |    +-- refused for now, the client dropped, a crash --+
//                       +-------------- number() picks it again ----------------+
//
// After a drop a call that is still under way may be decided behind a call that sends its messages
// again.
//
// Owner: the clients of one simulation.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "tests/sim/call.h"
#include "tests/sim/random.h"

namespace pawl::sim {

class Senders {
 public:
  explicit Senders(const Random& random) : random_(random) {}

  // Gives the sends of a call sequences, some of which were sent before.
  void number(Call& call);
  void answered(const Call& call);
  void dropped(std::uint32_t client);
  void crashed();

 private:
  struct Sender {
    std::uint32_t number = 0;
    std::uint64_t id = 0;
    std::uint32_t next = 1;
    std::map<std::uint32_t, bool> unsettled;  // by sequence; true: in flight
    std::uint64_t connection = 0;             // number of the client's connection
  };

  std::uint32_t pick(Sender& sender);

  Random random_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sender> senders_;  // by client and queue
  std::uint32_t made_ = 0;
  std::uint64_t connections_ = 0;
};

}  // namespace pawl::sim

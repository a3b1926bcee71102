// SPDX-License-Identifier: Apache-2.0
// ScheduleRun: schedules of one seed, through crashes, power cuts, steps of the clock, time off,
// full disks, changes and deletions.
//
// Its model knows of each schedule its definitions, and of each queue the fires received from it:
//
//   a fire comes once         never twice to a queue, whatever happens
//   a fire is not early       the wall clock has shown its time
//   a fire is one of its own  a definition of the schedule names the time, behind its change
//   no fire is forgotten      catch=all sends each, catch=last at least the last one
//   a message waits alone     with `skip`, no other of the schedule is in the queue
//
// Owner: one seed of pawl_sim, or a test.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/every_so_often.h"
#include "tests/sim/plan.h"
#include "tests/sim/simulated_broker.h"
#include "tests/sim/trace.h"

namespace pawl::sim {

class ScheduleRun : public BrokerObserver {
 public:
  ScheduleRun(std::uint64_t seed, bool print);
  // False: an invariant is broken; trace() has it.
  bool run();
  const Trace& trace() const { return trace_; }
  std::uint64_t received() const { return received_; }

  void on_response(ShardId home, Request& request) override;
  void on_turn(const Turn&) override {}

 private:
  struct Target {
    std::string name;
    QueueId id = QueueId::none;
    ShardId owner{};
    bool anew = false;  // it was deleted and made again
    // The fires of each schedule that were received, with the numbers of their messages.
    std::map<std::string, std::map<std::int64_t, Seq>> seen;
  };
  struct Definition {
    std::int64_t every_ms = 0, from_ms = 0;
  };
  struct Planned {
    std::string name, queue;  // "*": all
    QueueId id = QueueId::none;
    std::string options;
    std::vector<Definition> definitions;  // the last one holds
    bool changed = false, paused = false, gone = false;
  };

  void start(std::int64_t jump_ms);
  void crash();
  void turns(std::uint64_t us);
  void pass(std::uint64_t ms);
  bool ask(Request& request, ShardId to);
  void act();
  void make_queue(Target& target);
  void make_schedule();
  void change(Planned& planned);
  void fill_log();
  void receive(Target& target, bool all);
  void take(Target& target, const std::string& body, Seq seq);
  void conclude();
  void check_all_came(const Planned& planned, const Target& target);
  std::string definition_of(const Planned& planned) const;
  std::int64_t wall_ms();
  bool in_trouble() const { return !trace_.ok(); }

  Trace trace_;
  Random random_;
  Plan plan_;
  EverySoOften reader_;
  SimulatedBroker world_;
  std::set<const Request*> answered_;
  std::vector<std::string> bodies_;  // of the last receive
  std::set<std::string> batch_;      // schedules of its messages
  std::vector<Target> targets_;
  std::deque<Target> fillers_;  // one on each shard
  std::deque<Planned> schedules_;
  std::int64_t newest_wall_ms_ = 0;
  bool stepped_ = false;  // the wall clock was set while the broker ran
  std::uint64_t received_ = 0;
};

}  // namespace pawl::sim

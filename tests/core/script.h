// A behaviour of the broker in one line: steps separated by |, run against a World.
//
//   run("queue q visibility=30 | send q a | receive q -> a#1 | receive q -> none | advance 30s | receive q -> a#2")
//
// A message is named by its body, a delivery of it by body#receive_count; that is also the name of its
// receipt handle. After `->` stands the answer: deliveries, `none`, the name of an error, `pending`.
// Without it the answer must be `ok` (a request whose entries differ names each).
//
//   queue Q [ATTR=N...]    set Q ATTR=N...    drop Q        attributes: visibility delay retention wait
//                                                           fifo=1 scope=1 (by group); max_receive=N dlq=Q
//   send Q MESSAGE... [delay=T]                             fill Q N   (N messages)
//     a message is BODY or GROUP:BODY or GROUP:BODY:DEDUP; in a FIFO queue DEDUP is the body if not given;
//     the answer to a duplicate is the number of the first: same_as_N
//   receive Q [max=N] [visibility=T] [wait=T] [attempt=ID] [as W]   take Q N (N messages, bodies not named)
//   W -> ...               what has become of a long poll   cancel W
//   delete Q HANDLE...     change Q T HANDLE...             undeliver Q [attempt=ID] HANDLE...
//   purge Q                count Q -> visible/in flight/delayed
//   move Q [to=Q] [rate=N]    stop_move Q N -> moved    moves Q -> N:STATUS:moved/to_move[:failure] ...
//   advance T   jump T     wakes at every deadline on the way; sleeps through them
//   gather ... go          the requests between them are answered in one turn
//   hold   flush   flush_one   crash [T]   restart [T] (flush, crash)  down for T
//   rotate                 a checkpoint: nothing older is read at a start
//   slice                  one slice of it -> more, or ok: that was the last
//   set_aside Q BODY       its body cannot be read     damage Q BODY  nor when the message is to move
//   stored -> N            messages the log still has to keep
//   numbers_left Q N       its numbers are used up but for N; a crash forgets that unless a checkpoint has it
//
// Times are seconds, or have a unit: 50ms 3s 2m 12h 4d.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/core/world.h"

namespace pawl::test {

class Script {
 public:
  explicit Script(const ShardLimits& limits = {}) : world_(limits) {}
  void run(std::string_view steps);
  World& world() { return world_; }
  QueueId queue(const std::string& name) const { return queues_.at(name); }
  const ReceiptHandle& handle(const std::string& name) const { return handles_.at(name); }

 private:
  struct Step {
    std::string verb;
    std::vector<std::string> words;              // after the verb, but for options and the answer
    std::map<std::string, std::string> options;  // name=value, and `as` name
    std::string expected;                        // words after ->, joined
  };
  static Step parse(std::string_view text);
  static std::vector<AttributeChange> attributes(const Step& step);
  Letter letter(QueueId queue, const std::string& word);
  static Duration duration(const std::string& text);

  std::string perform(const Step& step);
  std::string perform_request(const Step& step);
  std::string perform_move(const Step& step);
  std::string perform_on_disk(const Step& step);
  std::string receive(const Step& step);
  std::string in_bulk(const Step& step);
  std::string with_handles(Op op, const Step& step);
  std::string outcome(const Ask& ask);
  std::string deliveries(const Ask& ask);

  World world_;
  std::map<std::string, QueueId> queues_;
  std::map<std::string, ReceiptHandle> handles_;
  std::map<std::string, Ask*> waiting_;
};

void run(std::string_view steps, const ShardLimits& limits = {});

}  // namespace pawl::test

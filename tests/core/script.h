// SPDX-License-Identifier: Apache-2.0
// A behaviour of the broker in one line: steps separated by |, run against a ShardHarness.
//
//   run("queue q visibility=30 | send q a | receive q -> a#1 | receive q -> none | advance 30s | receive q -> a#2")
//
// A message is named by its body, and a delivery by body#receive_count, as is its receipt handle.
// After `->` follows the answer: deliveries, `none`, the name of an error, `pending`. Without `->`
// the answer must be `ok`. A request whose entries have different results names each result.
//
//   queue Q [ATTR=N...]    set Q ATTR=N...    drop Q
//     ATTR: visibility delay retention wait fifo=1 scope=1 (by group) max_receive dlq=Q durability
//           max_delay max_visibility ttl dlq_on_expiry=1 from_move=1 pass=1
//   send Q MESSAGE... [delay=T] [ttl=T]                     fill Q N   (N messages)
//     MESSAGE is BODY, GROUP:BODY or GROUP:BODY:DEDUP; in a FIFO queue DEDUP defaults to the body.
//     A duplicate is answered with the number of the first message: same_as_N.
//   once Q BODY... [by=ID] [first=SEQUENCE] [floor=SEQUENCE] [delay=T]
//     The messages of a producer; the options are 1 by default.
//   receive Q [max=N] [visibility=T] [wait=T] [attempt=ID] [as W]
//   take Q N               receives N messages, bodies not named
//   W -> ...               the answer of receive W          cancel W
//   delete Q HANDLE...     change Q T HANDLE...             undeliver Q [attempt=ID] HANDLE...
//   snooze Q T HANDLE...   returns deliveries as uncounted
//   cancel_id Q N... [even=1]   by number, even in flight -> ok or gone for each
//   plan Q T N...          by number: the next delivery
//   purge Q                count Q -> visible/in flight/delayed
//   peek Q [from=N] [looks=N] [space=N] [states=BITS]
//     -> BODY:STATE[#receives][+ms][<number] ... [next=N]
//     +ms until it is visible; <number of the message of its group that it waits for; a message
//     that is not in the log is named by its number
//   move Q [to=Q] [rate=N]    stop_move Q N -> moved
//   moves Q -> N:STATUS:moved/to_move[:failure] ...
//   advance T              wakes at every deadline on the way      jump T  wakes only at the end
//   gather ... go          answers the requests between them in one turn
//   hold   flush   flush_one   crash [T]   restart [T] (flush, crash)  down for T
//   rotate                 writes a checkpoint; recovery reads nothing older
//   slice                  one slice of a checkpoint -> more, or ok after the last one
//   set_aside Q BODY       makes the body unreadable now
//   damage Q BODY          makes the body unreadable when the message is moved
//   stored -> N            messages that the log must keep
//   numbers_left Q N       leaves N message numbers; only a checkpoint makes that durable
//
// Times are seconds, or have a unit: 50ms 3s 2m 12h 4d.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/core/shard_harness.h"

namespace pawl::test {

class Script {
 public:
  explicit Script(const ShardLimits& limits = {}) : world_(limits) {}
  void run(std::string_view steps);
  std::string answer(std::string_view step) { return perform(parse(step)); }
  ShardHarness& world() { return world_; }
  QueueId queue(const std::string& name) const { return queues_.at(name); }
  const ReceiptHandle& handle(const std::string& name) const { return handles_.at(name); }

 private:
  struct Step {
    std::string verb;
    std::vector<std::string> words;              // after the verb, without options and answer
    std::map<std::string, std::string> options;  // name=value, and `as` name
    std::string expected;                        // words after ->, joined
  };
  static Step parse(std::string_view text);
  static std::vector<AttributeChange> attributes(const Step& step);
  GroupedMessage message(QueueId queue, const std::string& word);
  static Duration duration(const std::string& text);

  std::string perform(const Step& step);
  std::string perform_request(const Step& step);
  std::string perform_move(const Step& step);
  std::string perform_on_disk(const Step& step);
  std::string send_once(const Step& step);
  std::string receive(const Step& step);
  std::string peek(const Step& step);
  std::string in_bulk(const Step& step);
  std::string with_handles(Op op, const Step& step);
  std::string by_number(Op op, const Step& step);
  std::string outcome(const Ask& ask);
  std::string deliveries(const Ask& ask);

  ShardHarness world_;
  std::map<std::string, QueueId> queues_;
  std::map<std::string, ReceiptHandle> handles_;
  std::map<std::string, Ask*> waiting_;
};

void run(std::string_view steps, const ShardLimits& limits = {});

}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
// Clients: the simulated clients, which send, receive and delete. As the BrokerObserver of the
// SimulatedBroker they pass every response to the Model, in the order in which the shards decided.
//
// A dropped client does the same as a closing connection (net/connection/connection.cc): it cancels
// its long polls, and returns messages that are delivered to one of them nevertheless.
//
// Owner: one simulation.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/call.h"
#include "tests/sim/model.h"
#include "tests/sim/plan.h"
#include "tests/sim/random.h"
#include "tests/sim/senders.h"
#include "tests/sim/simulated_broker.h"

namespace pawl::sim {

class Clients final : public BrokerObserver {
 public:
  Clients(const Plan& plan, Trace& trace);
  void use(SimulatedBroker& world, Model& model);

  // One random client begins one action, if it has a free call. Returns the operations begun.
  std::uint64_t act() { return act_as(static_cast<std::uint32_t>(random_.below(plan_.clients))); }
  // Submits more requests at once than a mesh ring holds. Returns the operations to count for them.
  std::uint64_t burst();
  void drop(std::uint32_t client);
  void drop_all();

  // --- for the scheduler: receives, deletes and counts on all queues ---
  void count_all();
  bool receive_and_delete(std::uint32_t queue);
  bool delete_held();  // false: no receipt handle was held
  void send_one(std::uint32_t queue);
  void list_queues();
  void peek_all();
  void list_all();
  void create_all();

  std::size_t under_way() const { return under_way_.size(); }
  void check_rest();
  void crashed();
  // Whether a client may submit its next request while it handles a response.
  void go_on(bool may) { may_go_on_ = may; }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t deliveries() const { return deliveries_; }

  // --- BrokerObserver ---
  void on_response(ShardId home, Request& request) override;
  void on_turn(const Turn& turn) override;

 private:
  struct Held {
    std::uint32_t queue = 0;
    std::uint32_t message = 0;
    ReceiptHandle handle{};
  };
  static constexpr std::size_t held_max = 128;

  Call& make(Op op, std::uint32_t client, std::uint32_t queue);
  void begin(Call& call);
  void submit(Call& call);
  void list_queues(ShardId shard, QueueId from, bool figures);
  Call& peek(std::uint32_t client, std::uint32_t queue, Seq from, std::uint64_t bytes_max);
  void finish(Call& call);
  void recognise(Call& call);
  void recognise_peeked(Call& call);
  void put_in_order(Call& call);
  void hear(Call& call, const Turn& turn);
  void deliver_in_order(const Turn& turn);
  void undeliver(Call& call);
  std::uint64_t act_as(std::uint32_t client);
  bool perform(Act act, std::uint32_t client);
  bool pick_queue(std::uint32_t& queue);
  void send(std::uint32_t client, std::uint32_t queue, std::size_t entries);
  void number_sends(Call& call);
  void fan_out(Call& first);
  void publish(std::vector<Call*>& calls);
  void take_numbers(std::uint32_t client);
  void take_outcomes();
  void share_answer(Call& first);
  void receive(std::uint32_t client, std::uint32_t queue);
  bool delete_under_way(std::uint32_t client);
  bool with_handles(Op op, std::uint32_t client);
  bool by_id(Op op, std::uint32_t client, std::uint32_t queue);
  std::vector<std::uint32_t> some_messages(std::uint32_t queue, bool born);
  void create(std::uint32_t client);
  void set(std::uint32_t client, std::uint32_t queue);
  bool move(Act act, std::uint32_t client, std::uint32_t queue);
  bool replay(Act act, std::uint32_t client, std::uint32_t queue);
  std::string replay_destination(const QueueRow& source);
  bool is_own(std::uint32_t queue) const;
  bool pick_source(std::uint32_t& queue);
  std::uint32_t pick_group();
  std::uint32_t pick_dedup(Random& random, const std::string& name);
  bool is_fifo(std::uint64_t name) const { return name < plan_.fifo_names; }
  std::string queue_name(std::uint64_t name) const;
  std::string own_name(bool source) const;
  static std::string full_name(std::string_view name);
  std::vector<AttributeChange> fifo_attributes(std::uint64_t name) const;
  void add_backoff(std::uint64_t name, std::vector<AttributeChange>& changes) const;
  void add_policy(std::uint64_t name, std::vector<AttributeChange>& changes);
  static void add_policy(const std::string& target, std::int64_t max,
                         std::vector<AttributeChange>& changes);
  std::vector<AttributeChange> some_attributes(std::uint64_t name);
  Held take_held(bool keep);

  Plan plan_;
  Trace* trace_;
  SimulatedBroker* world_ = nullptr;
  Model* model_ = nullptr;
  Random random_;
  Random numbered_;  // which sends have a producer
  Random shared_;    // which sends are to several queues
  Random lives_;     // the times to live of messages
  Random by_id_;     // which messages are named by their ids, and what is done to them
  Senders senders_;
  std::vector<ShardId> homes_;       // home shard of each client
  std::vector<std::uint32_t> busy_;  // calls under way of each client
  std::deque<Call> calls_;           // all calls since the last startup
  std::vector<Call*> under_way_;
  std::vector<Call*> answers_;  // responses of the current turn
  std::vector<Call*> heard_;    // reused memory of on_turn()
  std::vector<Held> held_;
  std::uint64_t next_number_ = 1;
  std::uint32_t next_text_ = 1000;  // next number of a text; smaller numbers are group texts
  std::vector<std::uint32_t> attempts_;
  // Deduplication ids in use, by queue name.
  std::map<std::string, std::vector<std::uint32_t>> dedups_;
  bool may_go_on_ = true;
  std::uint64_t replays_ = 0;  // replay tasks started so far
  std::uint64_t refused_ = 0;
  std::uint64_t deliveries_ = 0;
};

}  // namespace pawl::sim

// Clients: who sends, receives and deletes. They are the Audience of the World: every answer is told to the
// Model, in the order in which the shards decided.
//
// A client that is dropped does what a closing connection does (net/connection/connection.cc): its long polls are
// cancelled, and what is delivered to one all the same is given back.
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
#include "tests/sim/world.h"

namespace pawl::sim {

class Clients final : public Audience {
 public:
  Clients(const Plan& plan, Trace& trace);
  void use(World& world, Model& model);

  // One client does one thing, if any has a call free. Returns the operations begun.
  std::uint64_t act() { return act_as(static_cast<std::uint32_t>(random_.below(plan_.clients))); }
  // Many requests at once from one shard to another.
  std::uint64_t burst();
  void drop(std::uint32_t client);
  void drop_all();

  // --- for the scheduler's own use: receives, deletes and counts of everything ---
  void count_all();
  bool receive_and_delete(std::uint32_t queue);
  bool delete_held();  // false: there were none
  void send_one(std::uint32_t queue);
  void list_all();
  void create_all();

  std::size_t under_way() const { return under_way_.size(); }
  void check_rest();
  void crashed();
  // Whether clients may ask again from within an answer.
  void go_on(bool may) { may_go_on_ = may; }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t deliveries() const { return deliveries_; }

  // --- Audience ---
  void answered(ShardId home, Request& request) override;
  void turned(const Turn& turn) override;

 private:
  struct Held {
    std::uint32_t queue = 0;
    std::uint32_t message = 0;
    ReceiptHandle handle{};
  };
  static constexpr std::size_t held_max = 128;

  Call& make(Op op, std::uint32_t client, std::uint32_t queue);
  void submit(Call& call);
  void finish(Call& call);
  void recognise(Call& call);
  void put_in_order(Call& call);
  void hear(Call& call, const Turn& turn);
  void deliver_in_order(const Turn& turn);
  void give_back(Call& call);
  std::uint64_t act_as(std::uint32_t client);
  bool perform(Act act, std::uint32_t client);
  bool pick_queue(std::uint32_t& queue);
  void send(std::uint32_t client, std::uint32_t queue, std::size_t entries);
  void receive(std::uint32_t client, std::uint32_t queue);
  bool delete_under_way(std::uint32_t client);
  bool with_handles(Op op, std::uint32_t client);
  void create(std::uint32_t client);
  void set(std::uint32_t client, std::uint32_t queue);
  bool move(Act act, std::uint32_t client, std::uint32_t queue);
  bool replay(Act act, std::uint32_t client, std::uint32_t queue);
  std::string replay_destination(const QueueRow& source);
  bool is_own(std::uint32_t queue) const;
  bool pick_source(std::uint32_t& queue);
  std::uint32_t pick_group();
  std::uint32_t pick_dedup(std::uint32_t queue);
  bool is_fifo(std::uint64_t name) const { return name < plan_.fifo_names; }
  std::string queue_name(std::uint64_t name) const;
  std::string own_name(bool source) const;
  static std::string full_name(std::string_view name);
  std::vector<AttributeChange> fifo_attributes(std::uint64_t name) const;
  void add_policy(std::uint64_t name, std::vector<AttributeChange>& changes);
  std::vector<AttributeChange> some_attributes(std::uint64_t name);
  Held take_held(bool keep);

  Plan plan_;
  Trace* trace_;
  World* world_ = nullptr;
  Model* model_ = nullptr;
  Random random_;
  std::vector<ShardId> homes_;       // of clients
  std::vector<std::uint32_t> busy_;  // calls of each client
  std::deque<Call> calls_;           // since the last start
  std::vector<Call*> under_way_;
  std::vector<Call*> answers_;  // of the turn that is being run
  std::vector<Call*> heard_;    // memory for turned()
  std::vector<Held> held_;
  std::uint64_t next_number_ = 1;
  std::uint32_t next_text_ = 1000;  // above the groups
  std::vector<std::uint32_t> attempts_;
  std::map<std::string, std::vector<std::uint32_t>> dedups_;  // used, by queue name
  bool may_go_on_ = true;
  std::uint64_t replays_ = 0;  // starts asked for
  std::uint64_t refused_ = 0;
  std::uint64_t deliveries_ = 0;
};

}  // namespace pawl::sim

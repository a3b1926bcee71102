// Model: what the broker may do, as a table of messages. It is fed by requests, by their answers, and by the
// parts of a request that its shard fills in when it decides (read when that turn is over); it never looks
// into the broker.
//
//   asked --decided--> unacked --answered--> acked --> gone (deleted, purged, expired, queue deleted)
//                         \--crash--> doubtful --delivered--> acked
//
// What cannot be known is a range: a request of another shard is decided somewhere between its submission
// and its answer; after a crash a lazy record (a delivery, a change of visibility) is there or not. As soon
// as a delivery shows which, the range is a number again. A check fails only when no value of the range
// could explain what was seen.
//
// Units:  Instant of the broker's clock; steps are turns.
// Errors: a broken invariant goes to the Trace under its name; README.md has the table of names.
// Owner:  one simulation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/call.h"
#include "tests/sim/trace.h"
#include "tests/sim/world.h"

namespace pawl::sim {

// What a message's record of deliveries may say.
struct View {
  std::uint64_t step = 0;       // the turn, or the answer, that made it so
  Range received;               // receive count
  Instant from_low, from_high;  // when it may be received (again)
  Instant first;                // of its first delivery; 0: none, or not known
  std::uint32_t nonce = 0;
  bool nonce_known = true;
};

struct Message {
  enum class Sent : std::uint8_t { asked, refused, unacked, acked, doubtful };
  enum class Gone : std::uint8_t { no, maybe, yes };

  std::uint32_t queue = 0;
  std::uint64_t body_at = 0;  // in the pool of bytes
  std::uint32_t body_bytes = 0, system_bytes = 0, sender_bytes = 0;
  bool with_md5 = false;

  Sent sent = Sent::asked;
  Gone gone = Gone::no;
  const char* why = "";
  Seq seq = 0;
  std::uint64_t decided_step = 0;
  std::uint64_t acked_step = 0;
  Instant sent_at;
  Instant latest;  // the newest time that was ever seen when it was sent
  bool sender_is_local = false;

  View view;
  std::vector<View> past;     // views that a crash may bring back, oldest first
  std::uint32_t removes = 0;  // requests under way
  std::uint32_t moves = 0;    // changes of visibility and returns under way
  Duration moved{0};          // the longest timeout that one of them asks for
};

struct QueueRow {
  enum class State : std::uint8_t { live, doubtful, deleted };

  State state = State::live;
  QueueId id = QueueId::none;
  ShardId owner{};
  std::string name;
  std::uint64_t deleted_step = 0;
  std::uint32_t deletes = 0, purges = 0, sets = 0;  // requests under way
  std::uint64_t set_step = 0;
  Range visibility, delay, wait;                      // ms
  std::int64_t retention_min = 0, retention_max = 0;  // ms, ever
  Range purged{-1,
               -1};  // when the last purge that was answered happened, ms; -1: none, or forgotten
  Instant purged_high = Instant{-1};    // the latest that any may have happened
  std::vector<std::uint32_t> messages;  // not known to be gone
  std::vector<std::uint32_t> by_seq;    // message + 1
};

class Model {
 public:
  Model(const World& world, Trace& trace);

  // --- content: messages are made here, so that what is delivered can be told from its id ---
  std::uint32_t make_message(std::uint32_t queue, std::uint64_t body_bytes, Random& random);
  void fill(std::uint32_t message, Content& content, const std::uint64_t& name) const;
  // Which message this is; checks every byte of it. UINT32_MAX: a broken invariant.
  std::uint32_t recognise(const Delivery& delivery);

  // --- requests ---
  void asked(Call& call);
  void decided_sends(Call& call, const Turn& turn);
  // One delivery, in the order of the deciding shard.
  void delivered(const Call& call, std::size_t index, const Turn& turn);
  void answered(Call& call, const Turn& turn);
  void gives_back(
      const Call& call);  // an abandoned receive was delivered to, and is on its way back

  // --- the broker ---
  void turned(const Turn& turn);
  void draining() { draining_ = true; }
  void rested(std::uint64_t step);  // long enough for what was decided by then to be on disk
  void crashed();
  void stopped();
  void started();

  // --- checks ---
  // At rest nobody may be parked while something is ready, and nothing else may be under way.
  void check_rest(const Call& call);
  // A long poll that is still under way after this turn of its shard.
  void check_overdue(const Call& call, const Turn& turn);
  // A receive came back with room left: was anything ready that it should have got?
  void check_short(const Call& call, const Turn& turn);

  // All that could be received was: what did not come must have been allowed not to.
  void conclude();

  // --- for clients ---
  const std::vector<QueueRow>& queues() const { return queues_; }
  const Message& message(std::uint32_t id) const { return messages_[id]; }
  // Messages of the queue that must still come, and the time by which the last of them must be ready.
  std::size_t owed(const QueueRow& queue) const;
  Instant last_ready(const QueueRow& queue) const;

 private:
  QueueRow& row(const Call& call) { return queues_[call.queue]; }
  QueueRow& row(const Message& message) { return queues_[message.queue]; }
  const QueueRow& row(const Message& message) const { return queues_[message.queue]; }
  struct ShardView {
    Instant now, fired;
    Instant
        swept;  // messages past their retention had gone by then; after a start the first turn does it
    std::uint64_t durable_step = 0;  // what was decided up to this turn survives a crash
  };

  // model_queues.cc
  void answered_create(const Call& call);
  void answered_delete(const Call& call);
  void answered_set(const Call& call);
  void answered_purge(const Call& call, const Turn& turn);
  void answered_count(const Call& call, const Turn& turn);
  bool queue_answers(const Call& call);
  void adopt_config(const Call& call, const QueueConfig& config, QueueRow& queue);
  std::uint32_t add_queue(const QueueConfig& config);
  void lose_all(QueueRow& queue, const char* why);
  static void widen(QueueRow& queue, const AttributeChange& change);

  // model.cc
  void answered_send(const Call& call, const Turn& turn);
  void answered_receive(const Call& call, const Turn& turn);
  void answered_remove(const Call& call);
  void answered_change(const Call& call, const Turn& turn);
  void answered_return(const Call& call, const Turn& turn);
  void take_seq(std::uint32_t id, Seq seq);
  void check_delivery(std::uint32_t id, const Delivery& delivery, const Turn& turn);
  void lose(Message& message, const char* why);
  void set_view(Message& message, View view);
  void roll_back(Message& message, std::uint64_t durable_step);
  bool surely_alive(const Message& message) const;
  bool surely_ready(const Message& message, std::uint64_t step, Instant fired) const;
  bool may_be_expired(const Message& message) const;
  bool must_be_expired(const Message& message, Instant fired) const;
  // The first and last time at which the call may have been decided, as of the turn that answers it.
  Instant decided_low(const Call& call) const;
  Instant decided_high(const Call& call, const Turn& turn) const;
  void durable(ShardId shard, std::uint64_t step);
  void tidy(QueueRow& queue);

  const World* world_;
  Trace* trace_;
  std::vector<Message> messages_;
  std::vector<QueueRow> queues_;
  std::map<std::uint32_t, std::uint32_t> by_id_;  // QueueId -> row
  std::map<std::string, std::uint32_t> creates_;  // under way, by name
  std::vector<ShardView> shards_;
  bool draining_ = false;
};

}  // namespace pawl::sim

// Model: what the broker may do, as a table of messages. It is fed by requests, by their answers, and by the
// parts of a request that its shard fills in when it decides (read when that turn is over); it never looks
// into the broker.
//
//   asked --decided--> unacked --answered--> acked --> gone (deleted, purged, expired, queue deleted)
//                        |\--crash--> doubtful --delivered--> acked
//                        \--answered before it is on disk--> early --known to be on disk--> acked
//                                                              \--crash--> doubtful
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
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/sim/call.h"
#include "tests/sim/replays.h"
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
  enum class Sent : std::uint8_t { asked, refused, unacked, early, acked, doubtful };
  enum class Gone : std::uint8_t { no, maybe, yes };

  std::uint32_t queue = 0;
  std::uint64_t body_at = 0;  // in the pool of bytes
  std::uint32_t body_bytes = 0, system_bytes = 0, sender_bytes = 0;
  bool with_md5 = false;
  std::uint32_t group = 0, dedup = 0;  // numbers of texts; 0: none

  Sent sent = Sent::asked;
  Gone gone = Gone::no;
  const char* why = "";
  Seq seq = 0;
  Durability promised = Durability::fsync;  // by the answer
  std::uint64_t start = 0;                  // the broker's, at which it was answered early
  std::uint64_t decided_step = 0;
  std::uint64_t acked_step = 0;  // since then it is known to be on disk
  Instant sent_at;
  Instant latest;    // the newest time that was ever seen when it was sent
  Instant aged;      // the earliest that its retention may count from
  Instant received;  // last
  bool sender_is_local = false;

  // Moves. Until it is seen again, a message that wanders may be in any queue that its own one leads to.
  bool wanders = false;
  std::uint64_t arrived_step = 0;
  bool returned = false;  // was delivered to nobody, once: its queue's delay is over for it
  std::string origin;     // of a dead letter
  std::string uuid;       // what it is deduplicated by since it was a dead letter of a FIFO queue
  QueueId born_queue = QueueId::none;  // what its id is made of
  Seq born_seq = 0;

  View view;
  std::vector<View> past;     // views that a crash may bring back, oldest first
  std::uint32_t removes = 0;  // requests under way
  std::uint32_t moves = 0;    // changes of visibility and returns under way
  std::uint32_t returns = 0;  // of these
  Duration moved{0};          // the longest timeout that one of them asks for
};

// A set of queue names, by the number that the model gives each of them; runs know only a few.
using Names = std::uint64_t;
inline constexpr std::size_t names_max = 64;

// Where dead letters go; `target` empty: nowhere.
struct Policy {
  std::string target;
  std::int64_t max = 0;
  bool operator==(const Policy&) const = default;
};

// Who was accepted under a deduplication id.
struct First {
  Seq seq = 0;
  Instant at;
  std::uint64_t step = 0;
  bool sure = true;
};

// The deduplication scopes of a queue, true: of a group. The older one is in force until a window after the change.
struct ScopeState {
  bool before = false, now = false;
  bool changed = false;
  Instant low, high;   // when it was changed
  bool fresh = false;  // by a request that is under way
  // The state that the change was made in.
  bool base_before = false, base_now = false, base_changed = false;
  Instant base_low, base_high;

  // Whether that scope may be in force at a time between the two.
  bool may_hold(bool of_group, Instant from, Instant to) const;
  bool both_count(Instant at) const { return changed && at < low + dedup_window * 2; }
  bool both_may_count(Instant at) const { return changed && at < high + dedup_window * 2; }
  bool operator==(const ScopeState&) const = default;
};

// What a ReceiveRequestAttemptId got.
struct Attempt {
  Instant at;
  std::uint64_t step = 0;
  bool sure = true;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> messages;  // and their nonces
};

struct TaskRow {
  MoveTask sure;  // as it was seen last, and is on disk
  MoveTask seen;
  std::uint64_t step = 0;
  std::uint64_t low_step = 0;  // it was seen so after this turn
  Instant low_fired;
  bool answered = false;  // its start; until then only lists have told of it
};

// When the queues of a name were deleted last.
struct Deletion {
  Instant sure;    // not before this, and the deletion was answered
  Instant latest;  // not after this, if one that was never answered took place

  void may_be(Instant at) { latest = std::max(latest, at); }
  void was(Instant low, Instant high) { sure = low, may_be(high); }
};

struct QueueRow {
  enum class State : std::uint8_t { live, doubtful, deleted };

  State state = State::live;
  QueueId id = QueueId::none;
  ShardId owner{};
  std::string name, full_name;  // "account/name"
  Names bit = 0;                // its own
  std::uint64_t deleted_step = 0;
  std::uint32_t deletes = 0, purges = 0, sets = 0;  // requests under way
  std::uint64_t set_step = 0;
  Range visibility, delay, wait;  // ms
  Range durability;
  std::int64_t retention_min = 0, retention_max = 0;  // ms, ever
  Range purged{-1,
               -1};  // when the last purge that was answered happened, ms; -1: none, or forgotten
  Instant purged_high = Instant{-1};              // the latest that any may have happened
  std::vector<std::uint32_t> messages;            // not known to be gone
  std::unordered_map<Seq, std::uint32_t> by_seq;  // numbers may be far apart

  // FIFO.
  bool fifo = false;
  std::vector<ScopeState> scopes;  // one of them holds
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<First>> firsts;  // group, id
  std::map<std::uint32_t, Attempt> attempts;
  std::map<std::uint32_t, std::uint64_t> lost_step;  // when one of the group was last known to go
  std::set<std::uint32_t> attempts_asked;            // since the start
  // One of the group has come to another queue, and this one may not have heard of it: until all rests, or a start.
  std::set<std::uint32_t> letting_go;

  // Moves.
  std::vector<Policy> policies;  // one of them holds
  Instant policy_known;          // since when there is one alone
  Names exits = 0;               // queues that messages may have gone to, ever
  bool moves_home = false;       // and those that dead letters of this one came from
  bool may_move = false;         // a task may be running
  std::uint32_t starts = 0;      // requests under way
  std::uint64_t start_step = 0;
  std::uint64_t starts_asked = 0;
  std::vector<TaskRow> tasks;
  std::vector<const Call*> receives;  // under way
  Instant looked;                     // all others were decided by then
  std::uint64_t moves_listed_step = 0;
  std::uint64_t emptied_step = 0;  // a task was completed after this turn
  std::uint64_t emptied_seen = 0;  // and known to be in this one
  Instant emptied_fired;
  bool start_lost = false;  // a crash came before a task's start was known to be on disk
  std::uint64_t unseen_hops = 0;  // at most: messages that may have been deleted while they moved
  std::uint64_t hops = 0;   // messages seen that a task has taken from here

  ReplaysOfQueue replays;
  std::uint64_t known_step = 0;  // its create was answered after this turn
};

// The redrive policy that the changes set, if they set one.
std::optional<Policy> policy_of(const std::vector<AttributeChange>& changes);

class Model {
 public:
  Model(const World& world, Trace& trace);

  // --- content: messages are made here, so that what is delivered can be told from its id ---
  std::uint32_t make_message(std::uint32_t queue, std::uint64_t body_bytes, Random& random);
  // What users of FIFO and fair queues add; 0: none.
  void name_group(std::uint32_t message, std::uint32_t group, std::uint32_t dedup);
  std::string_view text_of(std::uint32_t number) const;
  void fill(std::uint32_t message, Content& content, const std::uint64_t& name) const;
  // Which message or copy this is; checks every byte of it. UINT32_MAX: a broken invariant.
  std::uint32_t recognise(const Call& call, const Delivery& delivery);

  // --- requests ---
  void asked(Call& call);
  // Those that were accepted, of all calls of the turn; then what is a duplicate of them.
  void decided_sends(Call& call, bool duplicates, const Turn& turn);
  // One delivery, in the order of the deciding shard.
  void delivered(Call& call, std::size_t index, const Turn& turn);
  // All of a call's deliveries are told.
  void attempted(const Call& call, const Turn& turn);
  void answered(Call& call, const Turn& turn);
  void cancelled(const Call& call) { looked(call); }
  // A delete that was decided in this very turn.
  void decided_remove(Call& call, const Turn& turn);
  void gives_back(
      const Call& call);  // an abandoned receive was delivered to, and is on its way back

  // --- the broker ---
  void turned(const Turn& turn);
  void draining() { draining_ = true; }
  void rested(std::uint64_t step);  // long enough for what was decided by then to be on disk
  void crashed(bool in_order = false);
  void stopped();
  // The disk of the shard may let go of what is kept for replay; until it is healed.
  void disk_is_full(std::uint32_t shard);
  void disks_healed();
  void bit_flipped();
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
  // The next receive from the queue sends the message to another one.
  bool about_to_move(std::uint32_t id, std::uint32_t at) const;
  // Messages may be on their way between queues.
  bool any_wanders() const;
  // After everything was drained, and the tasks were listed again.
  void check_tasks_ended();
  bool any_replay() const;
  void check_replays();
  std::uint64_t copies() const { return copies_.size(); }
  std::uint64_t replays_proved() const { return replays_proved_; }

 private:
  QueueRow& row(const Call& call) { return queues_[call.queue]; }
  QueueRow& row(const Message& message) { return queues_[message.queue]; }
  const QueueRow& row(const Message& message) const { return queues_[message.queue]; }
  struct ShardView {
    Instant now, fired;
    Instant
        swept;  // messages past their retention had gone by then; after a start the first turn does it
    std::uint64_t durable_step = 0;    // what was decided up to this turn survives a crash
    std::vector<std::uint32_t> early;  // messages answered before that was known
    std::vector<std::pair<std::uint32_t, std::uint64_t>>
        removed_early;  // in which turn at the latest
  };

  // model_queues.cc
  void answered_create(const Call& call);
  void check_name_waits(const Call& call);
  void check_name_waited(const QueueConfig& config, const Deletion& last);
  void answered_delete(const Call& call, const Turn& turn);
  void answered_set(const Call& call, const Turn& turn);
  void answered_purge(const Call& call, const Turn& turn);
  void answered_count(const Call& call, const Turn& turn);
  bool queue_answers(const Call& call);
  void adopt_config(const Call& call, const QueueConfig& config, QueueRow& queue);
  std::uint32_t add_queue(const QueueConfig& config);
  void lose_all(QueueRow& queue, const char* why);
  void widen(QueueRow& queue, const AttributeChange& change);

  // model_order.cc
  void check_order(const Call& call, std::size_t index);
  void check_groups(const Call& call, std::uint64_t step, std::uint64_t known, Instant fired,
                    std::string_view name);
  void judge_send(QueueRow& queue, const Message& message, const SendEntry& entry,
                  const Turn& turn);
  bool is_again(const Call& call, const Message& message, std::uint32_t nonce) const;
  void refused_attempt(const Call& call, const Turn& turn);
  bool may_stop_short(const Call& call) const;
  std::set<std::uint32_t> groups_arriving(std::uint32_t at) const;
  void redelay(QueueRow& queue);
  void crashed_in_order(QueueRow& queue, std::uint64_t durable_step);
  void asked_scope(QueueRow& queue, bool of_group, Instant at);
  void may_change_scope(QueueRow& queue, bool of_group, Instant at);
  void settle_scope(QueueRow& queue, bool of_group, Instant low, Instant high);
  void end_scope_changes(QueueRow& queue);
  void forget_firsts(QueueRow& queue, std::uint64_t step, bool exact);
  void check_expired_handle(const Call& call, std::size_t index, const Turn& turn);
  bool surely_held(const Message& message, const ReceiptEntry& entry, const Call& call,
                   Instant high) const;

  // model_moves.cc
  Names bit_of(std::string_view full_name);
  Names reach(std::uint32_t from) const;
  bool leads_to(std::uint32_t from, std::uint32_t to) const {
    return (reach(from) & queues_[to].bit) != 0;
  }
  const QueueRow* surely_there(const std::string& target, const QueueRow& source) const;
  void may_leave(Message& message);
  void may_leave(QueueRow& queue);
  void may_vanish(const QueueRow& queue);
  void arrive(std::uint32_t id, std::uint32_t at, const Delivery& delivery, const Turn& turn);
  bool arrive_dead(Message& message, const Delivery& delivery, const QueueRow& at, Names reached);
  bool check_place(const Call& call, const Message& message, const Delivery& delivery, bool again);
  void looked(const Call& call);
  bool surely_here(const Message& message, const QueueRow& queue, std::uint64_t step) const;
  bool names_place(const ReceiptEntry& entry, const Message& message) const;
  void lead_on(QueueRow& queue);
  void settle_policy(QueueRow& queue, const Policy& policy);
  void add_policy(QueueRow& queue, const Policy& policy);
  void asked_start(Call& call, QueueRow& queue);
  void answered_start(const Call& call);
  void answered_cancel(const Call& call);
  void answered_list(const Call& call, const Turn& turn);
  void see_task(const Call& call, QueueRow& queue, const MoveTask& task, const Turn& turn);
  void check_failure(const QueueRow& queue, const MoveTask& task);
  void tasks_crashed(QueueRow& queue, std::uint64_t durable_step);

  // model_replays.cc
  std::uint32_t copy_of(const Call& call, std::uint32_t original, const Delivery& delivery);
  void delivered_copy(Call& call, std::size_t index, const Turn& turn);
  void check_copied_order(QueueRow& queue, const Copy& copy, std::string_view dedup);
  bool may_have_copies(const QueueRow& queue) const {
    return copied_into_.contains(queue.full_name);
  }
  bool may_wander_to(std::uint32_t original, std::uint32_t at) const;
  bool may_be_copied_into(std::uint32_t original, std::uint32_t at, std::size_t tasks) const;
  static bool sends_again(const ReplayRow& replay, const QueueRow& source, std::uint32_t original);
  void asked_replay(Call& call, QueueRow& queue);
  void answered_replay(const Call& call);
  void answered_cancel_replay(const Call& call);
  void answered_list_replays(const Call& call, const Turn& turn);
  void see_replay(const Call& call, QueueRow& queue, const ReplayTask& task, const Turn& turn);
  void check_replay_failure(const QueueRow& queue, const ReplayRow& replay);
  void replays_crashed(QueueRow& queue, std::uint64_t durable_step, bool in_order);
  void asked_retention(QueueRow& queue, std::int64_t kept_s);
  void settle_retention(QueueRow& queue, std::int64_t kept_s);
  void forget_copies(QueueRow& queue, std::uint64_t step);
  bool keeps_copies(const QueueRow& queue) const;
  void check_copies(std::uint32_t at);

  // model.cc
  void answered_send(const Call& call, const Turn& turn);
  void answered_receive(const Call& call, const Turn& turn);
  void answered_remove(const Call& call, const Turn& turn);
  void answered_change(const Call& call, const Turn& turn);
  void answered_return(const Call& call, const Turn& turn);
  void check_memory(const Call& call);
  void take_seq(std::uint32_t id, Seq seq);
  void check_used_up(const QueueRow& queue);
  void check_delivery(const Call& call, std::uint32_t id, const Delivery& delivery, bool again,
                      const Turn& turn);
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
  void removes_undone(ShardView& shard);
  void check_promise(const Call& call);
  void check_windows() const;
  void tidy(QueueRow& queue);

  const World* world_;
  Trace* trace_;
  std::vector<Message> messages_;
  std::vector<QueueRow> queues_;
  std::map<std::uint32_t, std::uint32_t> by_id_;  // QueueId -> row
  std::map<std::string, std::uint32_t> creates_;  // under way, by name
  std::map<std::string, Deletion> deletions_;     // by name
  std::vector<ShardView> shards_;
  std::uint64_t starts_ = 0;
  std::uint64_t rested_step_ = 0;             // whatever had been moved by then is settled
  std::int64_t retention_least_ = INT64_MAX;  // of any queue, ever; ms
  bool draining_ = false;
  std::deque<Copy> copies_;
  std::set<std::string> copied_into_;  // full names of the destinations of replay tasks
  std::set<std::uint32_t> full_disks_;
  std::uint64_t replays_proved_ = 0;                   // messages that had to come again, and did
  bool any_wandered_ = false;                          // if not, nobody needs to look for what does
  std::vector<std::string> names_;                     // full ones, by number
  mutable std::vector<std::optional<Names>> reached_;  // known answers
};

}  // namespace pawl::sim

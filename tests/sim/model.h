// SPDX-License-Identifier: Apache-2.0
// Model: the permitted behaviour of the broker, as a table of messages. Its input is requests,
// their responses, and the fields that a shard fills in when it decides a request (read after that
// turn). It never looks into the broker.
//
//   asked --decided--> unacked --answered--> acked --> gone (deleted, purged, expired, queue deleted)
//                        |\--crash--> doubtful --delivered--> acked
//                        \--answered before it is on disk--> early --known to be on disk--> acked
//                                                              \--crash--> doubtful
//
// An unknown value is a range. The decision on a request of another shard falls somewhere between
// submission and response. After a crash a lazy record (a delivery, a change of visibility) may be
// there or not. Once a delivery shows which, the range is a number again. A check fails only when
// no value of the range could explain the observation.
//
// Units:  Instant of the broker's clock; steps are turns.
// Errors: a broken invariant is reported to the Trace by name; INVARIANTS.md lists the names.
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
#include "tests/sim/features.h"
#include "tests/sim/replays.h"
#include "tests/sim/simulated_broker.h"
#include "tests/sim/trace.h"

namespace pawl::sim {

// Upper half of `attributes`; the message's id is the lower half.
constexpr std::uint64_t name_mark = std::uint64_t{0x70'61'77'6c} << 32;
constexpr Instant long_ago{0};
constexpr Duration life_endless = seconds(1'000'000'000);

// Possible contents of a message's delivery record.
struct View {
  std::uint64_t step = 0;       // turn or response that caused it
  Range received;               // receive count
  Instant from_low, from_high;  // bounds of the time from which it may be received (again)
  Instant first;                // time of the first delivery; 0: none, or unknown
  std::uint32_t nonce = 0;
  bool nonce_known = true;
  bool given_back = false;  // as uncounted: perhaps no handle holds the message any more
  bool leased = false;      // a delivery with a visibility timeout was the last that happened to it
  bool scheduled = false;   // it may have a delivery time, and not be in flight until then
  bool idle = false;        // it surely has one
  bool durable = false;     // no crash takes it back

  // A delivery does not count, and the message may be received again from then on; `sure`: no
  // other change came between.
  void uncount(bool sure, Instant low, Instant high);
};

struct ModelMessage {
  enum class Sent : std::uint8_t { asked, refused, unacked, early, acked, doubtful };
  enum class Gone : std::uint8_t { no, maybe, yes };

  std::uint32_t queue = 0;
  std::uint64_t body_at = 0;  // position in the pool of random bytes
  std::uint32_t body_bytes = 0, system_bytes = 0, sender_bytes = 0;
  bool with_md5 = false;
  std::uint32_t group = 0, dedup = 0;        // numbers of texts; 0: none
  std::uint32_t shares = UINT32_MAX;         // the message of which it has the content
  std::uint32_t producer = 0, sequence = 0;  // number of the producer, 0: none

  Sent sent = Sent::asked;
  Gone gone = Gone::no;
  const char* why = "";
  Seq seq = 0;
  Durability promised = Durability::fsync;  // durability in the response
  std::uint64_t start = 0;                  // number of the broker's startup at the early response
  std::uint64_t decided_step = 0;
  std::uint64_t acked_step = 0;  // step from which it is known to be on disk
  Instant sent_at;
  Instant latest;             // newest time that the broker had shown when it was sent
  Instant aged;               // earliest time from which its retention may count
  Instant received;           // time of the last delivery
  std::uint8_t consumer = 0;  // of the last delivery; 0: none since the startup
  bool sender_is_local = false;

  // Moves. A wandering message may be in any queue reachable from its own, until it is seen again.
  bool wanders = false;
  bool passed = false;  // a later one of its group was received: it has left its queue for good
  std::uint64_t arrived_step = 0;
  bool returned = false;   // a delivery was returned: its queue's delay no longer applies
  bool own_delay = false;  // nor does it to this one of a FIFO queue
  bool cancelled = false;  // in flight, it is never delivered again
  Duration life{0};        // its time to live in its queue; 0: none
  // Bounds of the end of that; `never`: none, or unknown.
  Instant dies = never, dead = never;
  FeatureSet features = 0;
  DeadLetterReason reason = DeadLetterReason::none;
  std::string origin;  // original queue of a dead letter
  std::string uuid;    // deduplication id since it was a dead letter of a FIFO queue
  QueueId born_queue = QueueId::none;  // its message id derives from this and born_seq
  Seq born_seq = 0;

  View view;
  std::vector<View> past;     // views that a crash may restore, oldest first
  std::uint32_t deletes = 0;  // deletes under way
  std::uint32_t moves = 0;    // changes of visibility and returns under way
  std::uint32_t returns = 0;  // the returns among `moves`
  Duration moved{0};          // longest timeout that one of `moves` requests
};

// The envelope of a message that shares its content with others.
inline constexpr std::string_view shared_note = "a note that all envelopes have";
constexpr MessageId subscription_of(std::uint32_t message) { return {1, message}; }

// In the place of a producer: a topic, of which a standard queue gets each message once.
inline constexpr std::uint32_t publisher = UINT32_MAX;

// A set of queue names: one bit for each name. A run uses only a few names.
using Names = std::uint64_t;
inline constexpr std::size_t names_max = 64;

// Redrive policy: target of dead letters (empty: none) and receive limit.
struct Policy {
  std::string target;
  std::int64_t max = 0;
  bool operator==(const Policy&) const = default;
};

// A message that was accepted under a deduplication id, or a producer's sequence.
struct First {
  Seq seq = 0;
  Instant at;
  std::uint64_t step = 0;
  bool sure = true;
};

// Deduplication scopes of a queue; true means per group. The older scope stays in force for one
// window after a change.
struct ScopeState {
  bool before = false, now = false;
  bool changed = false;
  Instant low, high;   // bounds of the time of the change
  bool fresh = false;  // made by a request that is under way
  // State before the change.
  bool base_before = false, base_now = false, base_changed = false;
  Instant base_low, base_high;

  // Whether the scope may be in force at some time between `from` and `to`.
  bool may_hold(bool of_group, Instant from, Instant to) const;
  bool both_count(Instant at) const { return changed && at < low + dedup_window * 2; }
  bool both_may_count(Instant at) const { return changed && at < high + dedup_window * 2; }
  bool operator==(const ScopeState&) const = default;
};

// Result of a receive with a ReceiveRequestAttemptId.
struct Attempt {
  Instant at;
  std::uint64_t step = 0;
  bool sure = true;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> messages;  // messages and their nonces
};

struct TaskRow {
  MoveTask sure;  // last state seen that is on disk
  MoveTask seen;
  std::uint64_t step = 0;
  std::uint64_t low_step = 0;  // the list that showed `seen` was decided after this turn
  Instant low_fired;
  bool answered = false;  // the start has a response; until then only lists show the task
};

// Time of the last deletion of a queue with this name.
struct Deletion {
  Instant sure;    // lower bound of the last answered deletion
  Instant latest;  // upper bound, unanswered deletions included

  void may_be(Instant at) { latest = std::max(latest, at); }
  void was(Instant low, Instant high) { sure = low, may_be(high); }
};

struct QueueRow {
  enum class State : std::uint8_t { live, doubtful, deleted };

  State state = State::live;
  QueueId id = QueueId::none;
  ShardId owner{};
  std::string name, full_name;  // "account/name"
  Names bit = 0;                // bit of its own name
  std::uint64_t deleted_step = 0;
  std::uint32_t deletes = 0, purges = 0, sets = 0;  // requests under way
  std::uint64_t set_step = 0;
  Range visibility, delay, wait;  // ms
  Range durability;
  Range backoff;              // ms, of all steps; a queue's policy never changes
  bool at_lease_end = false;  // spent messages go without a receive
  bool apart = false;         // retention counts from the delivery time; never changes
  // x-message-ttl, x-dlq-on-expiry, x-retention-from=move; they never change.
  Duration life{0};
  bool moves_expired = false, ages_from_move = false;
  std::int64_t retention_min = 0, retention_max = 0;  // ms, smallest and largest so far
  // Time of the last answered purge, ms; -1: none.
  Range purged{-1, -1};
  Instant purged_high = Instant{-1};              // upper bound of the time of any purge
  std::vector<std::uint32_t> messages;            // messages not known to be gone
  std::unordered_map<Seq, std::uint32_t> by_seq;  // a hash map: numbers may be far apart

  // By group and deduplication id; in a standard queue by producer and sequence.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<First>> firsts;

  // Given to published messages, with the turn; 0: answered, so that a crash does not free it.
  std::map<Seq, std::uint64_t> numbers;
  bool gives_numbers = false;

  // FIFO.
  bool fifo = false;
  Range passes;                    // 1: x-fifo-delay=pass; both: a change is under way
  bool passed_once = false;        // it may have had x-fifo-delay=pass
  std::vector<ScopeState> scopes;  // possible states; one is true
  std::map<std::uint32_t, Attempt> attempts;
  std::map<std::uint32_t, std::uint64_t> lost_step;  // by group: last step at which a message went
  std::set<std::uint32_t> attempts_asked;            // since the startup
  // Groups with a message that has arrived in another queue while this queue may not know it yet.
  // Cleared at rest and by a crash.
  std::set<std::uint32_t> letting_go;

  // Moves.
  std::vector<Policy> policies;  // possible policies; one is in force
  Instant policy_known;          // time since when only one is possible
  Names exits = 0;               // queues that messages may have gone to, ever
  bool moves_home = false;       // and to the original queues of its dead letters
  bool may_move = false;         // a move task may be running
  std::uint32_t starts = 0;      // start requests under way
  std::uint64_t start_step = 0;
  std::uint64_t starts_asked = 0;
  std::vector<TaskRow> tasks;
  std::vector<const Call*> receives;  // receives under way
  Instant looked;                     // all other receives were decided by then
  std::uint64_t moves_listed_step = 0;
  std::uint64_t emptied_step = 0;  // a task was completed in this turn or later
  std::uint64_t emptied_seen = 0;  // the turn that showed the completion
  Instant emptied_fired;
  bool start_lost = false;        // a crash came before a task's start was known to be on disk
  std::uint64_t unseen_hops = 0;  // upper bound of the messages deleted while they moved
  std::uint64_t hops = 0;         // messages seen elsewhere that a task moved from here

  ReplaysOfQueue replays;
  std::uint64_t known_step = 0;  // turn of the response to its create
};

Range waits_of(std::string_view plan);

// The redrive policy that the changes set; none if they set none.
std::optional<Policy> policy_of(const std::vector<AttributeChange>& changes);

class Model {
 public:
  Model(const SimulatedBroker& world, Trace& trace);

  // --- content: each message carries its id, which identifies a delivery ---
  std::uint32_t make_message(std::uint32_t queue, std::uint64_t body_bytes, Random& random);
  std::uint32_t share_message(std::uint32_t queue, std::uint32_t of);
  // Sets the group and deduplication id for FIFO and fair queues; 0: none.
  void name_group(std::uint32_t message, std::uint32_t group, std::uint32_t dedup);
  // Sets the producer and its sequence for the message.
  void name_producer(std::uint32_t message, std::uint32_t producer, std::uint64_t sequence);
  std::string_view text_of(std::uint32_t number) const;
  void fill(std::uint32_t message, Content& content, const std::uint64_t& name) const;
  // Returns the message or copy of a delivery, and checks every byte. UINT32_MAX: a broken
  // invariant.
  std::uint32_t recognise(const Call& call, const Delivery& delivery);

  // --- requests ---
  void asked(Call& call);
  // Called for all calls of a turn: first for the accepted sends, then for their duplicates.
  void decided_sends(Call& call, bool duplicates, const Turn& turn);
  void decided_numbers(Call& call, bool duplicates, const Turn& turn);
  // Records one delivery. Deliveries come in the order of the deciding shard.
  void delivered(Call& call, std::size_t index, const Turn& turn);
  // To be called after delivered() for every delivery of the call.
  void attempted(const Call& call, const Turn& turn);
  void answered(Call& call, const Turn& turn);
  void cancelled(const Call& call) { looked(call); }
  // Records a delete that was decided in this very turn.
  void decided_delete(Call& call, const Turn& turn);
  // Records that the deliveries of an abandoned receive are on their way back.
  void gives_back(const Call& call);

  // --- the broker ---
  void on_turn(const Turn& turn);
  void draining() { draining_ = true; }
  // To be called after a rest long enough for everything decided by `step` to be on disk.
  void rested(std::uint64_t step);
  void crashed(bool in_order = false);
  void stopped();
  // Until disks_healed(), the shard may drop data that it keeps for replay.
  void disk_is_full(std::uint32_t shard);
  void disks_healed();
  void bit_flipped();
  void started();

  // --- checks ---
  // Checks that at rest no receive is parked while a message is ready, and nothing else is under
  // way.
  void check_rest(const Call& call);
  // Checks a long poll that is still under way after this turn of its shard.
  void check_overdue(const Call& call, const Turn& turn);
  // Checks that a receive with space left in its response missed no ready message.
  void check_short(const Call& call, const Turn& turn);

  // Called after everything receivable was received: a message that did not come must be allowed to
  // be missing.
  void conclude();

  // --- for clients ---
  const std::vector<QueueRow>& queues() const { return queues_; }
  const ModelMessage& message(std::uint32_t id) const { return messages_[id]; }
  // Messages of the queue that must still come, and the time by which all of its messages are
  // ready.
  std::size_t owed(const QueueRow& queue) const;
  // The message has been in this queue from its send on, as far as the model knows.
  bool born_here(std::uint32_t id, std::uint32_t queue) const;
  // The message is in this queue, wherever it was sent, or has been.
  bool is_here(std::uint32_t id, std::uint32_t queue) const;
  FeaturePairs pairs() const;
  Instant last_ready(const QueueRow& queue) const;
  // Whether the next receive from the queue moves the message to another one.
  bool about_to_move(std::uint32_t id, std::uint32_t at) const;
  // Whether messages may be on their way between queues.
  bool any_wanders() const;
  // To be called after everything was drained and the tasks were listed again.
  void check_tasks_ended();
  bool any_replay() const;
  void check_replays();
  std::uint64_t copies() const { return copies_.size(); }
  std::uint64_t replays_proved() const { return replays_proved_; }

 private:
  QueueRow& row(const Call& call) { return queues_[call.queue]; }
  QueueRow& row(const ModelMessage& message) { return queues_[message.queue]; }
  const QueueRow& row(const ModelMessage& message) const { return queues_[message.queue]; }
  struct ShardView {
    Instant now, fired;
    // Messages that had expired by then are gone. 0 after a startup: its first turn deletes them.
    Instant swept;
    std::uint64_t durable_step = 0;    // a crash keeps everything decided up to this turn
    std::vector<std::uint32_t> early;  // messages answered before they were known to be durable
    // Messages that were deleted before that was durable, and the last turn in which it happened.
    std::vector<std::pair<std::uint32_t, std::uint64_t>> deleted_early;
  };

  // model_queues.cc
  void answered_create(const Call& call);
  void check_name_waits(const Call& call);
  void check_name_waited(const QueueConfig& config, const Deletion& last);
  void answered_delete(const Call& call, const Turn& turn);
  void answered_set(const Call& call, const Turn& turn);
  void answered_purge(const Call& call, const Turn& turn);
  void answered_count(const Call& call, const Turn& turn);
  void check_figures(const Call& call);
  void answered_queues(const Call& call, const Turn& turn);
  void answered_peek(const Call& call, const Turn& turn);
  // The state of a message when a call is decided, as far as the model knows it.
  struct Standing {
    bool settled = false;  // no change of it is under way
    bool ready = false, hidden = false;
    bool received = false, never = false;  // neither: unknown
    bool backs_off = false;                // received, it may be delayed
    bool may_be_visible() const { return !hidden; }
    bool may_be_in_flight() const { return !ready && !(settled && never); }
    bool may_be_delayed() const { return !ready && (backs_off || !(settled && received)); }
  };
  bool surely_spent(const QueueRow& queue, const ModelMessage& message) const;
  static bool may_be_spent(const QueueRow& queue, std::int64_t receives);
  // A message that could not move at the end of its last lease does not wait.
  static Duration shortest_wait(const QueueRow& queue) {
    return queue.at_lease_end ? Duration{0} : Duration{queue.backoff.low};
  }
  Instant leased_until(const ModelMessage& message) const;
  static std::uint64_t step_before(const Call& call);
  void check_peeked(const Call& call, const Turn& turn, const QueueRow& queue,
                    const PeekedMessage& shown);
  Standing standing(const Call& call, const Turn& turn, const ModelMessage& message) const;
  void check_counts(const Call& call, const Turn& turn, QueueRow& queue, const QueueCounts& counts);
  bool queue_answers(const Call& call);
  void adopt_config(const Call& call, const QueueConfig& config, QueueRow& queue);
  std::uint32_t add_queue(const QueueConfig& config);
  void lose_all(QueueRow& queue, const char* why);
  void widen(QueueRow& queue, const AttributeChange& change);

  // model_features.cc
  void note_features(ModelMessage& message, const QueueRow& queue, Instant deliver_at) const;

  // model_lives.cc
  void begin_life(ModelMessage& message, Duration own);
  void live_again(ModelMessage& message, Instant low, Instant high);
  void arrive_to_live(ModelMessage& message, const QueueRow& to);
  void note_unseen_hop(ModelMessage& message, const Delivery& delivery);
  // Null: it may not.
  const QueueRow* surely_moves_expired(const ModelMessage& message) const;
  bool surely_dead(const ModelMessage& message, const Turn& turn) const;
  bool may_be_expired(const ModelMessage& message) const;

  // model_ids.cc
  void check_gone(const Call& call, std::uint32_t id, std::string_view what);
  bool surely_nobodys(const Call& call, const ModelMessage& message) const;
  void answered_cancel_by_id(const Call& call, std::size_t index, const Turn& turn);
  void answered_reschedule(const Call& call, std::size_t index, const Turn& turn);
  void answered_uncounted(const Call& call, std::size_t index, const Turn& turn);

  // model_order.cc
  void check_order(const Call& call, std::size_t index, const Turn& turn);
  void check_passing_order(const Call& call, std::size_t index, const Turn& turn);
  static bool surely_precedes(const ModelMessage& message, const ModelMessage& other);
  static bool is_fresh(const ModelMessage& message) {
    return message.view.received.high == 0 && !message.returned && message.moves == 0;
  }
  bool may_hold(const ModelMessage& message) const;
  void check_passing_groups(const Call& call, std::uint64_t step, std::uint64_t known,
                            Instant fired, std::string_view name);
  void check_groups(const Call& call, std::uint64_t step, std::uint64_t known, Instant fired,
                    std::string_view name);
  void judge_send(QueueRow& queue, const ModelMessage& message, const SendEntry& entry,
                  const Turn& turn);
  bool is_again(const Call& call, const ModelMessage& message, std::uint32_t nonce) const;
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
  bool surely_held(const ModelMessage& message, const ReceiptEntry& entry, const Call& call,
                   Instant high) const;

  // model_producers.cc
  void judge_number(QueueRow& topic, std::uint32_t text, const SendEntry& entry, const Turn& turn);
  void judge_once(QueueRow& queue, const ModelMessage& message, const SendEntry& entry,
                  const Turn& turn);
  void judge_accepted(QueueRow& queue, const ModelMessage& message, std::vector<First>& firsts,
                      const SendEntry& entry, const Turn& turn);
  void judge_resent(QueueRow& queue, const ModelMessage& message, std::vector<First>& firsts,
                    const SendEntry& entry, const Turn& turn);
  static void given_up(QueueRow& queue, const ModelMessage& message, const Turn& turn);
  ModelMessage* same_message(QueueRow& queue, const ModelMessage& message, Seq seq);

  // model_moves.cc
  Names bit_of(std::string_view full_name);
  Names reach(std::uint32_t from) const;
  bool leads_to(std::uint32_t from, std::uint32_t to) const {
    return (reach(from) & queues_[to].bit) != 0;
  }
  const QueueRow* surely_there(const std::string& target, const QueueRow& source) const;
  void may_leave(ModelMessage& message);
  void may_leave(QueueRow& queue);
  void may_vanish(const QueueRow& queue);
  void arrive(std::uint32_t id, std::uint32_t at, const Delivery& delivery, const Turn& turn);
  bool arrive_dead(ModelMessage& message, const Delivery& delivery, const QueueRow& at,
                   Names reached);
  bool check_place(const Call& call, const ModelMessage& message, const Delivery& delivery,
                   bool again);
  void looked(const Call& call);
  bool surely_here(const ModelMessage& message, const QueueRow& queue, std::uint64_t step) const;
  bool names_place(const ReceiptEntry& entry, const ModelMessage& message) const;
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
  bool may_be_copied_into(std::uint32_t original, std::uint32_t target) const;
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
  void note_passed(const Call& call);
  void answered_numbers(const Call& call, const Turn& turn);
  void answered_send(const Call& call, const Turn& turn);
  void answered_receive(const Call& call, const Turn& turn);
  void answered_delete_messages(const Call& call, const Turn& turn);
  void answered_change(const Call& call, const Turn& turn);
  void answered_return(const Call& call, const Turn& turn);
  void check_memory(const Call& call);
  void take_seq(std::uint32_t id, Seq seq);
  void check_used_up(const QueueRow& queue);
  void check_delivery(const Call& call, std::uint32_t id, const Delivery& delivery, bool again,
                      const Turn& turn);
  void lose(ModelMessage& message, const char* why);
  void set_view(ModelMessage& message, View view);
  void roll_back(ModelMessage& message, std::uint64_t durable_step);
  bool surely_alive(const ModelMessage& message) const;
  bool surely_ready(const ModelMessage& message, std::uint64_t step, Instant fired) const;
  bool must_be_expired(const ModelMessage& message, Instant fired) const;
  // Earliest and latest decision time of the call, as of the turn that answers it.
  Instant decided_low(const Call& call) const;
  Instant decided_high(const Call& call, const Turn& turn) const;
  void durable(ShardId shard, std::uint64_t step);
  void deletes_undone(ShardView& shard);
  void check_promise(const Call& call);
  void check_windows() const;
  void tidy(QueueRow& queue);

  const SimulatedBroker* world_;
  Trace* trace_;
  std::vector<ModelMessage> messages_;
  std::vector<QueueRow> queues_;
  std::map<std::uint32_t, std::uint32_t> by_id_;  // QueueId -> row
  std::map<std::string, std::uint32_t> creates_;  // under way, by name
  std::map<std::string, Deletion> deletions_;     // by name
  std::vector<ShardView> shards_;
  std::uint64_t starts_ = 0;
  std::uint64_t rested_step_ = 0;             // transfers decided by this step are settled
  std::int64_t retention_least_ = INT64_MAX;  // smallest retention of any queue so far, ms
  Duration life_least_ = life_endless;        // smallest x-message-ttl of any queue so far
  bool draining_ = false;
  std::deque<Copy> copies_;
  std::set<std::string> copied_into_;  // full names of the destinations of replay tasks
  std::set<std::uint32_t> full_disks_;
  std::set<std::uint32_t> once_full_;  // also disks that were healed
  std::uint64_t replays_proved_ = 0;   // copies that had to come, and came
  bool any_wandered_ = false;          // false: scans for wandering messages are skipped
  std::vector<std::string> names_;     // full names, by number
  mutable std::vector<std::optional<Names>> reached_;  // cached results
};

}  // namespace pawl::sim

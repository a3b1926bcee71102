// SPDX-License-Identifier: Apache-2.0
// Binary operations: a frame becomes a Request, and its response becomes a frame.
//
//   BinarySession, one per connection:
//     new --HELLO--> greeted --bad frame--> (closed by net/)
//       \--HELLO--> challenged --AUTHENTICATE--> greeted
//
//   BinaryCall, one per frame in flight:
//     idle --begin--> respond | route | close
//     route: net/ carries request() to target() and back, then --resume--> respond | route | close
//     respond: write_response, and the call is idle again
//     close:   write_response, then the connection is closed when that has been sent
//     deliver: write_response writes a DELIVER of a subscription, then --push--> route | pause
//     pause:   the subscription has no credit; push() again when it may have some
//     hand_over: HELLO names a queue of shard target(), where it begins again
//     A subscription's call ends with --end_subscription--> respond.
//
// Responses may be sent in any order: the correlation of the request identifies each.
//
// Units:  wire durations and core Durations are both milliseconds.
// Limits: handles_max open queues per connection; entries_max entries per batch; BinarySettings for
//         the rest.
// Errors: every error is a Status in the response; invalid input has no other effect.
// Owner:  the connection's shard. A BinaryCall owns the bytes and arrays its Request points to and
//         must not move while routed. It keeps its buffers between frames, up to a bound, so that a
//         steady state allocates nothing.
// Source: proto/PROTOCOL.md
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/time_shift.h"
#include "core/queue/directory.h"
#include "core/queue/receipt.h"
#include "core/queue/request.h"
#include "proto/auth/challenge.h"
#include "proto/auth/keys.h"
#include "proto/binary/frames.h"
#include "proto/binary/subscriptions.h"

namespace pawl {

// Settings shared by all binary connections of a shard.
struct BinarySettings {
  // Account of queues opened without an account, unless the client's key names one.
  std::string account = "000000000000";
  std::shared_ptr<const Keyring> keys;  // accepted keys; null: no authentication
  Secret secret{};                      // for message ids
  const TimeShift* shift = &no_shift;   // engine time to wall-clock time
  ShardId home{};                       // the shard this connection is on
  std::uint32_t shards = 1;
  // [i]: the port of shard i; empty: there are no such ports.
  std::vector<std::uint16_t> shard_ports;
  std::uint64_t boot_id = 0;              // random, one per server start
  std::uint32_t credit_frames = 1024;     // in-flight requests per connection, and
  std::uint32_t credit_bytes = 8u << 20;  // their bytes; beyond it the server stops reading
  // Bytes of bodies and attributes in one RECEIVE response; at least one message always fits. Other
  // calls in flight can lower it, but not below receive_bytes_min: together they may use
  // receive_bytes_promised.
  std::uint32_t receive_bytes_max = 4u << 20;
  static constexpr std::uint32_t receive_bytes_min = 64u << 10;
  static constexpr std::size_t receive_bytes_promised = 16u << 20;
};

class BinarySession {
 public:
  static constexpr std::size_t handles_max = 16'384;

  bool greeted() const { return greeted_; }
  const std::string& client() const { return client_; }  // as it named itself, at most 64 bytes
  // Account of the client's key, which limits its access. Empty: the client has no key.
  const std::string& account() const { return account_; }
  // False: `keys` no longer holds the key that the client proved.
  bool may_stay(const Keyring* keys) const;
  // The reason for refusing the client; `none` until then.
  AuthFault auth_fault() const { return fault_; }
  // Response bytes promised to all calls in flight: the sum of BinaryCall::promised().
  void set_promised(std::size_t bytes) { promised_ = bytes; }
  // Whether the next sends are refused with no_memory: the host holds too many requests.
  void refuse_sends(bool yes) { refuses_sends_ = yes; }
  Subscriptions& subscriptions() { return subscriptions_; }

 private:
  friend class BinaryCall;

  // The queue behind a handle: its settings from the open or later; null once it is known to be
  // deleted.
  struct Opened {
    ConfigPtr config;
    bool known = false;  // the directory has listed it
  };

  // The queue's handle, constant for this connection; 0 when the table is full.
  std::uint32_t intern(const ConfigPtr& config, const Directory& directory);
  // Null for a handle that was never assigned.
  const ConfigPtr* queue(std::uint32_t handle) const;
  void forget_gone(const Directory& directory);
  bool full() const { return queues_.size() == handles_max; }

  bool expects(BinaryOp op) const;
  std::string_view account_or(const BinarySettings& config) const {
    return account_.empty() ? config.account : account_;
  }

  bool greeted_ = false;
  std::uint16_t minor_ = 0;  // the client's minor version
  bool groups_ = false;      // the client supports feature_groups
  bool challenged_ = false;
  Challenge challenge_{};
  struct {
    Sha256 id_digest{}, print{};
  } key_;  // the key that the client proved
  AuthFault fault_{};
  std::string client_;
  std::string account_;
  std::size_t promised_ = 0;
  bool refuses_sends_ = false;
  std::vector<Opened> queues_;                                // [handle - 1]
  std::size_t looked_at_ = 0;                                 // forget_gone()'s position in queues_
  std::unordered_map<std::uint32_t, std::uint32_t> handles_;  // QueueId -> handle
  Subscriptions subscriptions_;
};

class BinaryCall {
 public:
  static constexpr std::uint32_t names_max = 1000;  // queue names in one response
  // Most messages in the response of a RECEIVE that had to wait: it holds memory for each.
  static constexpr std::uint32_t waiting_max = 16;

  enum class Next : std::uint8_t { respond, route, close, deliver, pause, hand_over };

  BinaryCall() = default;
  BinaryCall(const BinaryCall&) = delete;
  BinaryCall& operator=(const BinaryCall&) = delete;

  // `frame` is one complete frame, as long as its header says (parse_header). It is copied.
  Next begin(BinarySession& session, std::string_view frame, const Directory& directory,
             const BinarySettings& config);

  // Valid while routed; target() also after Next::hand_over.
  Request& request() { return request_; }
  ShardId target() const { return target_; }
  // Bytes of the request and of the prepared deliveries. Only while not routed.
  std::size_t memory() const {
    return frame_.size() + request_.deliveries.size() * sizeof(Delivery) +
           request_.route.copied.capacity();
  }
  // Capacity of its buffers in bytes.
  std::size_t capacity() const;
  // Most message bytes in the response of a RECEIVE; 0 for other operations.
  std::size_t promised() const { return request_.op == Op::receive ? receive_bytes_max_ : 0; }
  // Call before resume(): bytes free for the response. 0: all deliveries return to their queue.
  void limit_answer(std::size_t bytes) { answer_bytes_max_ = bytes; }

  // Continues after the request has returned. Contents of RECEIVE deliveries are read here and in
  // write_response(), and must stay valid until that returns.
  Next resume(BinarySession& session, const Directory& directory, const BinarySettings& config);

  // Appends the response. The call is idle afterwards.
  void write_response(std::string& out);

  // --- a subscription's call ---
  // Null: the call is of another verb.
  Subscription* subscription() const { return subscription_; }
  // Receives again for the subscription, after its DELIVER was written or after Next::pause.
  Next push(BinarySession& session, const Directory& directory, const BinarySettings& config);
  // Call after a grant of credit: a receive that waits in the connection's own shard gets space for
  // it. False: there is none, or it has the space.
  bool widen();
  // Ends the subscription with `status`; write_response() then writes the response to SUBSCRIBE.
  Next end_subscription(BinarySession& session, Status status);
  // Discards an unwanted response. A call whose response was written is already empty.
  void drop() {
    subscription_ = nullptr;
    if (!empty_) trim();
  }

 private:
  // The arguments of a verb's functions.
  struct Context {
    BinarySession& session;
    const Directory& directory;
    const BinarySettings& config;
    BinaryReader& in;         // the rest of the payload
    const ConfigPtr& opened;  // the queue of the frame's handle; null for a verb without one
    const QueueConfig& queue() const { return *opened; }
  };
  using Begin = Next (BinaryCall::*)(const Context& call);
  using Resumed = Next (BinaryCall::*)(BinarySession& session, const Directory& directory);
  using Write = void (BinaryCall::*)(std::string& out) const;
  enum class Handle : std::uint8_t {
    none,   // the verb ignores the handle in the header
    queue,  // an opened queue, which this shard may not know yet
    known,  // an opened queue that this shard knows: it answers alone
  };
  // A row of the table of verbs.
  struct Verb {
    BinaryOp op{};
    Handle handle{};
    Begin begin = nullptr;      // reads the payload
    Resumed resumed = nullptr;  // after the shard: prepares the response; null: it is empty
    Write write = nullptr;      // writes a response that is not prepared in answer_
  };
  static const Verb* verb(std::uint8_t op);

  // Request side.
  Next run(const Verb& verb, BinarySession& session, BinaryReader& in, const Directory& directory,
           const BinarySettings& config);
  Next hello(const Context& call);
  Next authenticate(const Context& call);
  Next ping(const Context& call);
  Next without_payload(const Context& call);  // DELETE_QUEUE, PURGE, STATS, LIST_MOVES
  Next open_queue(const Context& call);
  Next create_queue(const Context& call);
  Next list_queues(const Context& call);
  Next set_attributes(const Context& call);
  Next get_attributes(const Context& call);
  Next send(const Context& call);  // SEND, SEND_ONCE
  Next receive(const Context& call);
  Next wait_for_some();
  Next subscribe(const Context& call);
  Next unsubscribe(const Context& call);
  Next route_receive(const BinarySession& session, const ReceiveParams& params, ShardId owner);
  Next receipts(const Context& call);  // DELETE_MESSAGE, CHANGE, ACKNOWLEDGE
  Next get_tags(const Context& call);
  Next set_tags(const Context& call);
  Next list_sources(const Context& call);
  Next start_move(const Context& call);
  Next start_replay(const Context& call);
  Next cancel_task(const Context& call);  // CANCEL_MOVE, CANCEL_REPLAY
  Next list_replays(const Context& call);
  ReplayParams& about_replays();
  void put_names(const std::vector<ConfigPtr>& found, std::size_t max);
  Next route(Op op, ShardId target);
  // Handling of returned requests.
  Next created(BinarySession& session, const Directory& directory);
  Next opened(BinarySession& session, const ConfigPtr& config, const Directory& directory);
  Next counted(BinarySession& session, const Directory& directory);  // STATS, GET_ATTRIBUTES
  Next task_answered(BinarySession& session, const Directory& directory);
  Next moves_listed(BinarySession& session, const Directory& directory);
  Next replays_listed(BinarySession& session, const Directory& directory);
  Next received(BinarySession& session, const Directory& directory);
  Next delivered();
  Next refuse(Status status, std::uint32_t detail = no_detail);
  Next hang_up(Status status);
  // Writing of responses.
  void write_payload(std::string& out) const;
  void write_sent(std::string& out) const;
  void write_deliveries(std::string& out) const;
  void write_receipts(std::string& out) const;
  void trim();

  FrameHeader header_;
  const Verb* verb_ = nullptr;
  Status status_ = Status::ok;
  std::uint32_t detail_ = no_detail;
  ShardId target_{};
  const BinarySettings* config_ = nullptr;
  std::uint32_t receive_bytes_max_ = 0;
  std::size_t answer_bytes_max_ = SIZE_MAX;
  Duration wait_later_{0};  // a large RECEIVE first looks without waiting, for all its messages
  bool groups_ = false;
  bool undelivering_ = false;             // returning deliveries that did not fit into the response
  bool empty_ = true;                     // no call: request_ is as constructed
  std::uint32_t fit_ = 0;                 // delivered messages that the response has space for
  Subscription* subscription_ = nullptr;  // the session's; null: the call has none

  Request request_;
  std::string frame_;              // bytes that the request points into
  std::string answer_;             // payload prepared before write_response()
  std::vector<Status> prechecks_;  // SEND: one per entry; refused entries are not in sends_
  std::vector<SendEntry> sends_;
  std::vector<std::string> digests_;  // body digests used as deduplication ids
  std::vector<ReceiptEntry> receipts_;
  std::vector<Delivery> deliveries_;
  std::string envelopes_;  // bodies of some deliveries
  QueueSpec spec_;
  std::vector<AttributeChange> changes_;
  Tags tags_;
  std::string destination_;
  std::unique_ptr<ReplayParams> replay_;  // allocated on demand: few calls are about replays
  ConfigPtr described_;                   // GET_ATTRIBUTES: settings when requested
};

}  // namespace pawl

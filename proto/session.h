// Binary operations: a frame becomes a Request, and its answer becomes a frame.
//
//   Session, one a connection:   new --HELLO--> greeted --bad frame--> (closed by net/)
//                                 \--HELLO--> challenged --AUTHENTICATE--> greeted
//
//   WireCall, one a frame under way:
//     idle --begin--> respond | route | close
//     route: net/ carries request() to target() and back, then --resume--> respond | route | close
//     respond: write_response, and the call is idle again
//     close:   write_response, then the connection is closed when that has been sent
//
// Answers may leave in any order: the correlation of the request tells the client which is which.
//
// Units:  wire durations and core Durations are both milliseconds.
// Limits: handles_max open queues a connection; entries_max entries a batch; SessionConfig for the
//         rest.
// Errors: every one is a Status in the answer; no input makes anything else happen.
// Owner:  the connection's shard. A WireCall owns the bytes and arrays its Request points to and
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

#include "core/directory.h"
#include "core/receipt.h"
#include "core/request.h"
#include "core/time_shift.h"
#include "proto/challenge.h"
#include "proto/wire.h"

namespace pawl {

// What all binary connections of a shard share.
struct SessionConfig {
  std::string account =
      "000000000000";  // of queues opened without naming one, unless a key says whose
  std::shared_ptr<const Keyring> keys;  // who may come; null: everybody
  Secret secret{};                      // for message ids
  const TimeShift* shift = &no_shift;   // from engine time to what is said
  ShardId home{};                       // the shard this connection is on
  std::uint32_t shards = 1;
  std::vector<std::uint16_t>
      shard_ports;                     // [i]: the port that lands on shard i; empty: there are none
  std::uint64_t boot_id = 0;           // random, of this start of the server
  std::uint32_t credit_frames = 1024;  // requests a connection may have under way, and
  std::uint32_t credit_bytes = 8u << 20;  // their bytes; beyond it the server stops reading
  // Bodies and attributes one RECEIVE answers with; at least one message always fits. With others under way it may
  // be less, but not than receive_bytes_min: all together are to answer with receive_bytes_promised.
  std::uint32_t receive_bytes_max = 4u << 20;
  static constexpr std::uint32_t receive_bytes_min = 64u << 10;
  static constexpr std::size_t receive_bytes_promised = 16u << 20;
};

enum class AuthFault : std::uint8_t;  // sigv4.h

class Session {
 public:
  static constexpr std::size_t handles_max = 16'384;

  bool greeted() const { return greeted_; }
  const std::string& client() const { return client_; }  // as it named itself, at most 64 bytes
  // Of the key it came with: all it can reach. Empty: it came without.
  const std::string& account() const { return account_; }
  // False: the key that the client proved is not among these.
  bool may_stay(const Keyring* keys) const;
  // Why the client was refused, `none` until then.
  AuthFault auth_fault() const { return fault_; }
  // What the calls under way may answer with, all together: WireCall::promised().
  void set_promised(std::size_t bytes) { promised_ = bytes; }

 private:
  friend class WireCall;

  // Behind a handle: the queue as it was when it was given, or later; none when it is known to have gone.
  struct Opened {
    ConfigPtr config;
    bool known = false;  // the directory has had it
  };

  // The handle of the queue on this connection, always the same one; 0 when the table is full.
  std::uint32_t intern(const ConfigPtr& config, const Directory& directory);
  // Null for a number never given out.
  const ConfigPtr* queue(std::uint32_t handle) const;
  void forget_gone(const Directory& directory);
  bool full() const { return queues_.size() == handles_max; }

  bool expects(WireOp op) const;
  std::string_view account_or(const SessionConfig& config) const {
    return account_.empty() ? config.account : account_;
  }

  bool greeted_ = false;
  std::uint16_t minor_ = 0;  // the client's
  bool groups_ = false;      // the client knows of feature_groups
  bool challenged_ = false;
  Challenge challenge_{};
  struct {
    Sha256 id_digest{}, print{};
  } key_;  // that the client proved
  AuthFault fault_{};
  std::string client_;
  std::string account_;
  std::size_t promised_ = 0;
  std::vector<Opened> queues_;                                // [handle - 1]
  std::size_t looked_at_ = 0;                                 // of queues_, by forget_gone()
  std::unordered_map<std::uint32_t, std::uint32_t> handles_;  // QueueId -> handle
};

class WireCall {
 public:
  static constexpr std::uint32_t names_max = 1000;  // of queues, in one answer
  // Messages that a RECEIVE is answered with when it had to wait for them, for it keeps room for them.
  static constexpr std::uint32_t waiting_max = 16;

  enum class Next : std::uint8_t { respond, route, close };

  WireCall() = default;
  WireCall(const WireCall&) = delete;
  WireCall& operator=(const WireCall&) = delete;

  // `frame` is one complete frame: as many bytes as its header says (parse_header). They are
  // copied.
  Next begin(Session& session, std::string_view frame, const Directory& directory,
             const SessionConfig& config);

  // While routed.
  Request& request() { return request_; }
  ShardId target() const { return target_; }
  // Bytes of what was asked and of room for the answer. While it is not routed.
  std::size_t memory() const {
    return frame_.size() + request_.deliveries.size() * sizeof(Delivery) +
           request_.copied.capacity();
  }
  // Bytes that its buffers have, used or not.
  std::size_t capacity() const;
  // Bytes of messages that its answer may have; of a RECEIVE.
  std::size_t promised() const { return request_.op == Op::receive ? receive_bytes_max_ : 0; }
  // Before resume(): there is room for so much. For nothing: what was delivered goes back to its queue.
  void limit_answer(std::size_t bytes) { answer_room_ = bytes; }

  // The request has come back. For a RECEIVE, contents of deliveries are read here and in
  // write_response, and must hold until that has returned.
  Next resume(Session& session, const Directory& directory, const SessionConfig& config);

  // Appends the answer. The call is idle afterwards.
  void write_response(std::string& out);
  // Nobody wants the answer. Of one that was written nothing is left.
  void drop() {
    if (request_.op != Op::none) trim();
  }

 private:
  // In: one function an operation, or a family of them.
  Next run(Session& session, std::string_view payload, const Directory& directory,
           const SessionConfig& config);
  Next run_on_queue(Session& session, WireReader& in, const Directory& directory);
  Next hello(Session& session, WireReader& in, const SessionConfig& config);
  Next authenticate(Session& session, WireReader& in, const SessionConfig& config);
  Next open_queue(Session& session, WireReader& in, const Directory& directory,
                  const SessionConfig& config);
  Next create_queue(Session& session, WireReader& in, const Directory& directory,
                    const SessionConfig& config);
  Next list_queues(Session& session, WireReader& in, const Directory& directory,
                   const SessionConfig& config);
  Next set_attributes(WireReader& in, const Directory& directory, const QueueConfig& queue);
  Next send(WireReader& in, const QueueConfig& queue);
  Next receive(const Session& session, WireReader& in, const QueueConfig& queue);
  Next wait_for_some();
  Next get_tags(WireReader& in, const QueueConfig& queue);
  Next set_tags(WireReader& in, const ConfigPtr& queue);
  Next list_sources(WireReader& in, const Directory& directory, const QueueConfig& queue);
  Next start_move(WireReader& in, const Directory& directory, const QueueConfig& queue);
  Next cancel_move(WireReader& in, const QueueConfig& queue);
  Next start_replay(WireReader& in, const Directory& directory, const QueueConfig& queue);
  Next cancel_replay(WireReader& in, const QueueConfig& queue);
  Next list_replays(WireReader& in, const QueueConfig& queue);
  ReplayParams& about_replays();
  void put_names(const std::vector<ConfigPtr>& found, std::size_t max);
  Next receipts(WireReader& in, const QueueConfig& queue, Op op);
  Next route(Op op, ShardId target);
  // Back.
  Next opened(Session& session, const ConfigPtr& config, const Directory& directory);
  Next described();
  Next moves_listed();
  Next replays_listed();
  Next received();
  Next refuse(Status status, std::uint32_t detail = no_detail);
  Next hang_up(Status status);
  // Out.
  void write_payload(std::string& out) const;
  void write_sent(std::string& out) const;
  void write_deliveries(std::string& out, std::uint32_t count) const;
  void trim();

  FrameHeader header_;
  Status status_ = Status::ok;
  std::uint32_t detail_ = no_detail;
  ShardId target_{};
  const SessionConfig* config_ = nullptr;
  std::uint32_t receive_bytes_max_ = 0;
  std::size_t answer_room_ = SIZE_MAX;
  Duration wait_later_{0};  // a RECEIVE of many looks first, with room for all of them
  bool groups_ = false;
  bool undelivering_ = false;  // giving back what did not fit into the answer

  Request request_;
  std::string frame_;              // what the request points into
  std::string answer_;             // a payload written ahead of write_response
  std::vector<Status> prechecks_;  // SEND: one an entry; those not ok are not in sends_
  std::vector<SendEntry> sends_;
  std::vector<std::string> digests_;  // that stand for deduplication ids
  std::vector<ReceiptEntry> receipts_;
  std::vector<Delivery> deliveries_;
  QueueSpec spec_;
  std::vector<AttributeChange> changes_;
  Tags tags_;
  std::string destination_;
  std::unique_ptr<ReplayParams> replay_;  // made when it is wanted: few calls are about replays
  ConfigPtr described_;                   // GET_ATTRIBUTES: as it was when asked
};

}  // namespace pawl

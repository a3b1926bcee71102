// SPDX-License-Identifier: Apache-2.0
// The states that the verbs work on: BinarySessionState of a connection, BinaryCallState of a frame
// in flight. session.cc has their functions.
//
// Owner:  the BinarySession and the BinaryCall, whose buffers are reused from frame to frame.
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

struct ApiCall;
struct CallSettings;

// Settings shared by all binary connections of a shard.
struct BinarySettings {
  // Account of queues opened without an account, unless the client's key names one.
  std::string account = "000000000000";
  std::shared_ptr<const Keyring> keys;  // accepted keys; null: no authentication
  Secret secret{};                      // for message ids
  const TimeShift* shift = &no_shift;   // engine time to wall-clock time
  const CallSettings* api = nullptr;    // of the HTTP port, for CALL; null: there is no CALL
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

struct BinarySessionState {
  static constexpr std::size_t handles_max = 16'384;

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
  bool full() const { return queues.size() == handles_max; }

  bool expects(BinaryOp op) const;
  std::string_view account_or(const BinarySettings& config) const {
    return account.empty() ? config.account : account;
  }

  bool greeted = false;
  std::uint16_t minor = 0;  // the client's minor version
  bool groups = false;      // the client supports feature_groups
  bool challenged = false;
  Challenge challenge{};
  struct {
    Sha256 id_digest{}, print{};
  } key;  // the key that the client proved
  AuthFault fault{};
  std::string client;   // as it named itself
  std::string account;  // of the client's key
  std::size_t promised = 0;
  bool refuses_sends = false;
  Instant now;                                               // at the begin of the latest call
  std::vector<Opened> queues;                                // [handle - 1]
  std::size_t looked_at = 0;                                 // forget_gone()'s position in queues
  std::unordered_map<std::uint32_t, std::uint32_t> handles;  // QueueId -> handle
  Subscriptions subscriptions;
};

// The next step of a call: session.h has the drawing.
enum class BinaryNext : std::uint8_t { respond, route, close, deliver, pause, hand_over };

struct BinaryVerb;

struct BinaryCallState {
  // Each returns the step of the verb that calls it.
  BinaryNext refuse(Status why, std::uint32_t about = no_detail);
  BinaryNext hang_up(Status why);
  BinaryNext route(Op op, ShardId to);

  BinaryCallState();
  ~BinaryCallState();

  void renew();  // empties the request
  void trim();   // ends the call, and frees large buffers

  FrameHeader header;
  const BinaryVerb* verb = nullptr;
  Status status = Status::ok;
  std::uint32_t detail = no_detail;
  ShardId target{};
  const BinarySettings* config = nullptr;
  std::uint32_t receive_bytes_max = 0;
  std::size_t answer_bytes_max = SIZE_MAX;
  Duration wait_later{0};  // a large RECEIVE first looks without waiting, for all its messages
  bool groups = false;
  bool reasons = false;                  // the client reads the reasons of dead letters
  bool undelivering = false;             // returning deliveries that did not fit into the response
  bool empty = true;                     // no call: request is as constructed
  std::uint32_t fit = 0;                 // delivered messages that the response has space for
  Subscription* subscription = nullptr;  // the session's; null: the call has none

  Request request;
  std::string frame;              // bytes that the request points into
  std::string answer;             // payload prepared before write_response()
  std::vector<Status> prechecks;  // SEND: one per entry; refused entries are not in sends
  std::vector<SendEntry> sends;
  std::vector<std::string> digests;  // body digests used as deduplication ids
  std::vector<ReceiptEntry> receipts;
  std::vector<Delivery> deliveries;
  std::string envelopes;  // bodies of some deliveries
  QueueSpec spec;
  std::vector<AttributeChange> changes;
  Tags tags;
  std::string destination;
  std::unique_ptr<ApiCall> api;          // CALL
  Request* routed = &request;            // the request under way
  std::unique_ptr<ReplayParams> replay;  // allocated on demand: few calls are about replays
  ConfigPtr described;                   // GET_ATTRIBUTES: settings when requested
};

// The arguments of a verb, beside the state of its call.
struct BinaryArguments {
  BinarySessionState& session;
  const Directory& directory;
  const BinarySettings& config;
  BinaryReader& in;         // the rest of the payload
  const ConfigPtr& opened;  // the queue of the frame's handle; null for a verb without one
};

// A row of the table of verbs (session.cc).
struct BinaryVerb {
  enum class Handle : std::uint8_t {
    none,   // the verb ignores the handle in the header
    queue,  // an opened queue, which this shard may not know yet
    known,  // an opened queue that this shard knows: it answers alone
  };
  using Begin = BinaryNext (*)(BinaryCallState& s, const BinaryArguments& call);
  using Resumed = BinaryNext (*)(BinaryCallState& s, BinarySessionState& session,
                                 const Directory& directory);
  using Write = void (*)(const BinaryCallState& s, std::string& out);

  BinaryOp op{};
  Handle handle{};
  Begin begin = nullptr;      // reads the payload
  Resumed resumed = nullptr;  // after the shard: prepares the response; null: it is empty
  Write write = nullptr;      // writes a response that is not prepared in `answer`
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The part of a shard that its connections use: ring, loop, settings, pooled calls, memory counts.
//
// Connections derives from it and adds the table of all connections, which a connection never
// sees. No function here is virtual.
//
// Units:  bytes; ms.
// Limits: spare calls: 8 MiB of binary calls; spare_http_calls_max HTTP calls of at most
//         spare_http_call_bytes_max each.
// Owner:  the shard's thread; the host outlives its connections.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/base/time.h"
#include "core/queue/request.h"
#include "net/connection/auth_failures.h"
#include "net/connection/connection_limits.h"
#include "net/connection/handshake_gate.h"
#include "net/connection/http_guard.h"
#include "net/connection/reloadable_settings.h"
#include "net/connection/request_counts.h"
#include "net/engine/shard_loop.h"
#include "net/io/ring.h"
#include "proto/binary/session.h"
#include "proto/call.h"

namespace pawl {

struct AdminFacts;
class Connection;
class ConnectionHost;

// Timeouts for a peer.
struct ConnectionTimes {
  Duration head = seconds(10);  // head of a request; before the first: handshake, HELLO
  Duration body = seconds(30);
  Duration idle = seconds(75);  // between HTTP requests
  // An empty DELIVER follows after this time without one.
  Duration subscription_silence = seconds(15);
};

// A server leaves each stage only for a later one. `draining` serves clients until they have what
// they asked for, or were pushed; `stopping` does not wait for pushed messages to be answered.
enum class Stage : std::uint8_t { serving, draining, stopping };

// local: the binary protocol on a Unix socket, never with TLS.
// declared: the server's own, at its start (declared_connection.h).
enum class Protocol : std::uint8_t { http, binary, admin, local, declared };

// The admin port. The room of its connections and pages is above this one: net/admin.
struct AdminPort {
  std::unique_ptr<Connection> (*make)(ConnectionHost& host, int fd, Instant now) = nullptr;
  std::size_t connection_bytes = 0;  // size of such an object
  const AdminFacts* facts = nullptr;
};

// The server's side of a shard's connections; must outlive them.
struct ConnectionContext {
  CallSettings sqs;
  BinarySettings session;
  const HttpGuard* guard = nullptr;        // for the SQS port
  const HttpGuard* admin_guard = nullptr;  // for the admin port, whose requests are never signed
  bool admin_tls = false;                  // the admin port is served with TLS where the others are
  std::string http_url;                    // address for SQS clients, reported at other ports
  const ReloadableSettings* settings = nullptr;
  ConnectionTimes times;
  std::size_t memory_max = std::size_t{64} << 20;
  std::atomic<std::uint32_t>* open_count = nullptr;  // this shard's of WorkerShared::open_counts
  ConnectionLimits* connection_limits = nullptr;
  ConnectionLimits* admin_connection_limits = nullptr;  // for the admin port
  ConnectionLimits& limits_of(Protocol protocol) const {
    return protocol == Protocol::admin ? *admin_connection_limits : *connection_limits;
  }
  bool has_tls(Protocol protocol) const {
    return protocol == Protocol::http || protocol == Protocol::binary ||
           (protocol == Protocol::admin && admin_tls);
  }
  AdminPort admin;
};

// Whether the first bytes of a connection look like an HTTP request.
bool begins_as_http(std::string_view bytes);

// A pending request of a connection. PendingBinaryCall derives from it.
struct PendingCall {
  Connection* connection = nullptr;
  Request* request = nullptr;
  ShardId target{};
  std::uint32_t list_index = 0;  // index in the connection's list
  Instant begun;                 // start of a receive's wait
  bool abandoned = false;        // its response is no longer wanted
  bool giving_back = false;      // the request now returns its deliveries to their queue
  std::vector<ReceiptEntry> returned;

  // Changes the request of a receive whose peer is gone: submitted again, it returns the deliveries
  // to their queue, with their old receive counts.
  void return_deliveries();
  // True: the receive found only unreadable messages; its request is ready for the rest of its
  // wait. They have left the queue, so the rounds end.
  bool needs_another_look(ConnectionHost& host);
};

// The pending calls of a connection, in no order.
class PendingCalls {
 public:
  bool empty() const { return calls_.empty(); }
  std::size_t size() const { return calls_.size(); }
  PendingCall& operator[](std::size_t index) const { return *calls_[index]; }
  void add(PendingCall& call) {
    call.list_index = static_cast<std::uint32_t>(calls_.size());
    calls_.push_back(&call);
  }
  void take_out(PendingCall& call) {
    CHECK(call.list_index < calls_.size() && calls_[call.list_index] == &call);
    calls_[call.list_index] = calls_.back();
    calls_[call.list_index]->list_index = call.list_index;
    calls_.pop_back();
  }

 private:
  std::vector<PendingCall*> calls_;
};

class PendingBinaryCall final : public PendingCall {
 public:
  BinaryCall binary;
  std::uint64_t begun_us = 0;  // its arrival
  bool receive = false;        // pooled apart from calls with large buffers: it may wait long
  std::size_t bytes = 0;       // charged against the credit
  std::size_t held = 0;        // charged memory of the call
  std::size_t promised = 0;    // most message bytes of its response
  std::size_t spare = 0;       // memory() while it is kept for reuse
  bool paused = false;         // a subscription's call, not submitted: it has no credit

  std::size_t memory() const { return sizeof(PendingBinaryCall) + binary.capacity(); }
};

class ConnectionHost {
 public:
  ConnectionHost(Ring& ring, const ConnectionContext& context);
  ConnectionHost(const ConnectionHost&) = delete;
  ConnectionHost& operator=(const ConnectionHost&) = delete;
  void use(ShardLoop& loop) { loop_ = &loop; }

  Ring& ring() { return *ring_; }
  ShardLoop& loop() { return *loop_; }
  const ConnectionContext& context() const { return *context_; }
  const CallSettings& sqs() const { return sqs_; }
  const BinarySettings& session() const { return session_; }
  Instant now() const { return now_; }
  std::string_view date() const { return date_; }
  std::uint64_t next_request_number() { return request_number_++; }
  Stage stage() const { return stage_; }
  bool draining() const { return stage_ != Stage::serving; }
  Instant drain_begun() const { return drain_begun_; }
  // The HTTP response for a client at the wrong port: `why`, and the address for SQS.
  std::string wrong_port(std::string_view why, const PeerAddress& peer) const;
  // Reports a client of another protocol. `what` ends the sentence "<what> came from ADDRESS".
  void note_wrong_protocol(std::string_view what, const PeerAddress& peer) const;
  // True: the handshake may begin. False: begin_handshake() will be called later.
  bool admit_handshake(std::uint32_t index, std::uint32_t generation, std::uint32_t peer_slot);
  void want_flush(std::uint32_t index) { dirty_.push_back(index); }
  void want_buffers(std::uint32_t index) { starved_.push_back(index); }
  std::unique_ptr<PendingBinaryCall> take_call(bool receive);
  void give_call(std::unique_ptr<PendingBinaryCall> call);
  // A call for one HTTP request. give_http_call() returns it and keeps a few small ones for reuse.
  std::unique_ptr<HttpCall> take_http_call();
  void give_http_call(std::unique_ptr<HttpCall> call);
  static constexpr std::size_t spare_http_calls_max = 64;
  static constexpr std::size_t spare_http_call_bytes_max = 64 << 10;
  void auth_failed(AuthFault fault, Protocol protocol, const PeerAddress& peer);
  void grew(std::size_t bytes) { grown_ += bytes; }
  std::size_t free_memory_bytes() const {
    const std::size_t soft = context_->memory_max / 4 * 3;
    return soft - std::min<std::size_t>(soft, counted_ + grown_);
  }
  // Whether a request of this size would take all connections together, those being closed
  // included, beyond their limit. Small ones are always served: idle connections alone may fill it.
  bool refuses(std::size_t request_bytes) const {
    constexpr std::size_t small_bytes = 1024;
    return request_bytes >= small_bytes &&
           counted_ + closing_bytes_ + grown_ > context_->memory_max;
  }
  // Response bytes that receives under way may take: they are promised before they are there.
  void promise(std::size_t before, std::size_t now) { promised_ += now - before; }
  std::size_t left_to_promise() const {
    return context_->memory_max - std::min(context_->memory_max, promised_);
  }
  const AuthFailures& auth_failures() const { return auth_failures_; }
  // Microseconds at the begin of this turn, by an even clock.
  std::uint64_t now_us() const { return now_us_; }
  RequestCounts& requests() { return requests_; }

 protected:
  struct WaitingHandshake {
    std::uint32_t index, generation;
  };

  ~ConnectionHost();
  void drop_spare();

  Ring* ring_;
  const ConnectionContext* context_;
  CallSettings sqs_;  // the context's, with the current keys
  BinarySettings session_;
  ShardLoop* loop_ = nullptr;
  std::vector<std::uint32_t> dirty_;    // connections to flush
  std::vector<std::uint32_t> starved_;  // connections that wait for receive buffers
  std::size_t spare_bytes_ = 0;         // memory of all spare calls
  std::size_t counted_ = 0;             // bytes of verified connections and spare calls
  std::size_t promised_ = 0;            // response bytes of all receives under way
  std::size_t closing_bytes_ = 0;       // bytes of closing connections
  std::size_t grown_ = 0;               // growth since the count; frees are not subtracted
  HandshakeGate gate_;
  // Handshakes that wait for the next turn, and for the next second.
  std::deque<WaitingHandshake> handshakes_, later_handshakes_;
  Instant now_;
  std::uint64_t now_us_ = 0;
  std::string date_;
  Stage stage_ = Stage::serving;
  Instant drain_begun_;  // of the present stage

 private:
  std::vector<std::unique_ptr<PendingBinaryCall>> spare_receives_, spare_calls_;  // for reuse
  std::vector<std::unique_ptr<HttpCall>> spare_http_calls_;
  AuthFailures auth_failures_;
  RequestCounts requests_;
  std::uint64_t request_number_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// All connections of a shard, with their shared state.
//
// Units:  ms.
// Limits: ConnectionLimits limits the number of connections; the acceptor asks it. memory_max of
//         ConnectionContext bounds the bytes of all connections. From three quarters of it the
//         binary port gives each connection less credit, and RECEIVE responses shrink. Beyond it
//         the connection that holds most is closed. Connections that owe a proof of a key are
//         counted apart: unverified_max() bounds their sum.
// Owner:  the shard's thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "net/connection/auth_failures.h"
#include "net/connection/connection.h"
#include "net/connection/handshake_gate.h"
#include "net/connection/http_guard.h"
#include "net/connection/memory_sums.h"
#include "net/connection/reloadable_settings.h"
#include "net/engine/shard_loop.h"
#include "net/io/ring.h"
#include "proto/binary/session.h"
#include "proto/call.h"

namespace pawl {

enum class Protocol : std::uint8_t { http, binary, admin };

// The server's side of a shard's connections; must outlive them.
struct ConnectionContext {
  CallSettings sqs;
  BinarySettings session;
  const HttpGuard* guard = nullptr;        // for the SQS port
  const HttpGuard* admin_guard = nullptr;  // for the admin port, whose requests are never signed
  std::string http_url;                    // address for SQS clients, reported at other ports
  const ReloadableSettings* settings = nullptr;
  ConnectionTimes times;
  std::size_t memory_max = std::size_t{64} << 20;
  std::atomic<std::uint32_t>* open_count = nullptr;  // this shard's connections; for the acceptor
  ConnectionLimits* connection_limits = nullptr;
  ConnectionLimits* admin_connection_limits = nullptr;  // for the admin port
  std::string (*admin_answer)(void* server, std::string_view path, int& status) = nullptr;
  void* server = nullptr;
};

// Whether the first bytes of a connection look like an HTTP request.
bool begins_as_http(std::string_view bytes);

class PendingBinaryCall;

class Connections final : public RequestOwner {
 public:
  Connections(Ring& ring, const ConnectionContext& context);
  ~Connections() override;
  void use(ShardLoop& loop) { loop_ = &loop; }

  // --- RequestOwner ---
  void on_response(Request& request) override;
  void connection(std::uint64_t number) override;  // fd | protocol << 32 | peer_slot << 40

  // `peer_slot`: the row in limits_of(protocol), left when the connection is freed.
  void add(int fd, Protocol protocol, std::uint32_t peer_slot);
  static std::uint64_t number_of(int fd, Protocol protocol, std::uint32_t peer_slot) {
    return static_cast<std::uint32_t>(fd) |
           std::uint64_t{static_cast<std::uint8_t>(protocol)} << 32 |
           std::uint64_t{peer_slot} << 40;
  }

  // A completion with RingOp::receive or RingOp::send.
  void complete(RingTag tag, std::int32_t result, std::uint32_t flags);
  // The end of a turn: sends, re-arms, frees.
  void flush();
  // Timeouts and the date, once a second.
  void tick(Instant now);
  // The start of a turn: begins waiting handshakes.
  void begin_turn(Instant now);
  // Whether a handshake waits for the next turn, which should then follow at once.
  bool handshakes_wait() const { return !handshakes_.empty(); }

  void begin_drain();
  // Closes them all, despite pending calls.
  void close_all();
  bool quiet() const;
  // Bytes of connections: the last count, the growth since, and the bytes of OpenSSL, connection
  // objects and parsed topics. No connection is closed for the last three: an idle connection has
  // as much of each as a busy one.
  std::uint64_t memory() const override;
  std::size_t unverified_max() const { return context_->memory_max / 4; }
  const AuthFailures& auth_failures() const { return auth_failures_; }
  std::uint64_t evicted() const { return evicted_; }  // connections closed for lack of memory
  std::size_t open_connections() const { return open_; }

  // --- for connections ---
  Ring& ring() { return *ring_; }
  ShardLoop& loop() { return *loop_; }
  const ConnectionContext& context() const { return *context_; }
  const CallSettings& sqs() const { return sqs_; }
  const BinarySettings& session() const { return session_; }
  Instant now() const { return now_; }
  std::string_view date() const { return date_; }
  std::uint64_t next_request_number() { return request_number_++; }
  bool draining() const { return draining_; }
  // The HTTP response for a client at the wrong port: `why`, and the address for SQS.
  std::string wrong_port(std::string_view why) const;
  // True: the handshake may begin. False: begin_handshake() will be called later.
  bool admit_handshake(std::uint32_t index, std::uint32_t peer_slot);
  void want_flush(std::uint32_t index) { dirty_.push_back(index); }
  void want_buffers(std::uint32_t index) { starved_.push_back(index); }
  std::unique_ptr<PendingBinaryCall> take_call(bool receive);
  void give_call(std::unique_ptr<PendingBinaryCall> call);
  // A call for one HTTP request. give_http_call() returns it and keeps a few small ones for reuse.
  std::unique_ptr<HttpCall> take_http_call();
  void give_http_call(std::unique_ptr<HttpCall> call);
  static constexpr std::size_t spare_http_calls_max = 64;
  static constexpr std::size_t spare_http_call_bytes_max = 64 << 10;
  static constexpr std::size_t evicted_bytes_min = 64 << 10;
  static constexpr std::size_t evicted_stranger_bytes_min = 4 << 10;
  void auth_failed(AuthFault fault, Protocol protocol, const PeerAddress& peer);
  void grew(std::size_t bytes) { grown_ += bytes; }
  std::size_t free_memory_bytes() const {
    const std::size_t soft = context_->memory_max / 4 * 3;
    return soft - std::min<std::size_t>(soft, counted_ + grown_);
  }

 private:
  struct Row {
    std::unique_ptr<Connection> connection;
    std::uint32_t generation = 0;
    std::uint32_t bytes = 0;             // size of the connection object
    ConnectionLimits* limits = nullptr;  // table of its Peer::peer_slot
  };

  ConnectionLimits& limits_of(Protocol protocol) const {
    return protocol == Protocol::admin ? *context_->admin_connection_limits
                                       : *context_->connection_limits;
  }
  struct WaitingHandshake {
    std::uint32_t index, generation;
  };

  void free_row(std::uint32_t index);
  void follow_live();
  void count_memory();
  void drop_spare();
  void give_back_spare();
  void touch_all();
  void sum_memory();
  void close_strangers();
  void evict(Connection& connection);
  std::unique_ptr<Connection> make(int fd, Protocol protocol);

  Ring* ring_;
  const ConnectionContext* context_;
  CallSettings sqs_;  // the context's, with the current keys
  BinarySettings session_;
  std::shared_ptr<const TlsContext> tls_;
  std::uint64_t settings_seen_ = 0;
  ShardLoop* loop_ = nullptr;
  std::int64_t openssl_bytes_ = 0;  // must outlive rows_
  std::uint64_t object_bytes_ = 0;  // size of the connection objects
  std::vector<Row> rows_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> flushing_;
  std::vector<std::uint32_t> starved_;
  std::vector<std::unique_ptr<PendingBinaryCall>> spare_receives_, spare_calls_;  // for reuse
  std::vector<std::unique_ptr<HttpCall>> spare_http_calls_;
  std::size_t spare_bytes_ = 0;  // memory of all spare calls
  std::size_t open_ = 0;
  MemorySums memory_;
  std::size_t counted_ = 0;     // bytes of verified connections and spare calls
  std::size_t unverified_ = 0;  // bytes of unverified connections
  std::size_t grown_ = 0;       // growth since the count; frees are not subtracted
  std::uint64_t evicted_ = 0;
  AuthFailures auth_failures_;
  HandshakeGate gate_;
  // Handshakes that wait for the next turn, and for the next second.
  std::deque<WaitingHandshake> handshakes_, later_handshakes_;
  Instant now_;
  Instant ticked_, ticked_before_;
  std::string date_;
  std::uint64_t request_number_;
  bool draining_ = false;
};

}  // namespace pawl

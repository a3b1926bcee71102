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

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/check.h"
#include "net/connection/connection.h"
#include "net/connection/connection_host.h"
#include "net/connection/memory_sums.h"

namespace pawl {

class Connections final : public ConnectionHost, public RequestOwner {
 public:
  Connections(Ring& ring, const ConnectionContext& context);
  ~Connections() override;

  // --- RequestOwner ---
  void on_response(Request& request) override;
  // fd | protocol << 32 | peer_slot << 40, or the number of a HandedOver.
  void connection(std::uint64_t number) override;

  // `peer_slot`: the row in limits_of(protocol), left when the connection is freed.
  void add(int fd, Protocol protocol, std::uint32_t peer_slot);
  static std::uint64_t number_of(int fd, Protocol protocol, std::uint32_t peer_slot) {
    CHECK(fd >= 0 && peer_slot < ConnectionLimits::peer_slots_max);
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
  void begin_turn(Instant now, std::uint64_t now_us);
  // Whether a handshake waits for the next turn, which should then follow at once.
  bool handshakes_wait() const { return !handshakes_.empty(); }

  void enter(Stage stage);
  // Each turn of such a stage: ends the connections that nothing keeps open.
  void end_those_over();
  // Closes them all, despite pending calls.
  void close_all();
  // All have ended; those of the admin port only when the server stops.
  bool all_ended() const;
  // No connection can be served any more: those that arrive are closed.
  void serve_no_more() { over_ = true; }
  // Bytes of connections: the last count, the growth since, and the bytes of OpenSSL, connection
  // objects and parsed topics. No connection is closed for the last three: an idle connection has
  // as much of each as a busy one.
  std::uint64_t memory() const override;
  static constexpr std::size_t evicted_bytes_min = 64 << 10;
  static constexpr std::size_t evicted_stranger_bytes_min = 4 << 10;
  std::size_t unverified_max() const { return context_->memory_max / 4; }
  std::uint64_t evicted() const { return evicted_; }  // connections closed for lack of memory
  std::size_t open_connections() const { return open_; }

 private:
  struct Row {
    std::unique_ptr<Connection> connection;
    std::uint32_t generation = 0;
    std::uint32_t bytes = 0;             // size of the connection object
    bool local = false;                  // on a Unix socket
    ConnectionLimits* limits = nullptr;  // table of its Peer::peer_slot
  };

  void place(int fd, Protocol protocol, std::uint32_t peer_slot, HandedOver* before);
  void pass_on(std::uint32_t index, std::unique_ptr<HandedOver> handed);
  void free_row(std::uint32_t index);
  void leave_open_count();
  void follow_live();
  void count_memory();
  void free_spare();
  void touch_all();
  void sum_memory();
  void tell_memory();
  void close_strangers();
  void evict(Connection& connection);
  std::unique_ptr<Connection> make(int fd, Protocol protocol);

  std::shared_ptr<const TlsContext> tls_;
  std::uint64_t settings_seen_ = 0;
  std::int64_t openssl_bytes_ = 0;  // must outlive rows_
  std::uint64_t object_bytes_ = 0;  // size of the connection objects
  std::vector<Row> rows_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> flushing_;
  std::size_t open_ = 0;
  bool over_ = false;
  MemorySums memory_;
  std::size_t unverified_ = 0;                           // bytes of unverified connections
  static constexpr std::uint64_t memory_step = 1 << 20;  // the shard is told of such changes
  std::uint64_t told_memory_ = 0;
  std::uint64_t evicted_ = 0;
  Instant ticked_, ticked_before_;
};

}  // namespace pawl

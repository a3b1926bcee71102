// SPDX-License-Identifier: Apache-2.0
// A connection: a socket, received bytes not yet parsed, bytes to send, and pending calls.
//
// Its states: connection_state.h.
//
// Reading: one multishot receive; its bytes are offered to the protocol at once. Bytes that the
//          protocol does not take yet (a request is pending, no credit) are held. Beyond held_max
//          the receive is cancelled, so that back-pressure reaches the peer.
// Writing: the protocol appends to out(). At the end of the turn one send takes all of it, and
//          out() fills again meanwhile (output.h).
// TLS:     after start_tls() received bytes are decrypted before the protocol sees them, and its
//          output is encrypted before the send (sealed_stream.h). Handshake and close alert use the
//          same receive and send.
// Calls:   a receive that is pending when the connection closes is cancelled if possible; a
//          delivery that crosses the cancel is returned to its queue.
//
// Units:  bytes; ms.
// Limits: held_max, out_high (stop taking requests), out_max (disconnect), the timeouts below. A
//         handshake may take as long as a request's head (ConnectionTimes). Connections limits all
//         connections of a shard together.
// Owner:  the Connections of its shard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/base/time.h"
#include "core/queue/request.h"
#include "net/connection/connection_host.h"
#include "net/connection/connection_limits.h"
#include "net/connection/connection_state.h"
#include "net/connection/handed_over.h"
#include "net/connection/held_bytes.h"
#include "net/connection/output.h"
#include "net/connection/sealed_stream.h"
#include "net/io/ring.h"

namespace pawl {

class Keyring;

class Connection {
 public:
  static constexpr std::size_t held_max = 256 << 10;
  static constexpr std::size_t out_high = 1 << 20;
  static constexpr std::size_t out_max = 24 << 20;
  // A peer that takes less than a piece of output in this time is disconnected.
  static constexpr Duration send_timeout = seconds(30);
  // The same while more than out_max bytes wait behind the send under way.
  static constexpr Duration stuck_timeout = seconds(1);
  // Time for the peer to close its side after our last response.
  static constexpr Duration linger_timeout = seconds(2);
  // The same while the server drains or stops: a request that crossed our FIN has arrived by then.
  static constexpr Duration drain_linger = milliseconds(250);

  Connection(ConnectionHost& host, int fd) : host_(&host), fd_(fd) {}
  virtual ~Connection();

  void start_tls(const TlsContext& context, std::string_view protocol, std::int64_t& account) {
    CHECK(tls_ == nullptr && !receiving(), "TLS starts before the first byte");
    tls_ = std::make_unique<SealedStream>(context, protocol, account);
    output_.seal_with(tls_.get());
  }
  // `before`: the connection as another shard hands it over; null: a new connection.
  void start(std::uint32_t index, std::uint32_t generation, Peer peer, HandedOver* before);
  // The connection for the other shard, if it leaves and nothing is armed; else null. The object
  // is freed afterwards.
  std::unique_ptr<HandedOver> hand_over();
  const Peer& peer() const { return peer_; }
  std::uint32_t index() const { return index_; }

  // --- completions ---
  void on_receive(std::int32_t result, std::uint32_t flags);
  void on_send(std::int32_t result);
  void on_answer(PendingCall& call);

  void arm_receive();
  void begin_handshake();         // the host has admitted it
  void flush();                   // end of the turn: sends the bytes of out()
  void check_time(Instant now);   // once a second
  void end_if_over(Instant now);  // while the server drains or stops, each turn
  void begin_close();
  // Whether the peer has proved a key or needs none. Unverified connections share a separate limit.
  virtual bool verified() const { return true; }
  // False: the keyring no longer holds the key that the peer proved.
  virtual bool may_stay(const Keyring*) const { return true; }
  // Bytes received per second since `since`, the second tick before `now`, or since the start.
  std::size_t progress(Instant now, Instant since) const {
    const Duration passed = now - std::max(since, started_);
    return (arrived_ + arrived_before_) * 1000 / static_cast<std::size_t>(passed.ms + 1);
  }
  // Approximate bytes of received data, pending calls and unsent output. Its host counts the bytes
  // that OpenSSL holds, for all connections together.
  std::size_t memory() const {
    return held_.capacity() + output_.memory() + own_memory() +
           (tls_ == nullptr ? 0 : tls_->memory());
  }
  // Frees empty buffers that are kept for reuse.
  void free_spare();
  bool freed() const {
    return fd_ < 0 ||
           (state_ == State::closing && !receiving() && !output_.armed() && calls_.empty());
  }
  bool closing() const { return state_ == State::closing; }
  // No call is pending and all output is sent; a closing connection discards its output.
  bool quiet() const {
    const bool all_sent = output_.all_sent() && !output_waits_;
    return calls_.empty() && (all_sent || state_ == State::closing);
  }
  // Nothing is lost if the process ends now: the peer has all responses, and has seen the end of
  // the connection or had the time to. Closing earlier would reset a request that is on its way.
  bool has_ended(Instant now) const {
    return quiet() && (state_ == State::closing ||
                       (state_ == State::half_closed && now - half_closed_at_ >= drain_linger));
  }

 protected:
  using State = ConnectionState;

  // Takes bytes and returns how many. Fewer than all means "not now": the rest is offered again
  // after a response to one of its calls, or when its output has drained.
  virtual std::size_t take(std::string_view bytes) = 0;
  // The request of a call has its response. True: the call is over; false: it was submitted again,
  // and may charge less credit.
  virtual bool on_response(PendingCall& call) = 0;
  // The call is over and will not be touched again.
  virtual void release(PendingCall& call) = 0;
  // Called once a second. True: a timeout of the protocol has passed.
  virtual bool on_second(Instant now) = 0;
  virtual std::size_t own_memory() const = 0;  // the protocol's: partial input, pending calls
  virtual void own_spare() {}
  // The peer has read, or the kernel has taken, the output of a send.
  virtual void on_all_sent() {}
  // The protocol has more output and waits until the peer reads: on_all_sent() continues it, after
  // the peer's FIN too.
  bool output_waits_ = false;
  // Called while the server drains or stops; ends subscriptions. False: nothing keeps it open.
  virtual bool stays(Instant now) = 0;

  std::string& out();
  void submit(PendingCall& call, Request& request, ShardId target);
  // Hands the connection over to another shard, with these received bytes and those that follow.
  void leave(ShardId target, std::string_view bytes);
  void abandon(PendingCall& call);  // takes a receive back; its deliveries return to their queue
  void finish_after_answers();      // no more requests; close when everything is answered and sent
  std::size_t unsent() const { return output_.unsent(); }
  bool congested() const { return unsent() > out_high; }
  std::size_t calls() const { return calls_.size(); }
  ConnectionHost& host() const { return *host_; }
  bool open() const { return state_ == State::open; }
  bool encrypted() const { return tls_ != nullptr; }

 private:
  // The multishot receive. cancelled: its last completion has not come yet. starved: it ended for
  // lack of buffers and is armed again when some are returned.
  enum class Reading : std::uint8_t { idle, armed, cancelled, starved };

  void become(State state);
  bool receiving() const { return reading_ == Reading::armed || reading_ == Reading::cancelled; }
  void received(std::int32_t result, std::uint32_t flags);
  void arm_send();
  void finish_if_all_served();
  void take_plain(std::string_view bytes);
  void take_sealed(std::string_view bytes);
  void peer_closed();
  void offer_held();
  enum class Receives : std::uint8_t { all, that_wait };
  void abandon(Receives which);
  void maybe_finish();
  void pause_if_full();

  ConnectionHost* host_;
  int fd_;
  std::unique_ptr<SealedStream> tls_;    // null: no TLS
  std::unique_ptr<HandedOver> leaving_;  // in state leaving
  Peer peer_;
  Instant started_;
  std::uint32_t index_ = 0;
  std::uint32_t generation_ = 0;
  State state_ = State::open;
  Reading reading_ = Reading::idle;
  bool peer_closed_ = false;
  bool dirty_ = false;     // in the host's list of connections to flush
  bool offering_ = false;  // offer_held() is under way
  // Bytes received since the last tick, and between the two before.
  std::size_t arrived_ = 0, arrived_before_ = 0;
  HeldBytes held_;
  Output output_;
  Instant half_closed_at_;
  PendingCalls calls_;
};

}  // namespace pawl

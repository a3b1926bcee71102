// A connection: a socket, what came in and is not yet understood, what is to go out, calls under way.
//
//   open --peer closed--> finishing --answers sent--> closing --nothing armed, no call left--> freed
//     \--protocol says close--> finishing                ^
//     \--error, timeout, too slow------------------------+
//
// Reading: one multishot receive; its bytes are offered to the protocol at once. What the protocol will not
// take yet (a request is under way, no credit) is held; beyond held_max the receive is cancelled, so that
// back-pressure reaches the peer.
// Writing: the protocol appends to out(); at the end of the turn one send takes all of it, and the next
// fills while it is under way. At most one send is in flight: two could interleave.
// TLS:     with start_tls() what is received passes through it before the protocol sees it, and what the protocol
//          wrote before it is sent; handshake and farewell travel by the same one receive and one send.
// Calls:   a request that is under way when the connection goes is taken back if it can be; a delivery
//          that crosses this is returned to its queue.
//
// Units:  bytes; ms.
// Limits: held_max, out_high (stop taking requests), out_max (disconnect), the timeouts below; the handshake has
//         as long as a request's head (ConnectionTimes). All connections of a shard together: Connections.
// Owner:  the Connections of its shard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/request.h"
#include "core/time.h"
#include "net/connection/held_bytes.h"
#include "net/connection/peers.h"
#include "net/io/ring.h"
#include "net/io/tls.h"

namespace pawl {

class Connection;
class Connections;
class Keyring;

// How long a peer may take.
struct ConnectionTimes {
  Duration head = seconds(10);  // of a request, or of what comes before the first: handshake, HELLO
  Duration body = seconds(30);
  Duration idle = seconds(75);  // between requests of HTTP
};

// A request of a connection that is under way. The protocol's own call derives from it.
struct PendingCall {
  Connection* connection = nullptr;
  Request* request = nullptr;
  ShardId target{};
  std::uint32_t place = 0;   // in the connection's list
  Instant begun;             // a receive waits from here on
  bool abandoned = false;    // nobody waits for the answer any more
  bool giving_back = false;  // it has become the return of what was delivered
  std::vector<ReceiptEntry> returned;
};

class Connection {
 public:
  static constexpr std::size_t held_max = 256 << 10;
  static constexpr std::size_t out_high = 1 << 20;
  static constexpr std::size_t out_low = 256 << 10;
  static constexpr std::size_t out_max = 24 << 20;
  static constexpr std::size_t send_bytes_max = 256 << 10;  // handed to the kernel at once
  static constexpr Duration send_timeout =
      seconds(30);  // for so many bytes, which the peer has taken
  static constexpr Duration stuck_timeout = seconds(1);  // the same, with more than out_max left
  static constexpr Duration linger_timeout =
      seconds(2);  // for the peer to close after our last answer

  Connection(Connections& table, int fd) : table_(&table), fd_(fd) {}
  virtual ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start_tls(const TlsContext& context, std::string_view protocol, std::int64_t& account) {
    tls_ = std::make_unique<Tls>(context, protocol, account);
  }
  void start(std::uint32_t index, std::uint32_t generation, Peer peer);
  const Peer& peer() const { return peer_; }
  std::uint32_t index() const { return index_; }

  // --- completions ---
  void on_receive(std::int32_t result, std::uint32_t flags);
  void on_send(std::int32_t result);
  void on_answer(PendingCall& call);

  void arm_receive();
  void begin_handshake();        // its turn has come
  void flush();                  // end of the turn: sends what is in out()
  void check_time(Instant now);  // once a second
  void begin_drain();            // the server stops: finish what is under way
  void begin_close();
  // Whether the peer has shown a key, or need not. The bytes of the others have a budget of their own.
  virtual bool verified() const { return true; }
  // False: the key that the peer has shown is not among these any more.
  virtual bool may_stay(const Keyring*) const { return true; }
  // Bytes a second that came since `since`, which is the second tick before `now`, or since the start.
  std::size_t progress(Instant now, Instant since) const {
    const Duration passed = now - std::max(since, started_);
    return (arrived_ + arrived_before_) * 1000 / static_cast<std::size_t>(passed.ms + 1);
  }
  // Bytes that it has of what came, is under way and is to be sent, about. What OpenSSL holds for it is counted by its
  // table, for all connections together.
  std::size_t memory() const {
    return held_.capacity() + out_.capacity() + sending_.capacity() + own_memory() +
           (tls_ == nullptr ? 0 : tls_->memory());
  }
  // Gives back what is kept for what is to come.
  void give_back_spare();
  bool freed() const {
    return state_ == State::closing && !receive_armed_ && !send_armed_ && calls_.empty();
  }
  bool closing() const { return state_ == State::closing; }
  // Nothing is under way; what a closing one has not sent it never will.
  bool quiet() const {
    const bool all_sent = out_.empty() && !send_armed_ && (tls_ == nullptr || tls_->out().empty());
    return calls_.empty() && (all_sent || state_ == State::closing);
  }

 protected:
  enum class State : std::uint8_t { open, finishing, closing };

  // Takes bytes; returns how many. Fewer than all means "not now": they are offered again after a call of
  // this connection was answered or its output has drained.
  virtual std::size_t take(std::string_view bytes) = 0;
  // The request of a call is answered. True: the call is over; false: it was submitted again, and may take less.
  virtual bool answered(PendingCall& call) = 0;
  // The call is over and will not be touched again.
  virtual void release(PendingCall& call) = 0;
  virtual bool overdue(Instant now) const = 0;  // the connection should go by now
  virtual std::size_t own_memory() const = 0;   // of the protocol: what came and is under way
  virtual void own_spare() {}

  std::string& out();
  void submit(PendingCall& call, Request& request, ShardId target);
  void finish_after_answers();  // no more requests; close when everything is answered and sent
  bool congested() const { return unsent() > out_high; }
  std::size_t out_room() const { return out_max - std::min(out_max, unsent()); }
  std::size_t calls() const { return calls_.size(); }
  Connections& table() const { return *table_; }
  bool open() const { return state_ == State::open; }
  bool encrypted() const { return tls_ != nullptr; }

 private:
  std::size_t unsent() const { return out_.size() - sealed_ + sending_.size() - sent_; }
  void received(std::int32_t result, std::uint32_t flags);
  void arm_send();
  void look_at_peer(Instant now);
  void end_if_all_heard();
  void take_plain(std::string_view bytes);
  void take_sealed(std::string_view bytes);
  void open_sealed(std::string_view bytes);
  void seal();
  void peer_closed();
  void offer_held();
  void abandon_receives();
  void abandon_long_polls();
  void abandon(PendingCall& call);
  void forget(PendingCall& call);
  bool receive_again(PendingCall& call);
  bool refuse_plain_http(std::string_view bytes);
  void give_back(PendingCall& call);
  void maybe_finish();
  void pause_if_full();

  Connections* table_;
  int fd_;
  std::unique_ptr<Tls> tls_;  // null: in the clear
  Peer peer_;
  Instant started_;
  std::uint32_t index_ = 0;
  std::uint32_t generation_ = 0;
  State state_ = State::open;
  bool receive_armed_ = false;
  bool receive_cancelled_ = false;
  bool send_armed_ = false;
  bool starved_ = false;  // waits for receive buffers
  bool peer_closed_ = false;
  bool handshake_waits_ = false;
  bool handshake_admitted_ = false;
  bool dirty_ = false;  // in the table's list of those to flush
  bool offering_ = false;
  std::size_t arrived_ = 0,
              arrived_before_ = 0;  // bytes since the last tick, and between the two before
  bool half_closed_ = false;        // our side: the last answer is out
  HeldBytes held_;
  std::string out_;
  std::size_t sealed_ = 0;  // of out_, with TLS: these bytes have gone through it
  std::string sending_;
  std::size_t sent_ = 0;
  Instant send_progress_;
  int unacknowledged_ = -1;  // bytes that the kernel had then; -1: not known
  Instant half_closed_at_;
  std::vector<PendingCall*> calls_;
};

}  // namespace pawl

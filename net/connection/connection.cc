// SPDX-License-Identifier: Apache-2.0
#include "net/connection/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/check.h"
#include "net/connection/connection_host.h"

namespace pawl {

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

void Connection::start(std::uint32_t index, std::uint32_t generation, Peer peer,
                       HandedOver* before) {
  index_ = index;
  generation_ = generation;
  peer_ = peer;
  started_ = host_->now();
  CHECK(state_ == State::open && reading_ == Reading::idle, "a connection is started twice");
  arm_receive();
  if (before == nullptr) return;
  tls_ = std::move(before->tls);
  output_.seal_with(tls_.get());
  arrived_ = before->bytes.size();
  take_plain(before->bytes);
}

void Connection::become(State state) {
  CHECK(may_become(state_, state), "state {} after {}", static_cast<int>(state),
        static_cast<int>(state_));
  state_ = state;
}

void Connection::leave(ShardId target, std::string_view bytes) {
  CHECK(state_ == State::open && calls_.empty() && output_.text().empty(),
        "a connection leaves in use");
  become(State::leaving);
  leaving_ = std::make_unique<HandedOver>(
      HandedOver{.target = target, .peer_slot = peer_.peer_slot, .bytes = std::string(bytes)});
  host_->want_flush(index_);
}

std::unique_ptr<HandedOver> Connection::hand_over() {
  if (state_ != State::leaving || receiving() || output_.armed()) return nullptr;
  leaving_->fd = std::exchange(fd_, -1);
  leaving_->bytes.append(held_.view());
  if (tls_ != nullptr) tls_->charge_to(nullptr);
  output_.seal_with(nullptr);
  leaving_->tls = std::move(tls_);
  return std::move(leaving_);
}

// --- reading -------------------------------------------------------------------------------------

void Connection::arm_receive() {
  if (receiving() || peer_closed_ || state_ == State::closing || state_ == State::leaving) return;
  reading_ = Reading::armed;
  io_uring_sqe* const sqe = host_->ring().sqe({RingOp::receive, generation_, index_});
  io_uring_prep_recv_multishot(sqe, fd_, nullptr, 0, 0);
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = Ring::buffer_group;
}

void Connection::on_receive(std::int32_t result, std::uint32_t flags) {
  CHECK(receiving());
  if ((flags & IORING_CQE_F_MORE) == 0) reading_ = Reading::idle;
  received(result, flags);
  // The last completion of a closing connection may come late: flush() frees the connection then.
  if (state_ == State::closing || state_ == State::leaving) host_->want_flush(index_);
}

void Connection::received(std::int32_t result, std::uint32_t flags) {
  if (result > 0) {
    host_->grew(static_cast<std::size_t>(result));
    arrived_ += static_cast<std::size_t>(result);
    const std::string_view bytes = host_->ring().buffer(flags, result);
    if (state_ == State::open || state_ == State::leaving)
      tls_ == nullptr ? take_plain(bytes) : take_sealed(bytes);
    host_->ring().recycle(flags);
    pause_if_full();
  } else if (result == -ENOBUFS) {
    // Arming again at once would fail again: the connection waits for returned buffers.
    if (receiving()) return;
    reading_ = Reading::starved;
    if (state_ == State::open) host_->want_buffers(index_);
    return;
  } else if (state_ == State::leaving) {
    return;  // the other shard will see the end
  } else if (result == 0 || (result != -ECANCELED && result != -EINTR && result != -EAGAIN)) {
    return result < 0 ? begin_close() : peer_closed();
  }
  if (held_.size() < held_max) arm_receive();
}

void Connection::take_plain(std::string_view bytes) {
  const std::size_t taken = held_.empty() ? take(bytes) : 0;
  CHECK(taken <= bytes.size(), "the protocol took {} of {} bytes", taken, bytes.size());
  held_.append(bytes.substr(taken));
}

void Connection::begin_handshake() {
  CHECK(tls_ != nullptr && tls_->waits(), "no handshake waits");
  const std::string early = tls_->admit();
  if (state_ == State::open) take_sealed(early);
}

// Decrypts received bytes. Before the gate has admitted the handshake they are kept.
void Connection::take_sealed(std::string_view bytes) {
  if (tls_->unasked()) {
    if (host_->admit_handshake(index_, generation_, peer_.peer_slot)) {
      tls_->admit();
    } else {
      tls_->wait_for_turn();
    }
  }
  if (!tls_->admitted()) {
    if (!tls_->keep(bytes)) begin_close();
    return;
  }
  // Plain HTTP is answered in plain HTTP: otherwise the client only sees a closed connection.
  if (!tls_->begun() && begins_as_http(bytes)) {
    tls_->out().append(host_->wrong_port("This port of pawl speaks TLS.", peer_.address));
    return finish_after_answers();
  }
  const SealedStream::Input input = tls_->open(bytes, [this](std::string_view plain) {
    take_plain(plain);
    return state_ == State::open || state_ == State::leaving;
  });
  if (state_ == State::leaving) return;  // the other shard reads on, and sends what OpenSSL wrote
  if (input == SealedStream::Input::not_answered) return begin_close();
  if (input == SealedStream::Input::peer_closed) peer_closed();
  if (input == SealedStream::Input::failed) {
    abandon(Receives::all);
    finish_after_answers();
  }
  if (!tls_->out().empty()) out();
}

// The peer sends no more. Its pending requests are still answered, except long polls.
void Connection::peer_closed() {
  peer_closed_ = true;
  finish_if_all_served();
  maybe_finish();
}

// After the peer's FIN, held requests are still served as output drains; an incomplete request is
// dropped.
void Connection::finish_if_all_served() {
  if (!peer_closed_) return;
  abandon(Receives::that_wait);
  for (std::size_t before = held_.size() + 1; held_.size() < before && !offering_;) {
    before = held_.size();
    offer_held();
    abandon(Receives::that_wait);
  }
  const bool all = held_.empty() || (calls_.empty() && !congested() && !output_waits_);
  if (all && state_ == State::open && !offering_) finish_after_answers();
}

void Connection::pause_if_full() {
  const bool may_go_on = held_.size() < held_max && state_ != State::leaving;
  if (may_go_on || reading_ != Reading::armed) return;
  reading_ = Reading::cancelled;
  host_->ring().cancel({RingOp::receive, generation_, index_});
}

void Connection::offer_held() {
  if (offering_ || held_.empty() || state_ != State::open || congested()) return;
  offering_ = true;
  std::size_t taken = 0;
  while (state_ == State::open && taken < held_.size()) {
    const std::size_t offered = held_.size() - taken;
    const std::size_t more = take(held_.view().substr(taken));
    CHECK(more <= offered, "the protocol took {} of {} held bytes", more, offered);
    if (more == 0) break;
    taken += more;
  }
  held_.take(taken);  // fewer bytes are left if the connection ended meanwhile
  offering_ = false;
  if (held_.size() < held_max) arm_receive();
}

void Connection::free_spare() {
  held_.free_spare();
  output_.free_empty();
  own_spare();
}

// --- writing -------------------------------------------------------------------------------------

std::string& Connection::out() {
  if (!dirty_) {
    dirty_ = true;
    host_->want_flush(index_);
  }
  return output_.text();
}

void Connection::flush() {
  dirty_ = false;
  if (state_ == State::leaving) return pause_if_full();
  if (state_ == State::closing) return;
  // Disconnects a peer that requests without reading. One that reads may request more at once.
  if (output_.armed()) {
    if (output_.waiting() > out_max && output_.stuck(host_->now()) > stuck_timeout) begin_close();
    return;
  }
  if (!output_.seal() && state_ == State::open) finish_after_answers();
  if (tls_ != nullptr && state_ == State::finishing && output_.text().empty() && calls_.empty())
    tls_->close();
  if (!output_.begin()) return maybe_finish();
  arm_send();
}

void Connection::arm_send() {
  const std::string_view piece = output_.piece(host_->now());
  io_uring_sqe* const sqe = host_->ring().sqe({RingOp::send, generation_, index_});
  io_uring_prep_send(sqe, fd_, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_WAITALL);
}

void Connection::on_send(std::int32_t result) {
  output_.ended();
  if (state_ == State::closing) return host_->want_flush(index_);
  if (result <= 0 && result != -EINTR && result != -EAGAIN) return begin_close();
  if (output_.advance(result > 0 ? static_cast<std::size_t>(result) : 0)) return arm_send();
  out();  // schedules a flush: for more output, or to finish after the last response
  if (open() || output_waits_) on_all_sent();
  offer_held();
  finish_if_all_served();
}

// --- calls ---------------------------------------------------------------------------------------

void Connection::submit(PendingCall& call, Request& request, ShardId target) {
  call.connection = this;
  call.request = &request;
  call.target = target;
  call.abandoned = call.giving_back = false;
  call.begun = host_->now();
  calls_.add(call);
  request.owner = &call;
  request.stream = this;
  if (request.op == Op::receive) request.receive.consumer = peer_.address;
  request.waiter = 0;
  host_->loop().submit(request, target);
}

void Connection::on_answer(PendingCall& call) {
  CHECK(call.connection == this, "a response for another connection");
  CHECK(call.request != nullptr && call.request->owner == &call);
  const Request& request = *call.request;
  if (call.abandoned && !call.giving_back && request.op == Op::receive && request.delivered > 0 &&
      request.error == Errc::ok) {
    call.return_deliveries();
    return host_->loop().submit(*call.request, call.target);
  }
  if (state_ != State::closing && call.needs_another_look(*host_))
    return host_->loop().submit(*call.request, call.target);
  calls_.take_out(call);
  if (call.abandoned || state_ == State::closing) {
    release(call);
    if (state_ == State::closing) return host_->want_flush(index_);
    finish_if_all_served();
    return maybe_finish();
  }
  CHECK(!call.giving_back, "deliveries are returned only for an abandoned call");
  const bool over = on_response(call);
  if (over) release(call);
  offer_held();  // a call that goes on may charge less credit than before
  finish_if_all_served();
  if (over) maybe_finish();
}

void Connection::abandon(PendingCall& call) {
  if (call.abandoned || call.request->op != Op::receive) return;
  call.abandoned = true;
  if (!host_->loop().cancel(*call.request, call.target)) return;  // on_answer() follows
  calls_.take_out(call);
  release(call);
}

// After the peer's FIN: receives that do not wait are still answered.
void Connection::abandon(Receives which) {
  const auto waits = [this](const PendingCall& call) {
    if (call.abandoned) return false;  // the queue's shard may be changing the request
    const Duration wait = call.request->receive.wait;
    if (wait.ms >= 0) return wait.ms > 0;
    const ConfigPtr* const queue = host_->loop().shard().directory().find(call.request->queue);
    return queue != nullptr && (*queue)->wait().ms > 0;
  };
  for (std::size_t i = calls_.size(); i > 0; --i)
    if (which == Receives::all || waits(calls_[i - 1])) abandon(calls_[i - 1]);
}

// --- the end -------------------------------------------------------------------------------------

void Connection::finish_after_answers() {
  if (state_ == State::open) become(State::finishing);
  held_.clear();
  out();
}

void Connection::end_if_over(Instant now) {
  if (state_ == State::open && !stays(now)) finish_after_answers();
}

// When all responses are sent, closes our side and gives the peer a moment to read and close too.
// Closing at once with unread bytes would reset the connection before the peer reads our response.
void Connection::maybe_finish() {
  if ((state_ != State::finishing && state_ != State::half_closed) || !quiet()) return;
  if (tls_ != nullptr && !tls_->closed()) {
    out();  // the close alert goes first
    return;
  }
  if (peer_closed_) return begin_close();
  if (state_ == State::half_closed) return;
  CHECK(calls_.empty() && !output_.armed(), "{} calls are pending", calls_.size());
  become(State::half_closed);
  half_closed_at_ = host_->now();
  ::shutdown(fd_, SHUT_WR);
}

void Connection::begin_close() {
  if (state_ == State::closing) return;
  become(State::closing);
  ::shutdown(fd_, SHUT_RDWR);  // ends the armed receive and send
  abandon(Receives::all);
  host_->want_flush(index_);
}

void Connection::check_time(Instant now) {
  arrived_before_ = std::exchange(arrived_, 0);
  if (state_ == State::closing) return;
  if (calls_.empty() && !output_.armed()) free_spare();
  output_.watch(fd_, now);
  if (output_.armed() && output_.stuck(now) > send_timeout) return begin_close();
  if (state_ == State::half_closed && now - half_closed_at_ > linger_timeout) return begin_close();
  const bool shaking_hands = tls_ != nullptr && !tls_->established();
  const bool late = shaking_hands ? now - started_ > host_->context().times.head : on_second(now);
  // While bytes are held, the peer must first read its responses, within send_timeout.
  if (state_ == State::open && calls_.empty() && held_.empty() && late) finish_after_answers();
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/connection.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/base/check.h"
#include "core/base/free_memory.h"
#include "net/connection/connection_host.h"

namespace pawl {
namespace {

// Whether the peer has read bytes since the previous call of the same send. The kernel buffers
// megabytes for a slow peer and then takes nothing until most of that is read, so the length of its
// send queue shows it. `unacknowledged`: that length when it last changed; -1: unknown.
bool peer_has_read(int fd, std::size_t send_bytes_max, int& unacknowledged) {
  int left = 0;
  if (::ioctl(fd, SIOCOUTQ, &left) != 0) return false;
  const int before = unacknowledged;
  const bool taken = left > before ||  // the kernel took more
                     left + static_cast<int>(send_bytes_max) <= before;
  if (before < 0 || taken) unacknowledged = left;
  return before >= 0 && taken;
}

}  // namespace

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

void Connection::start(std::uint32_t index, std::uint32_t generation, Peer peer,
                       HandedOver* before) {
  index_ = index;
  generation_ = generation;
  peer_ = peer;
  started_ = host_->now();
  CHECK(state_ == State::open && !receive_armed_, "a connection is started twice");
  arm_receive();
  if (before == nullptr) return;
  tls_ = std::move(before->tls);
  handshake_admitted_ = tls_ != nullptr;
  arrived_ = before->bytes.size();
  take_plain(before->bytes);
}

void Connection::leave(ShardId target, std::string_view bytes) {
  CHECK(state_ == State::open && calls_.empty() && out_.empty(), "a connection leaves in use");
  state_ = State::leaving;
  leaving_ = std::make_unique<HandedOver>(
      HandedOver{.target = target, .peer_slot = peer_.peer_slot, .bytes = std::string(bytes)});
  host_->want_flush(index_);
}

std::unique_ptr<HandedOver> Connection::hand_over() {
  if (state_ != State::leaving || receive_armed_ || send_armed_) return nullptr;
  leaving_->fd = std::exchange(fd_, -1);
  leaving_->bytes.append(held_.view());
  if (tls_ != nullptr) tls_->charge_to(nullptr);
  leaving_->tls = std::move(tls_);
  return std::move(leaving_);
}

// --- reading -------------------------------------------------------------------------------------

void Connection::arm_receive() {
  if (receive_armed_ || peer_closed_ || state_ == State::closing || state_ == State::leaving)
    return;
  starved_ = false;
  receive_armed_ = true;
  receive_cancelled_ = false;
  io_uring_sqe* const sqe = host_->ring().sqe({RingOp::receive, generation_, index_});
  io_uring_prep_recv_multishot(sqe, fd_, nullptr, 0, 0);
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = Ring::buffer_group;
}

void Connection::on_receive(std::int32_t result, std::uint32_t flags) {
  CHECK(receive_armed_);
  receive_armed_ = (flags & IORING_CQE_F_MORE) != 0;
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
    if (!starved_ && state_ == State::open) host_->want_buffers(index_);
    starved_ = true;
    return;
  } else if (state_ == State::leaving) {
    return;  // the other shard will see the end
  } else if (result == 0 || (result != -ECANCELED && result != -EINTR && result != -EAGAIN)) {
    return result < 0 ? begin_close() : peer_closed();
  }
  if (!receive_armed_ && held_.size() < held_max) arm_receive();
}

void Connection::take_plain(std::string_view bytes) {
  const std::size_t taken = held_.empty() ? take(bytes) : 0;
  CHECK(taken <= bytes.size(), "the protocol took {} of {} bytes", taken, bytes.size());
  held_.append(bytes.substr(taken));
}

// Keeps the bytes of a handshake until the gate admits it.
void Connection::take_sealed(std::string_view bytes) {
  if (!handshake_waits_ && !handshake_admitted_) {
    handshake_admitted_ = host_->admit_handshake(index_, generation_, peer_.peer_slot);
    handshake_waits_ = !handshake_admitted_;
  }
  if (handshake_admitted_) return open_sealed(bytes);
  tls_->early().append(bytes);
  if (tls_->early().size() > Tls::pending_max) begin_close();
}

void Connection::begin_handshake() {
  CHECK(tls_ != nullptr && handshake_waits_ && !handshake_admitted_);
  handshake_waits_ = false;
  handshake_admitted_ = true;
  std::string early;
  early.swap(tls_->early());
  if (state_ == State::open) open_sealed(early);
}

// Decrypts all received bytes at once, so that held_max bounds connections with TLS too.
void Connection::open_sealed(std::string_view bytes) {
  thread_local std::array<char, 16 << 10> plain;  // the payload of the largest record
  // Plain HTTP is answered in plain HTTP: otherwise the client only sees a closed connection.
  if (!tls_->begun() && begins_as_http(bytes)) {
    tls_->out().append(host_->wrong_port("This port of pawl speaks TLS."));
    return finish_after_answers();
  }
  Tls::Read read = Tls::Read::data;
  tls_->feed(bytes);
  while (read == Tls::Read::data && (state_ == State::open || state_ == State::leaving)) {
    std::size_t count = 0;
    read = tls_->read(plain, count);
    if (count > 0) take_plain({plain.data(), count});
  }
  tls_->feed({});
  if (state_ == State::leaving) return;  // the other shard reads on, and sends what OpenSSL wrote
  if (read == Tls::Read::closed) peer_closed();
  if (read == Tls::Read::failed) {
    abandon(Receives::all);
    finish_after_answers();
  }
  if (tls_->out().size() > Tls::pending_max)
    return begin_close();  // the peer causes output and does not read it
  if (!tls_->out().empty()) out();
}

// The peer sends no more. Its pending requests are still answered, except long polls.
void Connection::peer_closed() {
  peer_closed_ = true;
  end_if_all_heard();
  maybe_finish();
}

// After the peer's FIN, held requests are still served as output drains; an incomplete request is
// dropped.
void Connection::end_if_all_heard() {
  if (!peer_closed_) return;
  abandon(Receives::that_wait);
  for (std::size_t before = held_.size() + 1; held_.size() < before && !offering_;) {
    before = held_.size();
    offer_held();
    abandon(Receives::that_wait);
  }
  const bool all = held_.empty() || (calls_.empty() && !congested());
  if (all && state_ == State::open && !offering_) finish_after_answers();
}

void Connection::pause_if_full() {
  const bool may_go_on = held_.size() < held_max && state_ != State::leaving;
  if (may_go_on || !receive_armed_ || receive_cancelled_) return;
  receive_cancelled_ = true;
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

void Connection::give_back_spare() {
  held_.give_back_spare();
  for (std::string* const buffer : {&out_, &sending_})
    if (buffer->empty()) free_memory(*buffer);
  own_spare();
}

// --- writing -------------------------------------------------------------------------------------

std::string& Connection::out() {
  if (!dirty_) {
    dirty_ = true;
    host_->want_flush(index_);
  }
  return out_;
}

void Connection::flush() {
  dirty_ = false;
  if (state_ == State::leaving) return pause_if_full();
  if (state_ == State::closing) return;
  // Disconnects a peer that requests without reading. One that reads may request more at once.
  if (send_armed_) {
    if (out_.size() - sealed_ > out_max && host_->now() - send_progress_ > stuck_timeout)
      begin_close();
    return;
  }
  if (tls_ != nullptr) seal();
  std::string& ready = tls_ == nullptr ? out_ : tls_->out();
  if (ready.empty()) return maybe_finish();
  CHECK(sending_.empty(), "{} bytes of the previous send are left", sending_.size() - sent_);
  sending_.swap(ready);
  ready.clear();
  sent_ = 0;
  arm_send();
}

// Sends one piece at a time, which shows whether the peer reads.
void Connection::arm_send() {
  send_progress_ = host_->now();
  unacknowledged_ = -1;
  CHECK(!send_armed_ && sent_ < sending_.size(), "sent {} of {}", sent_, sending_.size());
  send_armed_ = true;
  io_uring_sqe* const sqe = host_->ring().sqe({RingOp::send, generation_, index_});
  io_uring_prep_send(sqe, fd_, sending_.data() + sent_,
                     std::min(sending_.size() - sent_, send_bytes_max), MSG_NOSIGNAL | MSG_WAITALL);
}

// Encrypts a slice of out_; the next slice follows when this one is sent.
void Connection::seal() {
  if (!out_.empty()) {
    const std::size_t count = tls_->write(std::string_view(out_).substr(sealed_));
    sealed_ += count;
    CHECK(sealed_ <= out_.size(), "encrypted {} of {} bytes", sealed_, out_.size());
    if (count == 0) {
      sealed_ = out_.size();
      if (state_ == State::open) finish_after_answers();
    }
  }
  if (sealed_ < out_.size()) {
    if (sealed_ > out_.size() / 2) out_.erase(0, std::exchange(sealed_, 0));
    return;
  }
  out_.clear();
  sealed_ = 0;
  if (out_.capacity() > out_low) free_memory(out_);
  if (state_ == State::finishing && calls_.empty()) tls_->close();
}

void Connection::on_send(std::int32_t result) {
  CHECK(send_armed_);
  send_armed_ = false;
  if (state_ == State::closing) return host_->want_flush(index_);
  if (result <= 0 && result != -EINTR && result != -EAGAIN) return begin_close();
  if (result > 0) sent_ += static_cast<std::size_t>(result);
  CHECK(sent_ <= sending_.size(), "sent {} of {}", sent_, sending_.size());
  if (sent_ < sending_.size()) return arm_send();
  sending_.clear();
  if (sending_.capacity() > out_low) free_memory(sending_);
  sent_ = 0;
  out();  // schedules a flush: for more output, or to finish after the last response
  if (open()) on_all_sent();
  offer_held();
  end_if_all_heard();
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
    end_if_all_heard();
    return maybe_finish();
  }
  CHECK(!call.giving_back, "deliveries are returned only for an abandoned call");
  const bool over = on_response(call);
  if (over) release(call);
  offer_held();  // a call that goes on may charge less credit than before
  end_if_all_heard();
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
  if (state_ == State::open) state_ = State::finishing;
  held_.clear();
  out();
}

void Connection::end_if_over(Instant now) {
  if (state_ == State::open && !stays(now)) finish_after_answers();
}

// When all responses are sent, closes our side and gives the peer a moment to read and close too.
// Closing at once with unread bytes would reset the connection before the peer reads our response.
void Connection::maybe_finish() {
  if (state_ != State::finishing || !quiet()) return;
  if (tls_ != nullptr && !tls_->closed()) {
    out();  // the close alert goes first
    return;
  }
  if (peer_closed_) return begin_close();
  if (half_closed_) return;
  CHECK(calls_.empty() && !send_armed_, "{} calls are pending", calls_.size());
  half_closed_ = true;
  half_closed_at_ = host_->now();
  ::shutdown(fd_, SHUT_WR);
}

void Connection::begin_close() {
  if (state_ == State::closing) return;
  state_ = State::closing;
  ::shutdown(fd_, SHUT_RDWR);  // ends the armed receive and send
  abandon(Receives::all);
  host_->want_flush(index_);
}

void Connection::check_time(Instant now) {
  arrived_before_ = std::exchange(arrived_, 0);
  if (state_ == State::closing) return;
  if (calls_.empty() && !send_armed_) give_back_spare();
  if (send_armed_ && peer_has_read(fd_, send_bytes_max, unacknowledged_)) send_progress_ = now;
  if (send_armed_ && now - send_progress_ > send_timeout) return begin_close();
  if (half_closed_ && now - half_closed_at_ > linger_timeout) return begin_close();
  const bool shaking_hands = tls_ != nullptr && !tls_->established();
  const bool late = shaking_hands ? now - started_ > host_->context().times.head : on_second(now);
  // While bytes are held, the peer must first read its responses, within send_timeout.
  if (state_ == State::open && calls_.empty() && held_.empty() && late) finish_after_answers();
}

}  // namespace pawl

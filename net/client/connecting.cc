// SPDX-License-Identifier: Apache-2.0
#include "net/client/connecting.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "core/base/check.h"
#include "net/client/answers.h"
#include "proto/auth/challenge.h"
#include "proto/binary/frames.h"
#include "proto/binary/payloads.h"

namespace pawl::client {
namespace {

using Code = Client::Code;

constexpr std::size_t name_bytes_max = 64;

}  // namespace

Connecting::Connecting(const Client::Options& options, Clock::time_point now) : options_(options) {
  enter(State::connecting, now);
  auto addresses = resolve(options_.host, options_.port);
  if (addresses) addresses_ = std::move(*addresses);
  connect_next(addresses ? EADDRNOTAVAIL : addresses.error(), now);
}

void Connecting::enter(State state, Clock::time_point now) {
  CHECK(!ended(), "a connection that has ended enters another state");
  state_ = state;
  deadline_ = now + options_.connect_timeout;
}

void Connecting::fail(Client::Error error) {
  CHECK(!ended(), "a connection ends twice");
  state_ = State::failed;
  error_ = error;
  socket_.reset();
  pipeline_.reset();
}

int Connecting::descriptor() const {
  if (socket_) return socket_->descriptor();
  return pipeline_ ? pipeline_->descriptor() : -1;
}

short Connecting::events() const {
  if (state_ == State::connecting) return POLLOUT;
  if (state_ == State::securing) return handshake_ == Handshake::want_read ? POLLIN : POLLOUT;
  return pipeline_ ? pipeline_->events() : short{0};
}

Greeted Connecting::take() {
  CHECK(state_ == State::ready, "a connection is taken in state {}", static_cast<int>(state_));
  CHECK(pipeline_, "a connection is taken twice");
  Greeted greeted{std::move(*pipeline_), std::move(server_), (features_ & feature_groups) != 0,
                  (features_ & feature_subscribe) != 0, (features_ & feature_send_once) != 0};
  pipeline_.reset();
  return greeted;
}

void Connecting::on_ready(Clock::time_point now) {
  while (!ended() && step(now)) continue;
  if (!ended() && now >= deadline_) on_deadline();
}

void Connecting::on_deadline() {
  if (state_ == State::connecting) return fail(error_of(Code::unreachable, ETIMEDOUT));
  if (state_ == State::securing) return fail(error_of(Code::untrusted));
  fail(error_of(Code::timed_out, ETIMEDOUT));
}

bool Connecting::step(Clock::time_point now) {
  switch (state_) {
    case State::connecting:
      return on_connecting(now);
    case State::securing:
      return on_securing(now);
    default:
      return on_answer(now);
  }
}

// --- connecting ---

// Begins with the next address; without one the last error is reported.
void Connecting::connect_next(int error, Clock::time_point now) {
  CHECK(state_ == State::connecting, "an address is tried in state {}", static_cast<int>(state_));
  socket_.reset();
  while (!socket_ && next_address_ < addresses_.size()) {
    auto opened = Socket::open(addresses_[next_address_++]);
    if (opened) {
      socket_.emplace(std::move(*opened));
    } else {
      error = opened.error();
    }
  }
  if (!socket_ || now >= deadline_) fail(error_of(Code::unreachable, error));
}

bool Connecting::on_connecting(Clock::time_point now) {
  CHECK(socket_, "connecting without a socket");
  const auto connected = socket_->connected();
  if (!connected) {
    connect_next(connected.error(), now);
    return true;
  }
  return *connected && on_connected(now);
}

bool Connecting::on_connected(Clock::time_point now) {
  if (!options_.tls) {
    greet(now);
    return true;
  }
  enter(State::securing, now);
  if (!socket_->begin_tls({options_.host, options_.ca_file, options_.tls_verify}))
    fail(error_of(Code::untrusted));
  return true;
}

bool Connecting::on_securing(Clock::time_point now) {
  CHECK(socket_, "a handshake without a socket");
  handshake_ = socket_->handshake();
  if (handshake_ == Handshake::failed) fail(error_of(Code::untrusted));
  if (handshake_ == Handshake::done) greet(now);
  return handshake_ == Handshake::done;
}

// --- greeting ---

void Connecting::greet(Clock::time_point now) {
  CHECK(!pipeline_, "a connection is greeted twice");
  pipeline_.emplace(std::move(*socket_), options_);
  socket_.reset();
  std::string& out = pipeline_->begin(BinaryOp::hello, 0);
  put_struct(out,
             payload::Hello{.features = feature_groups | feature_subscribe | feature_send_once |
                                        (options_.checksum ? feature_checksum : 0),
                            .auth = options_.key_id.empty() ? auth_none : auth_key,
                            .client = std::string_view(options_.name).substr(0, name_bytes_max)});
  if (!options_.queue.empty() && options_.queue.size() + options_.queue_account.size() < 1024)
    put_struct(out, payload::QueueAddress{options_.queue_account, options_.queue});
  submit(now, State::greeting);
}

void Connecting::submit(Clock::time_point now, State next) {
  enter(next, now);
  if (const auto ticket = pipeline_->finish(); !ticket) fail(ticket.error());
}

bool Connecting::on_answer(Clock::time_point now) {
  answers_.clear();
  pipeline_->turn(answers_, std::chrono::microseconds(0));
  if (answers_.empty()) return false;
  CHECK(answers_.size() == 1, "{} responses to one request", answers_.size());
  const Answer& answer = answers_.front();
  if (answer.error.code != Code::ok) {
    fail(answer.error);
  } else if (state_ == State::greeting) {
    on_greeted(answer.payload, now);
  } else {
    enter(State::ready, now);
  }
  if (state_ != State::ready) return true;
  pipeline_->grant(server_.credit_frames, server_.credit_bytes);
  pipeline_->use_checksum((features_ & feature_checksum) != 0);
  return false;
}

void Connecting::on_greeted(std::string_view payload, Clock::time_point now) {
  std::string_view challenge;
  if (!take_server(payload, server_, features_, challenge)) return fail(error_of(Code::bad_answer));
  if (challenge.empty()) return enter(State::ready, now);
  authenticate(challenge, now);
}

void Connecting::authenticate(std::string_view text, Clock::time_point now) {
  Challenge challenge;
  if (text.size() != challenge.size()) return fail(error_of(Code::bad_answer));
  if (options_.key_id.size() > key_id_max) return fail(error_of(Code::invalid));
  std::ranges::copy(text, challenge.begin());
  const Sha256 proof = prove(options_.secret, options_.key_id, challenge);
  std::string& out = pipeline_->begin(BinaryOp::authenticate, 0);
  put_struct(out, payload::Authenticate{options_.key_id, proof});
  submit(now, State::authenticating);
}

}  // namespace pawl::client

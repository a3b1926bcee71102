// SPDX-License-Identifier: Apache-2.0
#include "net/connection/http_connection.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/free_memory.h"
#include "net/connection/connection_host.h"
#include "net/io/kernel_clocks.h"
#include "proto/http/refusals.h"

namespace pawl {
namespace {

constexpr std::size_t receive_bytes_least = 64 << 10;
constexpr std::string_view memory_full_text =
    "The memory for requests under way is used up. Retry, or give the broker more memory.";

// The response to invalid HTTP: plain text, because the client's protocol is unknown.
void write_error(std::string& out, const HttpParser& parser, std::string_view date) {
  append_response(out, parser.error_status(), "text/plain", {}, {}, parser.error_text(), false,
                  false, date);
}

}  // namespace

void HttpTimes::note(HttpParser::Phase now_in, Instant now) {
  if (now_in != phase || now_in == HttpParser::Phase::idle) since = now;
  phase = now_in;
  silent = false;
}

bool HttpTimes::overdue(Instant now, const ConnectionTimes& times) const {
  switch (phase) {
    case HttpParser::Phase::idle:
      return now - since > (silent ? times.head : times.idle);
    case HttpParser::Phase::head:
      return now - since > times.head;
    case HttpParser::Phase::body:
      return now - since > times.body;
    case HttpParser::Phase::done:
      return false;
  }
  return false;
}

bool HttpTimes::stays(Instant drain_begun, Instant now) const {
  if (phase != HttpParser::Phase::idle) return true;
  const bool busy = since + recent > drain_begun;
  return busy && now < std::max(drain_begun, since) + grace;
}

HttpConnection::HttpConnection(ConnectionHost& host, int fd, Instant now) : Connection(host, fd) {
  times_.since = now;
  parser_.stop_at_head();
}

HttpConnection::~HttpConnection() { host().promise(promised_, 0); }

bool HttpConnection::verified() const { return verified_ || host().sqs().keys == nullptr; }

bool HttpConnection::on_second(Instant now) { return times_.overdue(now, host().context().times); }

bool HttpConnection::stays(Instant now) {
  return under_way_ > 0 || times_.stays(host().drain_begun(), now);
}

std::size_t HttpConnection::take(std::string_view bytes) {
  std::size_t taken = 0;
  HttpParser::State state = HttpParser::State::need_more;
  while (under_way_ == 0 && open() && !congested() &&
         (taken < bytes.size() || state == HttpParser::State::head)) {
    std::size_t consumed = 0;
    state = parser_.feed(bytes.substr(taken), consumed);
    taken += consumed;
    times_.note(parser_.phase(), host().now());
    switch (state) {
      case HttpParser::State::need_more:
        return bytes.size();
      case HttpParser::State::head:
        if (!take_head(bytes.size() - taken)) return bytes.size();
        break;
      case HttpParser::State::need_continue:
        out().append(continue_response);
        break;
      case HttpParser::State::complete:
        begin_call();
        break;
      case HttpParser::State::error:
        if (const HttpRequest* head = parser_.refused_head()) {
          refuse_body(*head, parser_.error_status(), parser_.error_text());
        } else {
          constexpr char tls_handshake = '\x16';
          if (bytes.starts_with(tls_handshake))
            host().note_wrong_protocol("This http port has no TLS. A TLS handshake",
                                       peer().address);
          write_error(out(), parser_, host().date());
          host().requests().note_http("http", {}, status_text(parser_.error_status()), 0);
          finish_after_answers();
        }
        return bytes.size();
    }
  }
  return taken;
}

// Answers a request whose body is not accepted, and closes the connection after the response.
void HttpConnection::refuse_body(HttpRequest head, int status, std::string_view why) {
  name(head);
  CHECK(call_ == nullptr, "a request begins while another is pending");
  call_ = host().take_http_call();
  call_->deny(head, host().sqs(), status, why, host().next_request_number());
  call_->write_response(out(), host().date(), false);
  count_request();
  end_call();
  finish_after_answers();
}

// Sets the members of a request that the parser does not know.
void HttpConnection::name(HttpRequest& request) const {
  const HttpGuard& guard = *host().context().guard;
  request.arrived = wall_now();
  request.cors_origin = guard.cors_origin(request);
  guard.name_server(request, encrypted(), guard.is_proxy(peer().address));
}

// Checks a request before its body is taken; `at_hand` bytes of the body have arrived. False: the
// response is written, and the connection closes after it.
bool HttpConnection::take_head(std::size_t at_hand) {
  begun_us_ = host().now_us();
  HttpRequest head = parser_.request();
  const std::size_t most = HttpCall::body_bytes_max(head);
  const std::optional<std::size_t> length = parser_.body_length();
  if (length.value_or(0) > most) {
    refuse_body(head, 413, long_body_text(*length, most));
    return false;
  }
  parser_.limit_body(most);
  if (length && *length <= at_hand) return true;  // begin_call() checks the whole request
  const std::uint64_t number = host().next_request_number();
  CHECK(call_ == nullptr, "a request begins while another is pending");
  call_ = host().take_http_call();
  if (const std::string why = host().context().guard->refuse(head); !why.empty()) {
    call_->deny(head, host().sqs(), 403, why, number);
  } else {
    name(head);
    const HttpCall::Head judged = call_->check_head(head, host().sqs(), number);
    if (judged == HttpCall::Head::verified) verified_ = true;
    if (judged != HttpCall::Head::refused) {
      end_call();
      return true;
    }
    host().auth_failed(call_->auth_fault(), Protocol::http, peer().address);
  }
  call_->write_response(out(), host().date(), false);
  count_request();
  end_call();
  finish_after_answers();
  return false;
}

void HttpConnection::begin_call() {
  begun_us_ = host().now_us();
  HttpRequest request = parser_.request();
  CHECK(call_ == nullptr && under_way_ == 0, "a request begins while another is pending");
  call_ = host().take_http_call();
  if (const std::string why = host().context().guard->refuse(request); !why.empty()) {
    call_->deny(request, host().sqs(), 403, why, host().next_request_number());
    return finish_call();
  }
  if (host().refuses(request.body.size())) {
    call_->deny(request, host().sqs(), 429, memory_full_text, host().next_request_number());
    return finish_call();
  }
  name(request);
  const auto next = call_->begin(request, host().loop().shard().directory(), host().sqs(),
                                 host().now(), host().next_request_number());
  if (call_->verified()) verified_ = true;
  if (call_->auth_fault() != AuthFault::none)
    host().auth_failed(call_->auth_fault(), Protocol::http, peer().address);
  if (next == HttpCall::Next::respond) return finish_call();
  submit_routes();
}

// A call's memory counts as the connection's while the connection borrows it.
void HttpConnection::count_call() {
  const std::size_t bytes = call_->memory();
  if (bytes > call_bytes_) host().grew(bytes - call_bytes_);
  call_bytes_ = bytes;
}

void HttpConnection::count_request() {
  host().requests().note_http(call_->protocol(), call_->action(), call_->error_code(),
                              host().now_us() - begun_us_);
}

void HttpConnection::end_call() {
  CHECK(call_ != nullptr && under_way_ == 0, "a call ends while {} routes wait", under_way_);
  call_bytes_ = 0;
  host().promise(std::exchange(promised_, 0), 0);
  host().give_http_call(std::move(call_));
}

void HttpConnection::own_spare() {
  if (under_way_ > 0) return;
  parser_.free_spare();
  free_memory(pending_);
}

// A receive may return fewer bytes while the receives of all connections together may return much.
void HttpConnection::promise_answers() {
  std::size_t bytes = 0;
  for (const CallRoute& route : call_->routes()) {
    if (route.request->op != Op::receive) continue;
    std::uint64_t& most = route.request->receive.bytes_max;
    const std::size_t fair = std::max(host().left_to_promise() / 4, receive_bytes_least);
    most = std::min<std::uint64_t>(most, fair);
    bytes += most;
  }
  host().promise(std::exchange(promised_, bytes), bytes);
}

void HttpConnection::submit_routes() {
  count_call();
  const std::span<const CallRoute> routes = call_->routes();
  CHECK(!routes.empty(), "a call that waits for nothing");
  while (pending_.size() < routes.size()) pending_.push_back(std::make_unique<PendingCall>());
  CHECK(under_way_ == 0, "{} routes already wait", under_way_);
  under_way_ = routes.size();
  promise_answers();
  for (std::size_t i = 0; i < routes.size(); ++i) {
    submit(*pending_[i], *routes[i].request, routes[i].target);
  }
}

bool HttpConnection::on_response(PendingCall&) {
  CHECK(call_ != nullptr && under_way_ > 0, "a response for no request");
  if (--under_way_ > 0) return false;
  count_call();
  if (call_->resume(host().loop().shard().directory()) == HttpCall::Next::route) {
    submit_routes();
    return false;
  }
  finish_call();
  return true;
}

void HttpConnection::finish_call() {
  const std::size_t before = out().size();
  call_->write_response(out(), host().date(), open() && !host().draining());
  host().grew(out().size() - before);
  const bool keep = call_->keep_alive();
  count_request();
  end_call();
  parser_.next();
  times_.note(parser_.phase(), host().now());
  if (!keep) finish_after_answers();
}

}  // namespace pawl

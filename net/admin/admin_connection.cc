// SPDX-License-Identifier: Apache-2.0
#include "net/admin/admin_connection.h"

#include <fmt/core.h>

#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "net/admin/gzip_slices.h"
#include "net/admin/page_table.h"
#include "proto/http/accept.h"

namespace pawl {
namespace {

constexpr std::string_view token_wanted =
    "this page needs the header `Authorization: Bearer TOKEN`, with the token of the server's "
    "--admin-token; /livez and /readyz are open\n";

AuthFault token_fault(const HttpRequest& request) {
  return request.header(HeaderName::authorization) == nullptr ? AuthFault::missing
                                                              : AuthFault::mismatch;
}

std::string_view header_of(const HttpRequest& request, HeaderName name) {
  const std::string_view* const value = request.header(name);
  return value == nullptr ? std::string_view() : *value;
}

}  // namespace

AdminPort admin_port(const AdminFacts& facts) {
  const auto make = [](ConnectionHost& host, int fd, Instant now) -> std::unique_ptr<Connection> {
    return std::make_unique<AdminConnection>(host, fd, now);
  };
  return {.make = make, .connection_bytes = sizeof(AdminConnection), .facts = &facts};
}

AdminConnection::AdminConnection(ConnectionHost& host, int fd, Instant now) : Connection(host, fd) {
  times_.since = now;
  parser_.limit_body(body_bytes_max);
}

bool AdminConnection::on_second(Instant now) { return times_.overdue(now, host().context().times); }

// Probes see that the server drains. A stop cuts a body that is under way.
bool AdminConnection::stays(Instant now) {
  if (host().stage() == Stage::draining) return true;
  if (slices_ == nullptr) return times_.stays(host().drain_begun(), now);
  begin_close();
  return true;
}

std::size_t AdminConnection::own_memory() const {
  return parser_.memory() + (slices_ == nullptr ? 0 : slices_->memory());
}

std::size_t AdminConnection::take(std::string_view bytes) {
  std::size_t taken = 0;
  while (open() && taken < bytes.size() && slices_ == nullptr && !congested()) {
    std::size_t consumed = 0;
    const HttpParser::State state = parser_.feed(bytes.substr(taken), consumed);
    taken += consumed;
    times_.note(parser_.phase(), host().now());
    if (state == HttpParser::State::need_more) return bytes.size();
    if (state == HttpParser::State::need_continue) {
      out().append(continue_response);
      continue;
    }
    if (state == HttpParser::State::error) {
      append_response(out(), parser_.error_status(), "text/plain", {}, {}, parser_.error_text(),
                      false, false, host().date());
      finish_after_answers();
      return bytes.size();
    }
    begin_answer(parser_.request());
  }
  return taken;
}

void AdminConnection::begin_answer(const HttpRequest& request) {
  const ConnectionContext& context = host().context();
  keep_alive_ = request.keep_alive && host().stage() != Stage::stopping;
  if (std::string why = context.admin_guard->refuse(request); !why.empty())
    return write({.status = 403, .body = std::move(why)});
  if (!is_admitted(request)) {
    host().auth_failed(token_fault(request), Protocol::admin, peer().address);
    return write({.status = 401, .body = std::string(token_wanted)}, {}, "Bearer");
  }
  const AdminPage* const page = find_admin_page(request.path);
  if (page == nullptr) return write(no_such_page());
  if (!page->allows(request.method)) return write(no_such_method(*page), page->methods);
  const AdminRequest admin{.method = request.method == "HEAD" ? "GET" : request.method,
                           .path = request.path,
                           .query = request.query,
                           .content_type = header_of(request, HeaderName::content_type),
                           .accept = header_of(request, HeaderName::accept),
                           .body = request.body};
  const AdminFacts& facts = *context.admin.facts;
  if (page->answer != nullptr) return write(page->answer(admin, facts));
  slices_ = page->ask(admin, facts);
  if (const AdminAnswer* const refusal = slices_->refusal()) return write(*refusal);
  if (accepts_gzip(header_of(request, HeaderName::accept_encoding)))
    slices_ = std::make_unique<GzipSlices>(std::move(slices_));
  next_ = slices_->next();
  CHECK(next_.request != nullptr, "{} asks no shard", page->path);
  head_written_ = false;
  host().grew(slices_->memory());
  ask_shard();
}

// The probes need no token.
bool AdminConnection::is_admitted(const HttpRequest& request) {
  if (request.path == "/livez" || request.path == "/readyz") return true;
  const ReloadableSettings* const settings = host().context().settings;
  const auto token = settings == nullptr ? nullptr : settings->current().admin_token;
  if (token == nullptr) return true;
  const std::string_view* const given = request.header(HeaderName::authorization);
  return given != nullptr && token->is_proved_by(*given);
}

void AdminConnection::write(const AdminAnswer& answer, std::string_view allow,
                            std::string_view authenticate) {
  const HttpRequest& request = parser_.request();
  const HttpHeader header = authenticate.empty()
                                ? HttpHeader{.name = "Allow", .value = allow}
                                : HttpHeader{.name = "WWW-Authenticate", .value = authenticate};
  const std::size_t before = out().size();
  append_response(out(), answer.status, answer.content_type, {},
                  std::span(&header, allow.empty() && authenticate.empty() ? 0 : 1), answer.body,
                  keep_alive_, request.method == "HEAD", host().date(), request.version_minor);
  host().grew(out().size() - before);
  end_request();
}

void AdminConnection::end_request() {
  slices_.reset();
  parser_.next();
  parser_.limit_body(body_bytes_max);
  times_.note(parser_.phase(), host().now());
  if (!keep_alive_) finish_after_answers();
}

// --- a body from the shards ---

void AdminConnection::ask_shard() {
  CHECK(calls() == 0 && !output_waits_, "a slice is pending");
  submit(call_, *next_.request, next_.shard);
}

// No response was begun.
void AdminConnection::refuse(Errc error) {
  const int status = error == Errc::no_such_queue ? 404 : 503;
  write({.status = status, .body = fmt::format("the shard answered {}\n", name_of(error))});
}

bool AdminConnection::on_response(PendingCall&) {
  CHECK(slices_ != nullptr, "a slice for no body");
  const Errc error = next_.request->error;
  if (error != Errc::ok && !head_written_) {
    refuse(error);
    return true;
  }
  if (error != Errc::ok || host().stage() == Stage::stopping) {
    begin_close();
    return true;
  }
  std::string body;
  slices_->append(body);
  if (const AdminAnswer* const refusal = slices_->refusal()) {
    CHECK(!head_written_, "a page is refused behind its first byte");
    write(*refusal);
    return true;
  }
  if (!write_slice(body)) {
    end_request();
    return true;
  }
  output_waits_ = unsent() >= unsent_max;
  if (output_waits_) return true;
  ask_shard();
  return false;
}

// False: the response is complete.
bool AdminConnection::write_slice(std::string_view body) {
  const HttpRequest& request = parser_.request();
  next_ = slices_->next();
  const bool complete = next_.request == nullptr, chunked = request.version_minor > 0;
  if (body.empty() && !complete) return true;
  const std::size_t before = out().size();
  if (!head_written_) write_head();
  if (request.method == "HEAD") return false;
  if (!body.empty() && chunked) append_chunk(out(), body);
  if (!chunked) out().append(body);
  if (complete && chunked) out().append(last_chunk);
  host().grew(out().size() - before);
  return !complete;
}

void AdminConnection::write_head() {
  const HttpRequest& request = parser_.request();
  keep_alive_ = keep_alive_ && request.version_minor > 0;
  const std::string_view encoding = slices_->content_encoding();
  const HttpHeader headers[] = {
      {.name = "Content-Encoding", .value = encoding         },
      {.name = "Vary",             .value = "Accept-Encoding"}
  };
  append_stream_head(out(), 200, slices_->content_type(),
                     std::span(headers, encoding.empty() ? 0 : std::size(headers)), keep_alive_,
                     host().date(), request.version_minor);
  head_written_ = true;
}

void AdminConnection::on_all_sent() {
  if (!output_waits_ || unsent() >= unsent_max) return;
  output_waits_ = false;
  ask_shard();
}

}  // namespace pawl

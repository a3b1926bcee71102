// SPDX-License-Identifier: Apache-2.0
#include "proto/http/parser.h"

#include <llhttp.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/free_memory.h"
#include "proto/http/chunked_body.h"
#include "proto/http/refusals.h"
#include "proto/http/strictness.h"
#include "proto/http/target.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr std::size_t buffer_start_bytes = (2 << 10) - 1;  // plus NUL: a size that allocators have
constexpr std::size_t body_reserve_bytes_max = 64 << 10;   // reserved for a Content-Length alone

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

// The llhttp parser, the buffer and the position. llhttp is paused at the end of the head and of
// the request: its position is exact there, so that our own checks do not depend on how the bytes
// were split. A body in chunks is read by ChunkedBody instead.
struct HttpParser::Impl {
  enum class Event : std::uint8_t { none, head_end, request_end };
  enum class Part : std::uint8_t { head, body, chunks };
  struct HeaderSlot {
    std::uint32_t name = 0, name_size = 0, value = 0, value_size = 0;  // positions in buffer
  };

  Impl();
  static Impl& of(llhttp_t* parser) { return *static_cast<Impl*>(parser->data); }
  static const llhttp_settings_t& settings();
  template <Event at>
  static int pause(llhttp_t* parser) {
    of(parser).event = at;
    return HPE_PAUSED;
  }

  int refuse(int status, std::string text);  // returns the code that stops llhttp in a callback
  void refuse_by(llhttp_errno_t code, std::string_view at);

  State run(std::string_view bytes, std::size_t& consumed);
  bool step(std::string_view bytes, std::size_t& consumed);
  bool step_in_chunks(std::string_view bytes, std::size_t& consumed);
  void on_event();

  int on_method();
  int on_target(std::string_view bytes);
  int on_target_end();
  int on_header_name(std::string_view bytes);
  int on_header_name_end();
  int on_header_value(std::string_view bytes);
  int on_body(std::string_view bytes);
  void on_head_end();
  void on_chunk(std::uint64_t size);
  void on_request_end();

  void publish();
  void publish_if_moved() {
    if (request.target.data() != buffer.data() + target_at) publish();
  }
  void check_headers();
  void check_framing(const HttpHeader* coding);
  void check_target(std::string_view host);
  void reserve_body(std::size_t bytes);
  void reset();

  // Position of a piece of the head once the fed bytes are in the buffer.
  std::uint32_t position(std::string_view piece) const {
    return static_cast<std::uint32_t>(buffer.size() +
                                      static_cast<std::size_t>(piece.data() - feeding));
  }
  std::size_t body_size() const { return buffer.size() - body_at; }

  llhttp_t http;
  HttpStrict strict;
  ChunkedBody chunks;
  std::string buffer;  // the head as received, then the body; then body_slack of capacity
  const char* feeding = nullptr;  // bytes that llhttp reads: they belong at the end of the buffer
  std::vector<HeaderSlot> slots;
  std::vector<HttpHeader> headers;
  HttpRequest request;
  std::string_view authority;  // of a target in absolute form

  State state = State::need_more;
  Event event = Event::none;
  Part part = Part::head;
  bool in_name = false;  // between the pieces of a header's name
  bool continue_due = false;
  bool stops_at_head = false;
  bool head_due = false;  // feed() is to return `head`
  std::size_t body_max = body_bytes_max;
  bool closed = false;  // a request without keep_alive has ended
  std::uint32_t target_at = 0;
  std::size_t target_size = 0;
  std::size_t body_at = 0;  // end of the head
  int error_status = 0;
  std::string error_text;
};

HttpParser::Impl::Impl() {
  llhttp_init(&http, HTTP_REQUEST, &settings());
  http.data = this;
}

const llhttp_settings_t& HttpParser::Impl::settings() {
  static const llhttp_settings_t table = [] {
    llhttp_settings_t s;
    llhttp_settings_init(&s);
    s.on_method_complete = [](llhttp_t* p) { return of(p).on_method(); };
    s.on_url = [](llhttp_t* p, const char* at, std::size_t size) {
      return of(p).on_target({at, size});
    };
    s.on_url_complete = [](llhttp_t* p) { return of(p).on_target_end(); };
    s.on_header_field = [](llhttp_t* p, const char* at, std::size_t size) {
      return of(p).on_header_name({at, size});
    };
    s.on_header_field_complete = [](llhttp_t* p) { return of(p).on_header_name_end(); };
    s.on_header_value = [](llhttp_t* p, const char* at, std::size_t size) {
      return of(p).on_header_value({at, size});
    };
    s.on_body = [](llhttp_t* p, const char* at, std::size_t size) {
      return of(p).on_body({at, size});
    };
    s.on_headers_complete = pause<Event::head_end>;
    s.on_message_complete = pause<Event::request_end>;
    return s;
  }();
  return table;
}

int HttpParser::Impl::refuse(int status, std::string text) {
  state = State::error;
  error_status = status;
  error_text = std::move(text);
  return HPE_USER;
}

void HttpParser::Impl::refuse_by(llhttp_errno_t code, std::string_view at) {
  int status = 400;
  if (code == HPE_INVALID_VERSION) status = 505;
  // A word that is no HTTP method, as opposed to bytes that are no HTTP at all.
  if (code == HPE_INVALID_METHOD && !at.empty() && is_token_character(at[0])) status = 501;
  refuse(status, llhttp_get_error_reason(&http));
}

HttpParser::State HttpParser::Impl::run(std::string_view bytes, std::size_t& consumed) {
  while (state == State::need_more) {
    const bool paused = step(bytes.substr(consumed), consumed);
    if (state == State::need_more && std::exchange(head_due, false)) return State::head;
    if (!paused && consumed == bytes.size()) break;
  }
  if (state == State::need_more && continue_due) {
    continue_due = false;
    return State::need_continue;
  }
  return state;
}

// Runs llhttp up to its next stop. True if it paused: it can then continue without more bytes.
bool HttpParser::Impl::step(std::string_view bytes, std::size_t& consumed) {
  if (part == Part::chunks) return step_in_chunks(bytes, consumed);
  const bool head = part == Part::head;
  CHECK(!head || buffer.size() <= head_bytes_max, "a head of {} bytes", buffer.size());
  if (head) bytes = bytes.substr(0, head_bytes_max - buffer.size());
  feeding = bytes.data();
  if (!head && !bytes.empty()) continue_due = false;
  event = Event::none;
  const llhttp_errno_t code = llhttp_execute(&http, bytes.data(), bytes.size());
  const char* const stop = code == HPE_OK ? bytes.end() : llhttp_get_error_pos(&http);
  const std::string_view used = bytes.substr(0, static_cast<std::size_t>(stop - bytes.begin()));
  consumed += used.size();

  // Our own checks cover bytes before llhttp's stop position, so their refusal takes precedence.
  if (head) {
    if (buffer.empty()) buffer.reserve(buffer_start_bytes);
    buffer.append(used);
    if (const HttpRefusal refusal = strict.scan_head(used)) refuse(refusal.status, refusal.text);
  }
  if (state == State::error) return false;
  if (code == HPE_PAUSED) {
    on_event();
    llhttp_resume(&http);
    return true;
  }
  if (code != HPE_OK) {
    refuse_by(code, bytes.substr(used.size()));
  } else if (head && buffer.size() == head_bytes_max) {
    strict.in_request_line() ? refuse(414, long_target_text(target_bytes_max))
                             : refuse(431, long_head_text(head_bytes_max, headers_max));
  }
  return false;
}

// Reads up to the next event of the body. True: it can continue without more bytes.
bool HttpParser::Impl::step_in_chunks(std::string_view bytes, std::size_t& consumed) {
  if (!bytes.empty()) continue_due = false;
  const ChunkedBody::Piece piece = chunks.read(bytes);
  consumed += piece.used;
  switch (piece.event) {
    case ChunkedBody::Event::need_more:
      return false;
    case ChunkedBody::Event::chunk:
      on_chunk(piece.size);
      return true;
    case ChunkedBody::Event::data:
      on_body(piece.data);
      return true;
    case ChunkedBody::Event::end:
      on_request_end();
      return true;
    case ChunkedBody::Event::refused:
      refuse(piece.refusal.status, piece.refusal.text);
      return false;
  }
  return false;
}

void HttpParser::Impl::on_event() {
  switch (event) {
    case Event::head_end:
      return on_head_end();
    case Event::request_end:
      return on_request_end();
    case Event::none:
      CHECK(false, "llhttp paused unasked");
  }
}

void HttpParser::Impl::on_request_end() {
  publish_if_moved();
  request.body = std::string_view(buffer).substr(body_at);
  state = State::complete;
}

int HttpParser::Impl::on_method() {
  switch (http.method) {
    case HTTP_POST:
      request.method = "POST";
      return 0;
    case HTTP_GET:
      request.method = "GET";
      return 0;
    case HTTP_HEAD:
      request.method = "HEAD";
      return 0;
    case HTTP_OPTIONS:
      request.method = "OPTIONS";
      return 0;
    case HTTP_PUT:
      request.method = "PUT";
      return 0;
    case HTTP_DELETE:
      request.method = "DELETE";
      return 0;
    case HTTP_PRI:
      return refuse(505, "HTTP/2 is not spoken here");
    default:
      return refuse(405, "the method is not allowed");
  }
}

int HttpParser::Impl::on_target(std::string_view bytes) {
  if (target_size == 0) target_at = position(bytes);
  target_size += bytes.size();
  return 0;
}

// Limits are checked at the end of a word, not at the byte that exceeds them: the response then
// does not depend on how the bytes were split.
int HttpParser::Impl::on_target_end() {
  return target_size > target_bytes_max ? refuse(414, long_target_text(target_bytes_max)) : 0;
}

int HttpParser::Impl::on_header_name(std::string_view bytes) {
  if (!in_name) slots.push_back({.name = position(bytes)});
  in_name = true;
  slots.back().name_size += static_cast<std::uint32_t>(bytes.size());
  return 0;
}

int HttpParser::Impl::on_header_name_end() {
  if (slots.size() > headers_max) return refuse(431, long_head_text(head_bytes_max, headers_max));
  in_name = false;
  return 0;
}

int HttpParser::Impl::on_header_value(std::string_view bytes) {
  HeaderSlot& slot = slots.back();
  if (slot.value_size == 0) slot.value = position(bytes);
  slot.value_size += static_cast<std::uint32_t>(bytes.size());
  return 0;
}

int HttpParser::Impl::on_body(std::string_view bytes) {
  reserve_body(bytes.size());
  buffer.append(bytes);
  return 0;
}

void HttpParser::Impl::on_head_end() {
  request.version_minor = http.http_minor;
  request.keep_alive = llhttp_should_keep_alive(&http) != 0;
  body_at = buffer.size();
  publish();
  check_headers();
  if (state == State::error) return;

  const bool chunked = (http.flags & F_CHUNKED) != 0;
  part = chunked ? Part::chunks : Part::body;
  const bool body_due = chunked || http.content_length > 0;
  continue_due = request.expect_continue && body_due;
  head_due = stops_at_head && body_due;
  reserve_body(chunked ? 0 : std::min<std::size_t>(http.content_length, body_reserve_bytes_max));
  publish_if_moved();
}

void HttpParser::Impl::on_chunk(std::uint64_t size) {
  CHECK(body_size() <= body_max, "{} bytes of a body of {}", body_size(), body_max);
  if (size <= body_max - body_size()) return;
  publish_if_moved();
  refuse(413, long_chunk_text(size, body_size(), body_max));
}

// Builds the request's views from positions in the buffer.
void HttpParser::Impl::publish() {
  const std::string_view all = buffer;
  CHECK(target_at + target_size <= all.size(), "a target of {} bytes at {} of {}", target_size,
        target_at, all.size());
  headers.clear();
  for (const HeaderSlot& slot : slots) {
    headers.push_back(
        {all.substr(slot.name, slot.name_size), trim_end(all.substr(slot.value, slot.value_size))});
  }
  request.set_headers(headers);
  request.target = all.substr(target_at, target_size);
  const HttpTarget parts = parts_of_target(request.target);
  request.path = parts.path;
  request.query = parts.query;
  authority = parts.authority;
}

void HttpParser::Impl::check_headers() {
  const HttpHeader* host = nullptr;
  const HttpHeader* coding = nullptr;
  for (const HttpHeader& h : headers) {
    switch (h.known) {
      case HeaderName::host:
        if (host != nullptr) refuse(400, "two Host headers");
        if (!valid_host(h.value)) refuse(400, "a malformed Host");
        host = &h;
        break;
      case HeaderName::transfer_encoding:
        coding = &h;
        break;
      case HeaderName::content_encoding:
        if (!equals_ignoring_case(h.value, "identity")) refuse(415, content_encoding_text(h.value));
        break;
      case HeaderName::expect:
        if (request.version_minor != 1) break;
        request.expect_continue = equals_ignoring_case(h.value, "100-continue");
        if (!request.expect_continue) refuse(417, "an expectation other than 100-continue");
        break;
      default:
        break;
    }
    if (state == State::error) return;
  }
  if (host == nullptr && request.version_minor == 1) {
    refuse(400, "no Host header");
    return;
  }
  check_target(host != nullptr ? host->value : std::string_view());
  if (state != State::error) check_framing(coding);
}

// llhttp already refuses either header repeated, both together, and lengths that are not numbers.
void HttpParser::Impl::check_framing(const HttpHeader* coding) {
  if (coding != nullptr) {
    if (request.version_minor == 0) {
      refuse(400, "Transfer-Encoding in HTTP/1.0");
    } else if (!equals_ignoring_case(coding->value, "chunked")) {
      refuse(400, "a transfer coding other than chunked");
    }
  } else if (http.content_length > body_max) {
    refuse(413, long_body_text(http.content_length, body_max));
  }
}

void HttpParser::Impl::check_target(std::string_view host) {
  const std::string_view target = request.target;
  if (target.contains('#')) {
    refuse(400, "a fragment in the target");
  } else if (authority.empty()) {
    const bool asterisk = target == "*" && request.method == "OPTIONS";
    if (!target.starts_with('/') && !asterisk) refuse(400, "a target that is no path");
  } else if (!equals_ignoring_case(authority, host)) {
    refuse(400, "a target for another host");  // also when HTTP/1.0 came without Host
  }
}

// Reserves space for `bytes` more and the slack. Doubles the capacity, whatever std::string does.
void HttpParser::Impl::reserve_body(std::size_t bytes) {
  const std::size_t needed = buffer.size() + bytes + body_slack;
  if (needed > buffer.capacity()) buffer.reserve(std::max(needed, 2 * buffer.capacity()));
}

void HttpParser::Impl::reset() {
  llhttp_reset(&http);
  if (buffer.capacity() > buffer_keep_bytes) free_memory(buffer);
  buffer.clear();
  slots.clear();
  headers.clear();
  request = {};
  authority = {};
  state = State::need_more;
  part = Part::head;
  strict = {};
  chunks = {};
  in_name = continue_due = head_due = false;
  body_max = body_bytes_max;
  target_at = 0;
  target_size = body_at = 0;
}

HttpParser::HttpParser() : impl_(std::make_unique<Impl>()) {}
HttpParser::~HttpParser() = default;
HttpParser::HttpParser(HttpParser&&) noexcept = default;
HttpParser& HttpParser::operator=(HttpParser&&) noexcept = default;

HttpParser::State HttpParser::feed(std::string_view bytes, std::size_t& consumed) {
  consumed = impl_->closed ? bytes.size() : 0;
  return impl_->closed ? State::need_more : impl_->run(bytes, consumed);
}

void HttpParser::stop_at_head() { impl_->stops_at_head = true; }

std::optional<std::size_t> HttpParser::body_length() const {
  if ((impl_->http.flags & F_CHUNKED) != 0) return std::nullopt;
  return impl_->http.content_length;
}

void HttpParser::limit_body(std::size_t bytes_max) {
  impl_->body_max = std::min(bytes_max, body_bytes_max);
}

const HttpRequest& HttpParser::request() const {
  CHECK(impl_->state == State::complete || impl_->part != Impl::Part::head);
  return impl_->request;
}

void HttpParser::next() {
  CHECK(impl_->state == State::complete);
  impl_->closed = !impl_->request.keep_alive;
  impl_->reset();
}

HttpParser::Phase HttpParser::phase() const {
  if (impl_->closed || impl_->state != State::need_more) return Phase::done;
  if (impl_->part != Impl::Part::head) return Phase::body;
  return impl_->buffer.empty() ? Phase::idle : Phase::head;
}

int HttpParser::error_status() const { return impl_->error_status; }

std::string_view HttpParser::error_text() const { return impl_->error_text; }

const HttpRequest* HttpParser::refused_head() const {
  const bool body_refused = impl_->error_status == 413 || impl_->error_status == 415;
  return body_refused ? &impl_->request : nullptr;
}

void HttpParser::free_spare() {
  if (phase() != Phase::idle) return;
  free_memory(impl_->buffer);
  free_memory(impl_->slots);
  free_memory(impl_->headers);
}

std::size_t HttpParser::memory() const {
  return sizeof(Impl) + impl_->buffer.capacity() +
         impl_->slots.capacity() * sizeof(Impl::HeaderSlot) +
         impl_->headers.capacity() * sizeof(HttpHeader);
}

}  // namespace pawl

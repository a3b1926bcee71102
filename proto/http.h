// HTTP/1.1 as pawl speaks it: a strict, incremental request parser and a response writer.
//
//   feed() --> need_more --feed()--> ... --> complete --next()--> (the next pipelined request)
//     |            |--> head: once, with stop_at_head() and a body to come: request() has no body yet
//     |            \--> need_continue: once, answer continue_response, then go on feeding
//     \--> error: final. Answer error_status() and close; nothing is ever read again
//
// What is let through: HTTP/1.0 and 1.1, POST GET HEAD OPTIONS, lines that end in CRLF, a body by
// Content-Length or by exactly "chunked". What two servers could read differently is refused, never
// repaired: proto/README.md lists it with the status of each. There are no lenient switches.
//
// Units:  bytes.
// Limits: head_bytes_max for request line and headers together, headers_max (431), target_bytes_max
//         (414), body_bytes_max after decoding (413).
//         Time limits are the connection's; phase() says which one applies.
// Errors: error_status() and error_text() for the answer; of a body that is refused (413, 415) also the
//         refused_head(), which tells the protocol that the caller speaks.
// Owner:  the parser owns one buffer that holds head and body of the current request; every
//         string_view of request() points into it and holds until next(). Behind the body there are
//         body_slack readable bytes, for parsers that read in blocks. A buffer beyond buffer_keep_bytes
//         is given back by next().
// Source: RFC 9110, RFC 9112; llhttp for the grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace pawl {

struct HttpHeader {
  std::string_view name, value;  // value without surrounding blanks
};

struct HttpRequest {
  std::string_view method;              // a literal: "POST", "GET", "HEAD" or "OPTIONS"
  std::string_view target;              // as sent
  std::string_view path;                // of the target, still escaped; "*" for OPTIONS *
  std::string_view query;               // without the `?`, still escaped
  std::string_view body;                // decoded if it came in chunks
  std::span<const HttpHeader> headers;  // in order of appearance
  int version_minor = 1;                // HTTP/1.0 or 1.1
  bool keep_alive = true;               // what the client wants after the answer
  bool expect_continue = false;
  // What the client calls this server, for URLs in answers. Not of the request itself: the connection,
  // which knows about TLS and proxies, fills it in.
  std::string_view scheme = "http";
  std::string_view public_host;  // empty: the Host header
  // When it came, by the wall clock: what the times of signatures are compared with.
  Instant arrived;
  // The Origin of a page that may read the answer (CORS); empty: there is none. The connection fills it in.
  std::string_view cors_origin;

  // The value of the first header of that name, nullptr when absent. `name` in lower case.
  const std::string_view* header(std::string_view name) const;
};

class HttpParser {
 public:
  static constexpr std::size_t head_bytes_max = 16 << 10;
  static constexpr std::size_t headers_max = 64;
  static constexpr std::size_t target_bytes_max = 8 << 10;
  static constexpr std::size_t body_bytes_max = 8 << 20;
  static constexpr std::size_t body_slack = 64;  // at least simdjson's SIMDJSON_PADDING
  static constexpr std::size_t buffer_keep_bytes = 64 << 10;

  enum class State : std::uint8_t { need_more, complete, error, need_continue, head };
  enum class Phase : std::uint8_t {
    idle,  // between requests: not a byte of the next one was seen
    head,
    body,
    done,  // complete or error, or closed: after a request without keep_alive
  };

  HttpParser();
  ~HttpParser();
  HttpParser(HttpParser&&) noexcept;
  HttpParser& operator=(HttpParser&&) noexcept;

  // Takes bytes up to the end of the current request; `consumed` says how many. The rest belongs to
  // the next request: feed it again after next(). Once complete or in error nothing is taken.
  State feed(std::string_view bytes, std::size_t& consumed);

  // Makes feed() return `head` before the body is taken. Feed the rest then, also when that is nothing.
  void stop_at_head();
  // At `head`: the body's length, unless it comes in chunks.
  std::optional<std::size_t> body_length() const;
  // A lower limit for the body of this request than body_bytes_max: before its first byte, or at
  // `head`.
  void limit_body(std::size_t bytes_max);

  const HttpRequest& request() const;  // while complete; at `head`, until the next feed()
  // Ready for the next request. After one without keep_alive there is none: all bytes are discarded.
  void next();

  Phase phase() const;
  int error_status() const;  // 0 unless in error
  std::string_view error_text() const;
  // In error with 413 or 415: the head of that request. Null in all other states.
  const HttpRequest* refused_head() const;
  std::size_t memory() const;  // bytes held
  // Frees the buffers of earlier requests. Between requests only; without effect in one.
  void give_back_spare();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline constexpr std::string_view continue_response = "HTTP/1.1 100 Continue\r\n\r\n";

// Appends a response. `request_id`, `content_type` and `date` (IMF-fixdate, which the caller keeps for
// a second) are left out when empty, Content-Length only with a status without body (1xx, 204, 304).
// A 405 lists the methods. Control characters in what is given become spaces: no value can add a line.
// `head_only` (the request was HEAD) leaves out the body but not its length.
void append_response(std::string& out, int status, std::string_view content_type,
                     std::string_view request_id, std::span<const HttpHeader> extra,
                     std::string_view body, bool keep_alive, bool head_only, std::string_view date,
                     int version_minor = 1);

std::string_view status_text(int status);

}  // namespace pawl

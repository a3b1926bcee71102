// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 for pawl: a strict, incremental request parser and a response writer.
//
//   feed() --> need_more --feed()--> ... --> complete --next()--> (the next pipelined request)
//     |            |--> head: once, with stop_at_head() and a body to come: request() has no body yet
//     |            \--> need_continue: once, send continue_response, then go on feeding
//     \--> error: final. Send error_status() and close; nothing is ever read again
//
// Accepted: HTTP/1.0 and 1.1; POST, GET, HEAD, OPTIONS, PUT and DELETE; lines that end in CRLF; a
// body by Content-Length or by exactly "chunked". Input that two servers could read differently is
// refused, never repaired: proto/HTTP.md lists each case with its status. There are no lenient
// switches.
//
// Units:  bytes.
// Limits: head_bytes_max for request line and headers together, headers_max (431), target_bytes_max
//         (414), body_bytes_max after decoding (413).
//         Time limits belong to the connection; phase() tells which one applies.
// Errors: error_status() and error_text() for the response. A refused body (413, 415) also has
//         refused_head(), which identifies the protocol of the caller.
// Owner:  the parser owns one buffer that holds head and body of the current request. Every
//         string_view of request() points into it and is valid until next(). body_slack readable
//         bytes follow the body, for parsers that read in blocks. next() frees a buffer beyond
//         buffer_keep_bytes.
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

#include "core/base/time.h"
#include "proto/http/header_names.h"

namespace pawl {

struct HttpHeader {
  std::string_view name, value;          // value without surrounding blanks
  HeaderName known = HeaderName::other;  // set by HttpRequest::set_headers()
};

struct HttpRequest {
  std::string_view method;  // a literal: "POST", "GET", "HEAD", "OPTIONS", "PUT" or "DELETE"
  std::string_view target;  // as sent
  std::string_view path;    // of the target, still escaped; "*" for OPTIONS *
  std::string_view query;   // without the `?`, still escaped
  std::string_view body;    // decoded if it came in chunks
  std::span<const HttpHeader> headers;  // in order of appearance; see set_headers()
  HeaderIndex index;                    // of `headers`
  int version_minor = 1;                // HTTP/1.0 or 1.1
  bool keep_alive = true;               // connection reuse requested by the client
  bool expect_continue = false;
  // The server's scheme and host as the client knows them, for URLs in responses. They are not part
  // of the request: the connection, which knows about TLS and proxies, fills them in.
  std::string_view scheme = "http";
  std::string_view public_host;  // empty: the Host header
  // Arrival time by the wall clock; the times of signatures are compared with it.
  Instant arrived;
  // Origin of a web page that may read the response (CORS); empty: none. The connection fills it
  // in.
  std::string_view cors_origin;

  // Sets `headers` and their index.
  void set_headers(std::span<HttpHeader> all) {
    index = {};
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].known = header_name(all[i].name);
      index.add(all[i].known, i);
    }
    headers = all;
  }
  // The value of the first header of that name, nullptr when absent.
  const std::string_view* header(HeaderName name) const {
    const std::size_t place = index.first(name);
    return place == HeaderIndex::none ? nullptr : &headers[place].value;
  }
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
    idle,  // between requests: no byte of the next one was received
    head,
    body,
    done,  // complete or error, or closed: after a request without keep_alive
  };

  HttpParser();
  ~HttpParser();
  HttpParser(HttpParser&&) noexcept;
  HttpParser& operator=(HttpParser&&) noexcept;

  // Consumes bytes up to the end of the current request; `consumed` is their number. The rest
  // belongs to the next request: feed it again after next(). Once complete or in error, nothing is
  // consumed.
  State feed(std::string_view bytes, std::size_t& consumed);

  // Makes feed() return `head` before it consumes the body. Then feed the rest, even if it is
  // empty.
  void stop_at_head();
  // At `head`: the length of the body; nullopt if it is chunked.
  std::optional<std::size_t> body_length() const;
  // Lowers this request's body limit below body_bytes_max. Call it before the body's first byte, or
  // at `head`.
  void limit_body(std::size_t bytes_max);

  const HttpRequest& request() const;  // valid while complete; at `head`, until the next feed()
  // Prepares for the next request. After a request without keep_alive all bytes are discarded.
  void next();

  Phase phase() const;
  int error_status() const;  // 0 unless in error
  std::string_view error_text() const;
  // In error with 413 or 415: the head of that request; null in all other states.
  const HttpRequest* refused_head() const;
  std::size_t memory() const;  // bytes held
  // Frees the buffers of earlier requests. No effect within a request.
  void free_spare();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline constexpr std::string_view continue_response = "HTTP/1.1 100 Continue\r\n\r\n";

// Appends a response. Empty `request_id`, `content_type` and `date` (IMF-fixdate, which the caller
// caches for a second) are left out; Content-Length is left out only for a status without body
// (1xx, 204, 304). A 405 lists the methods, unless `extra` has Allow. Control characters in
// arguments become spaces, so that no value can add a line. `head_only` (the request was HEAD)
// omits the body but keeps its length.
void append_response(std::string& out, int status, std::string_view content_type,
                     std::string_view request_id, std::span<const HttpHeader> extra,
                     std::string_view body, bool keep_alive, bool head_only, std::string_view date,
                     int version_minor = 1);

// Appends the head of a response whose length is not known yet. Its body follows by append_chunk();
// `last_chunk` ends it. For HTTP/1.0 the body follows as it is, and the end of the connection ends
// it: `keep_alive` must be false.
void append_stream_head(std::string& out, int status, std::string_view content_type,
                        std::span<const HttpHeader> extra, bool keep_alive, std::string_view date,
                        int version_minor);
void append_chunk(std::string& out, std::string_view bytes);  // not empty
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

std::string_view status_text(int status);

}  // namespace pawl

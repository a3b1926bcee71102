// SPDX-License-Identifier: Apache-2.0
// Requests that llhttp 8.1 in strict mode accepts but two servers could read differently. They are
// refused here by inspecting the raw bytes of the head.
//
//   request line:  more than one space, a protocol that is not HTTP/1.0 or 1.1, an empty first line
//   headers:       folded lines (obs-fold), a bare LF for the empty line, a header without a name
//
// Bytes may arrive in pieces of any size; the caller marks where each part ends.
//
// Errors: HttpRefusal; the first one is final.
// Owner:  part of an HttpParser; copies nothing.
// Source: RFC 9112, sections 2.2, 3 and 5.2.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl {

struct HttpRefusal {
  int status = 0;  // 0: not refused
  const char* text = "";
  explicit operator bool() const { return status != 0; }
};

class HttpStrict {
 public:
  HttpRefusal scan_head(std::string_view bytes);
  bool in_request_line() const { return in_request_line_; }

 private:
  HttpRefusal scan_request_line(std::string_view& bytes);
  HttpRefusal scan_headers(std::string_view bytes);

  bool in_request_line_ = true;
  bool line_begins_ = false;  // the last byte of the headers was LF
  bool after_cr_ = false;     // the last byte of the headers was CR
  std::size_t spaces_ = 0;    // in the request line
  std::size_t protocol_ = 0;  // bytes of the request line after the second space
};

bool is_token_character(char c);

// Checks the characters of host[:port] or [IPv6][:port]. An empty host is invalid: queue URLs are
// built from it.
bool valid_host(std::string_view host);

}  // namespace pawl

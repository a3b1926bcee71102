// SPDX-License-Identifier: Apache-2.0
#include "proto/http/strictness.h"

#include <algorithm>

#include "proto/text/text.h"

namespace pawl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f'); }
bool is_alnum(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z'); }

}  // namespace

HttpRefusal HttpStrict::scan_head(std::string_view bytes) {
  if (const HttpRefusal refusal = scan_request_line(bytes)) return refusal;
  return scan_headers(bytes);
}

// Checks the request line byte by byte: two single spaces, then exactly HTTP/1.0 or HTTP/1.1 and
// CRLF. Removes the line from `bytes`. llhttp accepts several spaces, RTSP/1.0, and HTTP/0.9's line
// without a version.
HttpRefusal HttpStrict::scan_request_line(std::string_view& bytes) {
  constexpr std::string_view ending = "HTTP/1.x\r\n";
  std::size_t i = 0;
  std::size_t spaces = spaces_;  // a copy in a register
  for (; i < bytes.size() && spaces < 2; ++i) {
    const char c = bytes[i];
    if (c == '\r' || c == '\n') {
      return {spaces == 0 ? 400 : 505, "a line without a version where a request begins"};
    }
    if (c == ' ') ++spaces;
  }
  spaces_ = spaces;
  for (; i < bytes.size() && in_request_line_; ++i) {
    const char c = bytes[i];
    const bool expected = ending[protocol_] == 'x' ? c == '0' || c == '1' : c == ending[protocol_];
    if (!expected) {
      const bool other_version = protocol_ >= ending.find('1') && c != '\n';
      return {other_version ? 505 : 400, "the request line must end in HTTP/1.0 or HTTP/1.1"};
    }
    if (++protocol_ == ending.size()) {
      in_request_line_ = false;
      line_begins_ = true;
    }
  }
  bytes.remove_prefix(i);
  return {};
}

HttpRefusal HttpStrict::scan_headers(std::string_view bytes) {
  while (!bytes.empty()) {
    if (line_begins_ && (bytes[0] == ' ' || bytes[0] == '\t')) return {400, "a folded header line"};
    if (line_begins_ && bytes[0] == ':') return {400, "a header without a name"};
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    line_begins_ = end < bytes.size();
    const bool after_cr = end == 0 ? after_cr_ : bytes[end - 1] == '\r';
    if (line_begins_ && !after_cr) return {400, "a line that ends in LF alone"};
    after_cr_ = !line_begins_ && after_cr;
    bytes.remove_prefix(line_begins_ ? end + 1 : end);
  }
  return {};
}

bool is_token_character(char c) {
  return is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c);
}

bool valid_host(std::string_view host) {
  std::size_t end;
  if (host.starts_with('[')) {
    end = host.find(']');
    if (end == host.npos || end == 1) return false;
    const bool address = std::ranges::all_of(
        host.substr(1, end - 1), [](char c) { return is_hex(c) || c == ':' || c == '.'; });
    if (!address) return false;
    ++end;
  } else {
    end = std::min(host.find(':'), host.size());
    const bool name = std::ranges::all_of(host.substr(0, end), [](char c) {
      return is_alnum(c) || c == '.' || c == '-' || c == '_';
    });
    if (end == 0 || !name) return false;
  }
  if (end == host.size()) return true;
  return host[end] == ':' && host.size() - end <= 6 &&
         std::ranges::all_of(host.substr(end + 1), is_digit);
}

}  // namespace pawl

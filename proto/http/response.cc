// SPDX-License-Identifier: Apache-2.0
#include "proto/http/parser.h"

#include <algorithm>
#include <charconv>

#include "core/base/check.h"
#include "proto/text/append.h"

namespace pawl {
namespace {

// A number in decimal.
class Digits {
 public:
  explicit Digits(std::size_t number)
      : end_(std::to_chars(digits_, digits_ + sizeof digits_, number).ptr) {}
  std::string_view text() const { return {digits_, end_}; }

 private:
  char digits_[20];
  const char* end_;
};

// Name and value may hold client input, which must stay on its line.
void append_header_safely(std::string& out, std::string_view name, std::string_view value) {
  const std::size_t begin = out.size();
  append_all(out, name, ": ", value, "\r\n");
  for (char& c : std::span(out).subspan(begin, out.size() - begin - 2)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
}

// The Connection header, unless the default of the client's HTTP version applies.
std::string_view connection_header(bool keep_alive, int version_minor) {
  if (!keep_alive) return "Connection: close\r\n";
  return version_minor == 0 ? "Connection: keep-alive\r\n" : "";
}

}  // namespace

void append_response(std::string& out, int status, std::string_view content_type,
                     std::string_view request_id, std::span<const HttpHeader> extra,
                     std::string_view body, bool keep_alive, bool head_only, std::string_view date,
                     int version_minor) {
  CHECK(status >= 100 && status <= 599, "status {}", status);
  const bool may_have_body = status >= 200 && status != 204 && status != 304;
  const Digits code(static_cast<std::size_t>(status));
  append_all(out, "HTTP/1.1 ", code.text(), " ", status_text(status), "\r\n");
  if (!request_id.empty()) append_all(out, "x-amzn-RequestId: ", request_id, "\r\n");
  if (!content_type.empty()) append_all(out, "Content-Type: ", content_type, "\r\n");
  if (status == 405 && std::ranges::find(extra, "Allow", &HttpHeader::name) == extra.end())
    append_all(out, "Allow: POST, GET, HEAD, OPTIONS\r\n");
  for (const HttpHeader& h : extra) append_header_safely(out, h.name, h.value);
  if (!date.empty()) append_all(out, "Date: ", date, "\r\n");
  const std::string_view connection = connection_header(keep_alive, version_minor);
  if (!may_have_body) {
    append_all(out, connection, "\r\n");
    return;
  }
  const Digits length(body.size());
  append_all(out, connection, "Content-Length: ", length.text(), "\r\n\r\n",
             head_only ? std::string_view() : body);
}

void append_stream_head(std::string& out, int status, std::string_view content_type,
                        std::span<const HttpHeader> extra, bool keep_alive, std::string_view date,
                        int version_minor) {
  CHECK(status >= 200 && status <= 599 && status != 204 && status != 304, "status {}", status);
  CHECK(version_minor > 0 || !keep_alive, "only the end of an HTTP/1.0 connection ends its body");
  const Digits code(static_cast<std::size_t>(status));
  append_all(out, "HTTP/1.1 ", code.text(), " ", status_text(status),
             "\r\nContent-Type: ", content_type, "\r\n");
  for (const HttpHeader& h : extra) append_header_safely(out, h.name, h.value);
  if (!date.empty()) append_all(out, "Date: ", date, "\r\n");
  append_all(out, connection_header(keep_alive, version_minor),
             version_minor > 0 ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
}

void append_chunk(std::string& out, std::string_view bytes) {
  CHECK(!bytes.empty(), "an empty chunk would end the body");
  char digits[16];
  const char* const end = std::to_chars(digits, digits + sizeof digits, bytes.size(), 16).ptr;
  append_all(out, std::string_view(digits, end), "\r\n", bytes, "\r\n");
}

std::string_view status_text(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";  // the text is for people; a client reads the number
  }
}

}  // namespace pawl

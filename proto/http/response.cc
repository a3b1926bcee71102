// SPDX-License-Identifier: Apache-2.0
#include "proto/http/parser.h"

#include <charconv>

#include "core/check.h"

namespace pawl {
namespace {

// Appends text that must stay on its line.
void append_line_text(std::string& out, std::string_view text) {
  const std::size_t begin = out.size();
  out.append(text);
  for (std::size_t i = begin; i < out.size(); ++i) {
    if (static_cast<unsigned char>(out[i]) < 0x20 || out[i] == 0x7f) out[i] = ' ';
  }
}

// Name and value come from pawl.
void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

// Name and value may hold client input.
void append_header_safely(std::string& out, std::string_view name, std::string_view value) {
  append_line_text(out, name);
  out.append(": ");
  append_line_text(out, value);
  out.append("\r\n");
}

void append_number(std::string& out, std::size_t number) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

void append_response(std::string& out, int status, std::string_view content_type,
                     std::string_view request_id, std::span<const HttpHeader> extra,
                     std::string_view body, bool keep_alive, bool head_only, std::string_view date,
                     int version_minor) {
  CHECK(status >= 100 && status <= 599, "status {}", status);
  const bool may_have_body = status >= 200 && status != 204 && status != 304;
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::size_t>(status));
  out.push_back(' ');
  out.append(status_text(status));
  out.append("\r\n");
  if (!request_id.empty()) append_header(out, "x-amzn-RequestId", request_id);
  if (!content_type.empty()) append_header(out, "Content-Type", content_type);
  if (status == 405) append_header(out, "Allow", "POST, GET, HEAD, OPTIONS");
  for (const HttpHeader& h : extra) append_header_safely(out, h.name, h.value);
  if (!date.empty()) append_header(out, "Date", date);
  if (!keep_alive) {
    append_header(out, "Connection", "close");
  } else if (version_minor == 0) {
    append_header(out, "Connection", "keep-alive");
  }
  if (may_have_body) {
    out.append("Content-Length: ");
    append_number(out, body.size());
    out.append("\r\n");
  }
  out.append("\r\n");
  if (may_have_body && !head_only) out.append(body);
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

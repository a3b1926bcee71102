// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/http_response.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl::sqs_client {
namespace {

using State = HttpResponse::State;

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view head_end = "\r\n\r\n";
constexpr std::size_t body_digits_max = 15;  // sums of lengths stay far from an overflow

// The number that all of `text` is, of at most body_digits_max digits.
std::optional<std::size_t> number_in(std::string_view text, int base) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end || text.size() > body_digits_max) return std::nullopt;
  return number;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The headers that matter here.
struct Framing {
  std::optional<std::size_t> length;
  bool chunked = false;
  bool close = false;
  std::string_view cancelled = {}, error_code = {};
  bool broken = false;
};

// "aws.scheduler#ConflictException:http://internal/": the name alone.
std::string_view code_in(std::string_view value) {
  value = value.substr(0, value.find(':'));
  return value.substr(value.find('#') + 1);
}

void read_header(std::string_view line, Framing& framing) {
  const std::size_t colon = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(std::min(colon + 1, line.size())));
  if (equals_ignoring_case(name, "content-length")) {
    const auto length = number_in(value, 10);
    if (!length || framing.length.value_or(*length) != *length) framing.broken = true;
    framing.length = length;
  } else if (equals_ignoring_case(name, "transfer-encoding")) {
    if (!equals_ignoring_case(value, "chunked")) framing.broken = true;
    framing.chunked = true;
  } else if (equals_ignoring_case(name, "x-pawl-cancel")) {
    framing.cancelled = value;
  } else if (equals_ignoring_case(name, "x-amzn-errortype")) {
    framing.error_code = code_in(value);
  } else if (equals_ignoring_case(name, "connection")) {
    framing.close = framing.close || equals_ignoring_case(value, "close");
  }
}

Framing framing_of(std::string_view headers) {
  Framing framing;
  for (std::size_t at = 0; at < headers.size();) {
    const std::size_t end = std::min(headers.find(line_end, at), headers.size());
    read_header(headers.substr(at, end - at), framing);
    at = end + line_end.size();
  }
  return framing;
}

// A part of the input that ends with a line end: its bytes with that, if it is complete.
struct Part {
  State state = State::incomplete;
  std::size_t bytes = 0;
};

// `marker` ends the part. Without it, a part of `bytes_max` is broken.
Part part_before(std::string_view bytes, std::string_view marker, std::size_t bytes_max) {
  const std::size_t found = bytes.substr(0, bytes_max).find(marker);
  if (found != bytes.npos) return {State::complete, found + marker.size()};
  return {bytes.size() >= bytes_max ? State::broken : State::incomplete, 0};
}

// The size of a chunk from its line. No value: broken.
std::optional<std::size_t> chunk_size(std::string_view line) {
  const std::size_t extension = std::min(line.find(';'), line.size());
  return number_in(trimmed(line.substr(0, extension)), 16);
}

Part read_trailers(std::string_view bytes) {
  if (bytes.starts_with(line_end)) return {State::complete, line_end.size()};
  return part_before(bytes, head_end, head_bytes_max);
}

// Calls `add` with the content of each chunk.
template <typename Add>
Part read_chunks(std::string_view bytes, Add&& add) {
  std::size_t at = 0;
  while (true) {
    const Part line = part_before(bytes.substr(at), line_end, chunk_line_bytes_max);
    if (line.state != State::complete) return line;
    const auto size = chunk_size(bytes.substr(at, line.bytes - line_end.size()));
    if (!size) return {State::broken, 0};
    at += line.bytes;
    CHECK(at <= bytes.size(), "a chunk line ends at {} of {}", at, bytes.size());
    if (*size == 0) {
      const Part trailers = read_trailers(bytes.substr(at));
      return {trailers.state, at + trailers.bytes};
    }
    if (bytes.size() - at < *size + line_end.size()) return {};
    if (bytes.substr(at + *size, line_end.size()) != line_end) return {State::broken, 0};
    add(bytes.substr(at, *size));
    at += *size + line_end.size();
  }
}

// "HTTP/1.1 200 OK", the reason is optional. No value: another protocol.
std::optional<int> status_in(std::string_view line) {
  constexpr std::size_t at = 9;
  if (line.size() < at + 3 || line[at - 1] != ' ') return std::nullopt;
  if (line.size() > at + 3 && line[at + 3] != ' ') return std::nullopt;
  const auto status = number_in(line.substr(at, 3), 10);
  if (!status || *status < 100) return std::nullopt;
  return static_cast<int>(*status);
}

bool may_be_http(std::string_view bytes) {
  constexpr std::string_view version = "HTTP/1.";
  return bytes.starts_with(version.substr(0, bytes.size()));
}

HttpResponse broken_response() { return {.state = State::broken, .body = {}}; }

}  // namespace

HttpResponse read_response(std::string_view bytes) {
  HttpResponse response{.body = {}};
  Framing framing;
  std::size_t at = 0;
  do {
    if (!may_be_http(bytes.substr(at))) return broken_response();
    const Part head = part_before(bytes.substr(at), head_end, head_bytes_max - at);
    if (head.state != State::complete) return {.state = head.state, .body = {}};
    const std::string_view text = bytes.substr(at, head.bytes - line_end.size());
    const std::size_t first = text.find(line_end);
    const auto status = status_in(text.substr(0, first));
    framing = framing_of(text.substr(first + line_end.size()));
    if (!status || framing.broken) return broken_response();
    response.status = *status;
    response.cancelled = framing.cancelled;
    response.error_code = framing.error_code;
    response.keep_alive = !framing.close && text[7] != '0';
    at += head.bytes;
  } while (response.status < 200 && at < head_bytes_max);
  if (response.status < 200) return broken_response();
  response.chunked = framing.chunked;
  const bool empty = response.status == 204 || response.status == 304;
  std::size_t body = empty ? 0 : framing.length.value_or(0);
  if (framing.chunked) {
    const Part chunks = read_chunks(bytes.substr(at), [](std::string_view) {});
    if (chunks.state != State::complete) return {.state = chunks.state, .body = {}};
    body = chunks.bytes;
  } else if (bytes.size() - at < body) {
    return {.body = {}};
  }
  response.has_length = framing.chunked || framing.length || empty;
  response.keep_alive = response.keep_alive && response.has_length;
  response.state = State::complete;
  response.body = bytes.substr(at, body);
  response.bytes = at + body;
  CHECK(response.bytes <= bytes.size(), "a response of {} of {} bytes", response.bytes,
        bytes.size());
  return response;
}

std::string join_chunks(std::string_view body) {
  std::string joined;
  const Part chunks = read_chunks(body, [&](std::string_view chunk) { joined.append(chunk); });
  CHECK(chunks.state == State::complete, "chunks of an incomplete response");
  return joined;
}

}  // namespace pawl::sqs_client

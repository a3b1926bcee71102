// SPDX-License-Identifier: Apache-2.0
// Finds the HTTP/1.1 response at the front of received bytes. It reads only the headers that tell
// where the response ends and whether the connection stays open, one of pawl and the error's code.
//
//   incomplete --more bytes--> incomplete | complete | broken      the last two never change again
//
// Interim responses (1xx) are skipped. A response without a length is complete with an empty body:
// where it ends, only the end of the stream would tell.
//
// Units:  bytes.
// Limits: head_bytes_max for the head with interim responses, and for the trailers;
//         chunk_line_bytes_max for the line before a chunk. The caller limits the body.
// Errors: broken: no HTTP/1.1, or contradictory lengths.
// Owner:  values; `body` and the headers are views into the received bytes.
// Source: RFC 9112, sections 4, 6 and 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::sqs_client {

inline constexpr std::size_t head_bytes_max = 64 << 10;
inline constexpr std::size_t chunk_line_bytes_max = 256;

struct HttpResponse {
  enum class State : std::uint8_t { incomplete, complete, broken };
  State state = State::incomplete;
  int status = 0;         // 200..999 of a complete response
  std::string_view body;  // with its chunk lines if `chunked`
  // Headers, into the received bytes: x-pawl-cancel; x-amzn-errortype without namespace and URL.
  std::string_view cancelled = {}, error_code = {};
  bool chunked = false;
  bool has_length = true;   // false: the body is unknown, and taken as empty
  bool keep_alive = false;  // the connection can carry another request
  std::size_t bytes = 0;    // of the whole response
};

HttpResponse read_response(std::string_view bytes);

// The content of a chunked body of a complete response.
std::string join_chunks(std::string_view body);

}  // namespace pawl::sqs_client

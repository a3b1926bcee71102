// SPDX-License-Identifier: Apache-2.0
// The failure of a call, for programs (kind, code) and for people (text), and the error in the body
// of a response.
//
// Limits: message_bytes_max for code and message of a response; the rest is cut.
// Errors: none; a body in another form has no code, and is the message as far as it is printable.
// Owner:  values.
// Source: AWS JSON 1.0 and Query protocols (Smithy), "Operation error serialization".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::sqs_client {

enum class ErrorKind : std::uint8_t {
  bad_options,  // endpoint, key or region; nothing was sent
  no_library,   // https without libcurl; nothing was sent
  unreachable,  // no connection; nothing was sent
  untrusted,    // no TLS connection; nothing was sent
  timed_out,    // the whole response did not come in time
  closed,       // the connection ended before the response was complete
  broken,       // the response is not HTTP/1.1
  too_large,    // the response is larger than the limit
  refused,      // the endpoint refused the call: status, code, message
};

struct CallError {
  ErrorKind kind{};
  int status = 0;       // of refused: the HTTP status
  std::string code;     // of refused: "QueueDoesNotExist"; empty: the response has none
  std::string message;  // of refused: the endpoint's sentence
  std::string text;     // a whole sentence: the failure, the address, the remedy
};

inline constexpr std::size_t message_bytes_max = 2000;

struct ServiceError {
  std::string code;  // "QueueDoesNotExist", without its namespace; empty: none
  std::string message;
};

ServiceError service_error_of(std::string_view body);

// "QueueDoesNotExist: The specified queue does not exist.", or "HTTP 502: Bad gateway".
std::string describe(const ServiceError& error, int status);

}  // namespace pawl::sqs_client

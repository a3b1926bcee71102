// SPDX-License-Identifier: Apache-2.0
// Responses of SQS endpoints, with any bytes: a response is incomplete until its last byte, and no
// later byte changes it. A broken one stays broken.
//
// Input: the received bytes.
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "net/sqs_client/call_error.h"
#include "net/sqs_client/http_response.h"

namespace pawl::sqs_client {
namespace {

using State = HttpResponse::State;

State state_of(std::string_view bytes) { return read_response(bytes).state; }

void check_pieces(std::string_view bytes) {
  const HttpResponse response = read_response(bytes);
  bool broken = false;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const HttpResponse piece = read_response(bytes.substr(0, size));
    if (piece.state == State::complete) {
      CHECK(piece.bytes <= size, "a response of {} of {} bytes", piece.bytes, size);
      CHECK(response.state == State::complete && response.bytes == piece.bytes &&
                response.status == piece.status && response.body == piece.body,
            "complete with {} bytes, another one with all", size);
    }
    CHECK(!broken || piece.state == State::broken, "broken, and not with {} bytes", size);
    broken = piece.state == State::broken;
  }
  CHECK(!broken || response.state == State::broken, "broken, and not with all bytes");
}

void check_response(std::string_view bytes) {
  const HttpResponse response = read_response(bytes);
  if (response.state != State::complete) return;
  CHECK(response.status >= 200 && response.status <= 999, "status {}", response.status);
  CHECK(response.bytes > response.body.size(), "{} of {} bytes", response.body.size(),
        response.bytes);
  CHECK(state_of(bytes.substr(0, response.bytes - 1)) == State::incomplete,
        "complete without its last byte");
  const std::string body =
      response.chunked ? join_chunks(response.body) : std::string(response.body);
  CHECK(body.size() <= response.body.size(), "{} bytes of {}", body.size(), response.body.size());
  const ServiceError error = service_error_of(body);
  CHECK(error.message.size() <= message_bytes_max, "a message of {} bytes", error.message.size());
}

}  // namespace
}  // namespace pawl::sqs_client

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  pawl::sqs_client::check_response(bytes);
  if (size <= 2048) pawl::sqs_client::check_pieces(bytes);
  return 0;
}

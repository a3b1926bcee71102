// SPDX-License-Identifier: Apache-2.0
// HTTP, with any bytes: the result must not depend on the pieces in which the stream arrives. Every
// view must be readable together with the slack behind the body.
//
// Input: the first byte is the size of the pieces less one, the rest is the stream.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "proto/http/parser.h"

namespace pawl {
namespace {

void describe(std::string& out, const HttpRequest& request) {
  out.append(request.method).append(" ").append(request.target).append(" ");
  out.append(request.path).append("?").append(request.query);
  for (const HttpHeader& h : request.headers) out.append(h.name).append(":").append(h.value);
  out.append(request.body).append(request.keep_alive ? "k" : "c").append("\n");

  unsigned sum = 0;
  for (std::size_t i = 0; i < HttpParser::body_slack; ++i) {
    sum += static_cast<unsigned char>(request.body.data()[request.body.size() + i]);
  }
  volatile unsigned read = sum;
  (void)read;
}

std::string outcome(std::string_view bytes, std::size_t piece) {
  HttpParser parser;
  std::string out;
  std::size_t fed = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    if (fed <= at) fed = std::min(at + piece, bytes.size());
    std::size_t consumed = 0;
    const HttpParser::State state = parser.feed(bytes.substr(at, fed - at), consumed);
    at += consumed;
    if (state == HttpParser::State::error) return out + std::to_string(parser.error_status());
    if (state == HttpParser::State::complete) {
      describe(out, parser.request());
      parser.next();
    } else {
      CHECK(at == fed, "bytes left over: {} of {}", at, fed);
    }
  }
  return out + static_cast<char>('0' + static_cast<int>(parser.phase()));
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = pawl::outcome(bytes, bytes.size());
  const std::string pieces = pawl::outcome(bytes, std::size_t{data[0]} + 1);
  CHECK(whole == pieces, "in one piece:\n{}\nin pieces:\n{}", whole, pieces);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Signatures: any request gets the same result twice, and no signature holds for another request.
//
// Input: an HTTP request. It is verified at the signing time of the corpus, so that mutations of an
// accepted request can be wrong in every single place.
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "proto/auth/keys.h"
#include "proto/auth/sigv4.h"
#include "proto/http/parser.h"

namespace pawl::fuzz {
namespace {

constexpr Instant signed_at{1'767'323'045'000};  // 20260102T030405Z

Keyring keyring(std::string_view secret) {
  Keyring keys;
  CHECK(keys.add({"AKIDEXAMPLE", std::string(secret), "111111111111"}) == KeyFault::none);
  return keys;
}

void check(const HttpRequest& request) {
  static SignatureVerifier kept;
  static const Keyring right = keyring("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
  static const Keyring wrong = keyring("x"), nobody;
  Identity who;
  const AuthFault fault = kept.verify(request, right, signed_at, who);
  CHECK(kept.verify(request, right, signed_at, who) == fault);
  CHECK((fault == AuthFault::none) == (who.account == "111111111111"));

  // Other faults are reported before the key is checked: a wrong secret or an unknown key changes
  // only an accepted request, into a mismatch.
  const AuthFault unsigned_fault = fault == AuthFault::none ? AuthFault::mismatch : fault;
  CHECK(kept.verify(request, wrong, signed_at, who) == unsigned_fault);
  CHECK(kept.verify(request, nobody, signed_at, who) == unsigned_fault);
  if (fault != AuthFault::none) return;

  // A signature does not hold for another method, body or path, and it expires.
  HttpRequest other = request;
  other.method = request.method == "GET" ? "POST" : "GET";
  CHECK(kept.verify(other, right, signed_at, who) == AuthFault::mismatch);
  other = request;
  const std::string body = std::string(request.body) + "x";
  other.body = body;
  CHECK(kept.verify(other, right, signed_at, who) != AuthFault::none);
  other = request;
  const std::string path = std::string(request.path) + "x";
  other.path = path;
  CHECK(kept.verify(other, right, signed_at, who) == AuthFault::mismatch);
  const Instant late = signed_at + seconds(SignatureVerifier::expires_max + 1);
  CHECK(kept.verify(request, right, late, who) == AuthFault::expired);
}

}  // namespace
}  // namespace pawl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  pawl::HttpParser parser;
  for (std::size_t n = 0; !rest.empty(); rest.remove_prefix(n)) {
    const auto state = parser.feed(rest, n);
    if (state == pawl::HttpParser::State::complete) {
      pawl::fuzz::check(parser.request());
      break;
    }
    if (state == pawl::HttpParser::State::error) break;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// AWS Signature Version 4: the signer of a request, if the signature is right.
//
//   find the signature (header or query) -> its parts -> the time -> the signed headers -> the body
//   -> canonical request -> string to sign -> HMAC under the key of that day, region and service
//
// Both forms are accepted: the Authorization header, and the presigned query (X-Amz-Algorithm ...).
// Unsigned data is not trusted: `host` and every x-amz-* header must be signed, and the body is
// always hashed here. A repeated header or parameter is refused, because two readers could differ
// on it, except for TagKeys of a DELETE. A session token is signed like any other header or
// parameter, and is not inspected.
//
// An unknown key id and a wrong signature cost the same work and report the same fault. A signature
// can be replayed within its validity: TLS protects it from others.
//
// Units:  X-Amz-Date in seconds of UTC, X-Amz-Expires in seconds.
// Limits: skew_max around now for a header; 1 .. expires_max seconds from its date for a query;
//         regions of up to region_max characters; services sqs, sns and scheduler.
//         proto/http/parser.h and proto/text/form.h limit headers and query.
// Errors: AuthFault; proto/errors/sqs_errors.h has AWS's text for each.
// Owner:  one thread. It caches cached_max derived keys, each with its inputs, so that a new
//         Keyring never uses keys of the previous one. In steady state it allocates nothing.
// Source: IAM User Guide, "AWS Signature Version 4 for API requests"; botocore's signer for the
//         canonical path, as clients send it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "proto/auth/keys.h"
#include "proto/errors/errors.h"
#include "proto/http/parser.h"
#include "proto/text/digest.h"
#include "proto/text/form.h"

namespace pawl {

// The signer. Both texts belong to the Keyring.
struct Identity {
  std::string_view account;
  std::string_view key_id;
};

// The access key id that the request names in its signature's scope, unchecked; empty: none. The
// text is the request's.
std::string_view named_key_id(const HttpRequest& http);

class SignatureVerifier {
 public:
  static constexpr Duration skew_max = seconds(15 * 60);
  static constexpr std::int64_t expires_max = 604'800;
  static constexpr std::size_t region_max = 64;
  static constexpr std::size_t cached_max = 256;

  SignatureVerifier();
  ~SignatureVerifier();  // overwrites the derived keys

  // Fills `out` only if there is no fault.
  [[nodiscard]] AuthFault verify(const HttpRequest& http, const Keyring& keys, Instant now,
                                 Identity& out);

  // Verifies a head before its body arrives. It reports only faults that verify() would report too.
  // `proven` becomes true if X-Amz-Content-Sha256 allowed the full signature check and it matched.
  // Without that header no key is looked up: an unknown key is reported no sooner than a wrong
  // secret.
  [[nodiscard]] AuthFault verify_head(const HttpRequest& http, const Keyring& keys, Instant now,
                                      bool& proven);

  // The times of the request that was verified last, for the text of its refusal.
  const SignatureTime& time() const { return time_; }

 private:
  struct Claim;
  struct Derived;
  struct Piece {  // positions in encoded_
    std::size_t key, value, end;
  };

  // Reads the claim and builds canonical_, up to the digest of the body.
  AuthFault begin(const HttpRequest& http, Instant now, Claim& claim);
  AuthFault find_claim(const HttpRequest& http, Claim& claim);
  void append_query(std::string_view left_out);
  AuthFault append_headers(const HttpRequest& http, const Claim& claim);
  AuthFault make_canonical(const HttpRequest& http, const Claim& claim);
  AuthFault check_signature(const Claim& claim, const Keyring& keys, Identity& out);
  Derived& slot_of(const Sha256& print, std::string_view scope);

  SignatureTime time_;
  Form form_;              // the query string
  std::string canonical_;  // the canonical request
  std::string encoded_;    // the query's keys and values, in their canonical escapes
  std::vector<Piece> pieces_;
  std::unique_ptr<std::array<Derived, cached_max>> derived_;
};

}  // namespace pawl

// AWS Signature Version 4: who signed a request, if the signature is right.
//
//   find the signature (header or query) -> its parts -> the time -> the signed headers -> the body
//   -> canonical request -> string to sign -> HMAC under the key of that day, region and service
//
// Both forms are read: the Authorization header, and the presigned query (X-Amz-Algorithm ...). Nothing
// is believed that is not signed: `host` and every x-amz-* header must be, the body is always hashed
// here, and a header or parameter that is there twice is refused, since two readers could differ on it.
// A session token is signed like any other header or parameter, and not looked at.
//
// An unknown key id and a wrong signature do the same work and are the same fault. A signature can be
// replayed as long as its time allows: TLS is what keeps it from others.
//
// Units:  X-Amz-Date in seconds of UTC, X-Amz-Expires in seconds.
// Limits: skew_max around now for a header; 1 .. expires_max seconds from its date for a query; regions
//         of up to region_max characters; services sqs and sns. Headers and query are as long as
//         proto/http.h and proto/form.h let them be.
// Errors: AuthFault; sqs_errors.h has AWS's words for each.
// Owner:  one thread. It keeps cached_max derived keys, each by what it was derived from, so that another
//         Keyring never meets a key of the last one. In steady state it allocates nothing.
// Source: IAM User Guide, "AWS Signature Version 4 for API requests"; botocore's signer for the canonical
//         path, as clients send it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "proto/digest.h"
#include "proto/form.h"
#include "proto/http.h"
#include "proto/keys.h"

namespace pawl {

enum class AuthFault : std::uint8_t {
  none,
  missing,             // not signed at all
  two_signatures,      // in the header and in the query, or two headers
  bad_query,           // a parameter twice, a bad escape, too many
  bad_form,            // another algorithm, or parts that are missing, twice or not of the grammar
  bad_credential,      // not <key id>/<day>/<region>/sqs/aws4_request
  bad_date,            // X-Amz-Date missing, not a date, or not of the credential's day
  bad_expires,         // X-Amz-Expires out of its range
  bad_signed_headers,  // not in order, or one that is not in the request exactly once
  unsigned_header,     // `host` or an x-amz-* header is not signed
  expired,
  not_yet_valid,
  body_differs,  // X-Amz-Content-Sha256 is not the body's
  mismatch,      // a wrong signature, or an unknown key
};
inline constexpr std::size_t auth_faults = static_cast<std::size_t>(AuthFault::mismatch) + 1;

std::string_view name_of(AuthFault fault);

// Who signed. Both are the Keyring's.
struct Identity {
  std::string_view account;
  std::string_view key_id;
};

class SignatureVerifier {
 public:
  static constexpr Duration skew_max = seconds(15 * 60);
  static constexpr std::int64_t expires_max = 604'800;
  static constexpr std::size_t region_max = 64;
  static constexpr std::size_t cached_max = 256;

  SignatureVerifier();
  ~SignatureVerifier();  // overwrites the derived keys

  // `out` is filled when there is no fault, and not touched otherwise.
  [[nodiscard]] AuthFault verify(const HttpRequest& http, const Keyring& keys, Instant now,
                                 Identity& out);

  // Of a head whose body has not come. Every fault is one that verify() would find too. `proven` becomes true
  // when X-Amz-Content-Sha256 let the whole signature be computed, and it is right. Without that header a key
  // is not looked up: an unknown one is found no sooner than a wrong secret.
  [[nodiscard]] AuthFault verify_head(const HttpRequest& http, const Keyring& keys, Instant now,
                                      bool& proven);

 private:
  struct Claim;
  struct Derived;
  struct Piece {  // of encoded_
    std::size_t key, value, end;
  };

  // Reads the claim and makes canonical_, up to the digest of the body.
  AuthFault begin(const HttpRequest& http, Instant now, Claim& claim);
  AuthFault find_claim(const HttpRequest& http, Claim& claim);
  void append_query(std::string_view left_out);
  AuthFault append_headers(const HttpRequest& http, const Claim& claim);
  AuthFault make_canonical(const HttpRequest& http, const Claim& claim);
  AuthFault check_signature(const Claim& claim, const Keyring& keys, Identity& out);
  Derived& slot_of(const Sha256& print, std::string_view scope);

  Form form_;              // the query string
  std::string canonical_;  // the canonical request
  std::string encoded_;    // the query's keys and values, in their canonical escapes
  std::vector<Piece> pieces_;
  std::unique_ptr<std::array<Derived, cached_max>> derived_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// BearerToken: a secret that a request proves to know by the header `Authorization: Bearer TOKEN`.
//
// Only its digest is kept, and digests are compared in constant time.
//
// Limits: 16 to 512 characters of RFC 6750's b64token.
// Owner:  a value; any thread reads.
// Source: RFC 6750, section 2.1.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "proto/text/digest.h"

namespace pawl {

class BearerToken {
 public:
  static constexpr std::size_t characters_min = 16, characters_max = 512;

  // White space around the token is left out. Errors: a text without an end, never with the token.
  static std::expected<BearerToken, std::string> parse(std::string_view text);

  // `authorization`: the header's value, empty without the header.
  bool is_proved_by(std::string_view authorization) const;

 private:
  explicit BearerToken(std::string_view token) : digest_(sha256(token)) {}
  Sha256 digest_;
};

}  // namespace pawl

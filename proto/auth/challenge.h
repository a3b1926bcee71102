// SPDX-License-Identifier: Apache-2.0
// Authentication of a binary client: it proves that it has an access key without sending it.
//
//   server: challenge() -> client: prove(secret, id, challenge) -> server: proven(...) of keys.h
//
// The proof is HMAC-SHA256 under the secret over a fixed text, the challenge and the key's id. A
// challenge is valid on one connection, so that an intercepted proof is useless on another.
//
// Errors: none; an OpenSSL without SHA-256, or a system without randomness, stops the program.
// Owner:  free functions.
// Source: proto/PROTOCOL.md, "Keys"; RFC 2104.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/text/digest.h"

namespace pawl {

inline constexpr std::size_t key_id_max = 128;  // bytes; no key has a longer id

using Challenge = std::array<std::uint8_t, 32>;

Challenge challenge();  // random
Sha256 prove(std::string_view secret, std::string_view id, const Challenge& challenge);

}  // namespace pawl

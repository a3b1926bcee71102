// SPDX-License-Identifier: Apache-2.0
// Digests: MD5 as SQS returns it with every body; SHA-256 and its HMAC for signatures and proofs.
//
// Units:  digests are raw bytes; append_hex() and hex_text() make them lower-case text.
// Limits: hmac_message_max; none on the input of the digests.
// Errors: none; an OpenSSL without MD5 (a FIPS-only build) stops the program at first use.
// Owner:  md5() and sha256() reuse one OpenSSL context per thread.
// Source: RFC 1321, FIPS 180-4, RFC 2104; OpenSSL 3 EVP_MD_fetch(3), "explicit fetching".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pawl {

using Md5 = std::array<std::uint8_t, 16>;
using Sha256 = std::array<std::uint8_t, 32>;

// A digest, or a part of it, as the bytes of another call.
inline std::string_view view_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Md5 md5(std::string_view bytes);
Sha256 sha256(std::string_view bytes);

// HMAC of a short message: at most hmac_message_max bytes, a key of any length.
inline constexpr std::size_t hmac_message_max = 320;
Sha256 hmac_sha256(std::string_view key, std::string_view message);

void append_hex(std::string& out, std::span<const std::uint8_t> bytes);

using Md5Text = std::array<char, 32>;
Md5Text hex_text(const Md5& digest);

}  // namespace pawl

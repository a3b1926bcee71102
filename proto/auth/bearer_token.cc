// SPDX-License-Identifier: Apache-2.0
#include "proto/auth/bearer_token.h"

#include <fmt/core.h>
#include <openssl/crypto.h>

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr std::string_view token_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/=";

std::string_view without_white_space(std::string_view text) {
  constexpr std::string_view white = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(white);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(white) + 1 - begin);
}

}  // namespace

std::expected<BearerToken, std::string> BearerToken::parse(std::string_view text) {
  const std::string_view token = without_white_space(text);
  if (token.size() < characters_min || token.size() > characters_max)
    return std::unexpected(fmt::format("a token of {} characters; it must have {} to {}",
                                       token.size(), characters_min, characters_max));
  if (const std::size_t at = token.find_first_not_of(token_characters); at != token.npos)
    return std::unexpected(
        fmt::format("character {} of the token is none of a-z A-Z 0-9 - . _ ~ + / =", at + 1));
  return BearerToken(token);
}

bool BearerToken::is_proved_by(std::string_view authorization) const {
  constexpr std::string_view scheme = "Bearer ";
  if (!starts_with_ignoring_case(authorization, scheme)) return false;
  const Sha256 given = sha256(without_white_space(authorization.substr(scheme.size())));
  CHECK(given.size() == digest_.size(), "a digest of {} bytes", given.size());
  return CRYPTO_memcmp(given.data(), digest_.data(), given.size()) == 0;
}

}  // namespace pawl

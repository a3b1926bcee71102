// SPDX-License-Identifier: Apache-2.0
// The access keys of `pawl serve --auth sigv4`: a TOML file.
//
//   [[key]]
//   id = "AKIDEXAMPLE"
//   secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
//   account = "000000000001"
//
// The file must belong to the user of the server or to root, and its mode must give group and
// others no access.
//
// Limits: those of Keyring; key_file_bytes_max.
// Errors: one sentence with the file, the line and column if known, the fault and the remedy. It
//         never contains a secret.
// Owner:  the Keyring it makes; the text that was read is overwritten.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <string>

#include "proto/auth/bearer_token.h"
#include "proto/auth/keys.h"

namespace pawl {

inline constexpr std::size_t key_file_bytes_max = 8 << 20;

std::expected<std::shared_ptr<const Keyring>, std::string> read_key_file(const std::string& path);
std::expected<std::shared_ptr<const BearerToken>, std::string> read_token_file(
    const std::string& path);

}  // namespace pawl

// The access keys of `pawl serve --auth sigv4`: a TOML file.
//
//   [[key]]
//   id = "AKIDEXAMPLE"
//   secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
//   account = "000000000001"
//
// The file must belong to whoever runs the server (or root), and nobody else may open it.
//
// Limits: those of Keyring; file_bytes_max.
// Errors: one sentence: the file, with line and column where there is one, what is wrong, what to do. A
//         secret is never part of it.
// Owner:  the Keyring it makes; the text read is overwritten.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <string>

#include "proto/keys.h"

namespace pawl {

inline constexpr std::size_t key_file_bytes_max = 8 << 20;

std::expected<std::shared_ptr<const Keyring>, std::string> read_key_file(const std::string& path);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Texts for HTTP requests refused at a limit: the cause, the value, the limit, the remedy.
//
// Units:  bytes.
// Errors: none. A header value is repeated unescaped, cut to 40 bytes: the caller escapes it.
// Owner:  the caller's, by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

std::string long_target_text(std::size_t bytes_max);
std::string long_head_text(std::size_t bytes_max, std::size_t headers_max);
std::string long_body_text(std::uint64_t bytes, std::uint64_t bytes_max);
// `bytes`: body bytes before the chunk.
std::string long_chunk_text(std::uint64_t chunk, std::uint64_t bytes, std::uint64_t bytes_max);
std::string content_encoding_text(std::string_view value);

}  // namespace pawl

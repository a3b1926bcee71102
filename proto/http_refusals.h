// The texts of HTTP requests that are refused for a limit: the cause, the value, the limit, the remedy.
//
// Units:  bytes.
// Errors: none. A header's value is repeated as it came, cut to 40 bytes: the caller escapes it.
// Owner:  the caller's, by value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

std::string long_target_text();
std::string long_head_text();
std::string long_body_text(std::uint64_t bytes, std::uint64_t bytes_max);
// `bytes` of the body came before the chunk.
std::string long_chunk_text(std::uint64_t chunk, std::uint64_t bytes, std::uint64_t bytes_max);
std::string content_encoding_text(std::string_view value);

}  // namespace pawl

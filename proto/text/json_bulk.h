// SPDX-License-Identifier: Apache-2.0
// look_at_bulk: checks that a JSON document is small enough to be parsed in one turn of a shard.
//
// Brackets, commas, numbers and short texts cost a parser up to 45 instructions a byte; the bytes
// of long texts cost little. Our requests have a few members and one to ten long texts.
//
// Units:  bytes.
// Limits: json_structure_bytes_max outside of texts (a text counts as one), json_content_bytes_max
//         in total, with an escape counted as the one byte that it can represent.
// Errors: none; for invalid JSON the result is arbitrary, and the parser refuses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl {

// Ten indented entries with ten attributes each need a tenth of this.
inline constexpr std::size_t json_structure_bytes_max = 64 << 10;
// The messages of a batch total 1 MiB; base64 adds a third.
inline constexpr std::size_t json_content_bytes_max = 2 << 20;

enum class JsonBulk : std::uint8_t { fits, too_much_structure, too_much_content };

// Costs about one instruction a byte; stops when a limit is exceeded.
JsonBulk look_at_bulk(std::string_view text);

}  // namespace pawl

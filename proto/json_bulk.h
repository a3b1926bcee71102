// look_at_bulk: whether a JSON document is small enough to be parsed in one turn of a shard.
//
// A parser pays for every bracket, comma, number and short text, up to 45 instructions a byte, and for the bytes of long
// texts little. Requests of ours are the other way round: a few members, and one to ten long texts.
//
// Units:  bytes.
// Limits: json_structure_bytes_max outside of texts (a text counts as one), json_content_bytes_max in all, an escape
//         counted as the one byte that it can stand for.
// Errors: none; of a text that is no JSON it says either, and the parser refuses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl {

// Ten entries with ten attributes each, written with an indent, have a tenth of this.
inline constexpr std::size_t json_structure_bytes_max = 64 << 10;
// The messages of a batch have 1 MiB together; base64 makes a third more of it.
inline constexpr std::size_t json_content_bytes_max = 2 << 20;

enum class JsonBulk : std::uint8_t { fits, too_much_structure, too_much_content };

// About one instruction a byte; ends where a limit is reached.
JsonBulk look_at_bulk(std::string_view text);

}  // namespace pawl

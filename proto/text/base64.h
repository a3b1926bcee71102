// SPDX-License-Identifier: Apache-2.0
// Base64, the standard alphabet, always padded: binary message attributes.
//
// Errors: decode_base64() accepts only the output of append_base64(): a multiple of four
//         characters, `=` only at the end and only as needed, unused bits zero, no line breaks. So
//         one value has one text, and a client receives the text that it sent.
// Owner:  both append to the caller's string; a refusal leaves it unchanged.
// Source: RFC 4648, sections 3.5 and 4.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pawl {

void append_base64(std::string& out, std::span<const std::uint8_t> bytes);
[[nodiscard]] bool decode_base64(std::string_view in, std::string& out);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Checks of values on the command line, and hints for unknown words.
//
// Errors: a check returns a text that names the value, the allowed values and the remedy.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace pawl {

// Returns the error text for a value; empty: the value is valid.
using ValueCheck = std::function<std::string(const std::string&)>;
ValueCheck whole_number(std::uint64_t least, std::uint64_t most);
ValueCheck number(double least, double most);

// A hint for an unknown verb or flag, with a leading space: pawl's own word for a word of other
// programs, else the closest of the `known` words. Empty: there is none.
std::string hint_for_verb(std::string_view word, std::span<const std::string> known);
std::string hint_for_flag(std::string_view word, std::span<const std::string> known);

}  // namespace pawl

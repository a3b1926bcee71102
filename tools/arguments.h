// SPDX-License-Identifier: Apache-2.0
// Checks of numbers on the command line, and the texts for wrong use of a verb.
//
// Errors: explain() and the checks name the flag, the value, the allowed values and the remedy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace pawl {

// For CLI::Option::check(): the error text for a value; empty: the value is valid.
using ValueCheck = std::function<std::string(const std::string&)>;
ValueCheck whole_number(std::uint64_t least, std::uint64_t most);
ValueCheck number(double least, double most);

// `app`: the whole command line, after parse() has thrown `error`.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Values of a declared queue, topic or subscription beside those that an endpoint has.
//
// Owner: free functions.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

// True: the attribute has the wanted value, whatever the form of its JSON or its
// duration; absent is false, and 0 for a duration.
bool is_same_attribute(std::string_view name, const std::string& has, const std::string& wants);

// "NAME: OLD -> NEW".
std::string change_text(std::string_view name, std::string_view has, std::string_view wants);

// Prints an error with the place in the file, and returns exit_failure.
int refuse_row(const std::string& where, const std::string& text);

}  // namespace pawl

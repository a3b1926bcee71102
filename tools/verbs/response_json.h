// SPDX-License-Identifier: Apache-2.0
// Parts of the JSON responses of SQS and of pawl's own API, for the verbs.
//
// Errors: an absent member, or one of another kind, is an empty text or no number.
// Owner:  free functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/text/json_dom.h"

namespace pawl {

std::string text_of(const JsonValue& object, std::string_view name);
std::optional<std::int64_t> number_of(const JsonValue& object, std::string_view name);
// A member of the map Attributes.
std::string attribute_of(const JsonValue& object, std::string_view name);
std::int64_t attribute_number_of(const JsonValue& object, std::string_view name);  // 0: absent

// The beginning of a body, for a column of a table; cut at a character.
std::string short_body(const std::string& body);
// The text with \n, \t or \x7f in place of its control characters: C0, DEL and, in UTF-8, C1.
std::string with_visible_controls(std::string_view text);

}  // namespace pawl

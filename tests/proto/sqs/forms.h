// SPDX-License-Identifier: Apache-2.0
// Calls in JSON, said again as forms: so that what is tested in one protocol is tested in both.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

// A value as it stands in a form.
std::string percent_encoded(std::string_view text);

// The text of XML without its escapes.
std::string xml_unescaped(std::string_view text);

// The form that says what the JSON body of that action says; empty when a form cannot.
std::string form_of(std::string_view action, std::string_view json_body);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// accepts_json: the choice between XML and JSON by the header Accept.
//
// Owner:  none; a function of the text.
// Source: RFC 9110, section 12.5.1. Weights are ignored: the first type counts.
#pragma once

#include <string_view>

namespace pawl {

// True if Accept names JSON before any type of XML.
bool accepts_json(std::string_view accept);

}  // namespace pawl

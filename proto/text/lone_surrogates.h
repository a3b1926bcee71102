// SPDX-License-Identifier: Apache-2.0
// Halves of a surrogate pair in a JSON text: \ud83d without \ude00, as SDKs send a text that was
// cut within an emoji. A parser refuses the whole text for them.
//
// Errors: none.
// Owner:  any thread; no state.
// Source: RFC 8259, section 8.2.
#pragma once

#include <string>

namespace pawl {

// Replaces each half by \ufffe, a character that messages must not have, so that the checks of a
// text refuse the one member that holds it. False: there is none.
bool replace_lone_surrogates(std::string& json);

}  // namespace pawl

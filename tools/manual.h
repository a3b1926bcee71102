// SPDX-License-Identifier: Apache-2.0
// The manual page, made of the verbs that the command line has.
//
// Source: groff_man(7).
#pragma once

#include <span>
#include <string>

#include "tools/verb_row.h"

namespace pawl {

// `verbs`: each behind the one that contains it; the first is the program.
std::string manual_page(std::span<const VerbRow> verbs, const std::string& version);

}  // namespace pawl

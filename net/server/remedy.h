// SPDX-License-Identifier: Apache-2.0
// The remedy for an errno at startup, as the last sentence of an error text.
#pragma once

#include <string>

namespace pawl {

// For example " Free space on that disk, ...", with a leading space. Empty: no remedy is known.
std::string remedy_for(int error);

}  // namespace pawl

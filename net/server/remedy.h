// The remedy for an errno of a start, as the last sentence of an error text.
#pragma once

#include <string>

namespace pawl {

// For example "Free space on that disk, ...", with a space before it. Empty: there is no advice for it.
std::string remedy_for(int error);

}  // namespace pawl

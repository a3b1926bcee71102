// SPDX-License-Identifier: Apache-2.0
// The checks that Producer and Consumer make of their endpoint and queue.
//
// Owner: a free function.
#pragma once

#include <string>
#include <string_view>

#include "net/client/pawl/endpoint.h"

namespace pawl::client {

// Empty, or the first option that is out of range, with its value and range.
std::string problem_of(const Endpoint& endpoint, std::string_view queue);

}  // namespace pawl::client

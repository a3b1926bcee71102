// SPDX-License-Identifier: Apache-2.0
// The one line and the exit code of a plugin for Nagios.
//
//   PAWL WARNING - 2 findings in 5 queues: orders short-polls | findings=2
//
// Errors: none.
// Owner:  free functions.
// Source: Monitoring Plugins Development Guidelines, "Plugin Output", "Plugin Return Codes".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

enum class NagiosLevel : std::uint8_t { ok, warning, critical, unknown };

// Prints the line and returns the exit code, which is the number of the level.
int print_nagios(NagiosLevel level, std::string text, std::string_view figures = {});

}  // namespace pawl

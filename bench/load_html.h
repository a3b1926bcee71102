// SPDX-License-Identifier: Apache-2.0
// The result of a load as one HTML page with plots. It needs no other file and no script.
//
// Units:  messages per second, microseconds.
// Errors: none.
#pragma once

#include <string>

#include "bench/load_machine.h"
#include "bench/load_options.h"
#include "bench/load_result.h"

namespace pawl::load {

std::string result_html(const LoadOptions& options, const LoadResult& result,
                        const MachineFacts& machine);

}  // namespace pawl::load

// SPDX-License-Identifier: Apache-2.0
// The files of a result: --hgrm and --html.
//
//   out.hgrm            the latencies of all rounds
//   out.round-001.hgrm  those of each complete round, if --rounds is above 1
//
// Errors: write_files() prints a text and returns 1 if a file cannot be written.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "bench/load_machine.h"
#include "bench/load_options.h"
#include "bench/load_result.h"

namespace pawl::load {

// The file of a round, counted from 1. The names of up to 999 rounds sort in their order.
std::string round_path(const std::string& path, std::uint32_t round);

// Returns the exit code. Devices, pipes and symbolic links get only the latencies of all rounds.
int write_files(const LoadOptions& options, const LoadResult& result, const MachineFacts& machine,
                std::FILE* err);

}  // namespace pawl::load

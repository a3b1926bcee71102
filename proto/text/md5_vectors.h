// SPDX-License-Identifier: Apache-2.0
// Steps of MD5 in vectors of four words, for every processor: the compiler makes NEON registers of
// them on arm64, and SSE2 registers on x86-64. One, two or four vectors work side by side.
//
// Source: RFC 1321; GCC, "Vector Extensions".
#pragma once

#include "proto/text/md5_steps.h"

namespace pawl {

// Adds the blocks to the states, and moves the texts behind them.
void md5_compress_vectors(const Md5LaneBlocks& next);

}  // namespace pawl

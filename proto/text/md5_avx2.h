// SPDX-License-Identifier: Apache-2.0
// Steps of MD5 in AVX2 registers of eight words: one register for 8 lanes, two for 16. The program
// is for every x86-64 processor; only these functions are compiled for AVX2.
//
// Errors: none. The caller asks has_avx2() first.
// Source: RFC 1321.
#pragma once

#include "proto/text/md5_steps.h"

namespace pawl {

bool has_avx2();

// Adds the blocks to the states, and moves the texts behind them.
void md5_compress_avx2(const Md5LaneBlocks& next);

}  // namespace pawl

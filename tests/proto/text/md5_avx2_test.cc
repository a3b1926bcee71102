// SPDX-License-Identifier: Apache-2.0
#include "proto/text/md5_avx2.h"

#include <gtest/gtest.h>

#include "tests/proto/text/lane_blocks.h"

namespace pawl {
namespace {

TEST(Md5Avx2, CompressesABlockInEachNumberOfLanes) {
  if (!has_avx2()) GTEST_SKIP() << "this processor has no AVX2";
  for (std::size_t lanes = 1; lanes <= md5_lanes_max; ++lanes)
    expect_digest_of_nothing(md5_compress_avx2, lanes);
}

}  // namespace
}  // namespace pawl

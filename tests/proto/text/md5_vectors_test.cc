// SPDX-License-Identifier: Apache-2.0
#include "proto/text/md5_vectors.h"

#include <gtest/gtest.h>

#include "tests/proto/text/lane_blocks.h"

namespace pawl {
namespace {

TEST(Md5Vectors, CompressesABlockInEachNumberOfLanes) {
  for (std::size_t lanes = 1; lanes <= md5_lanes_max; ++lanes)
    expect_digest_of_nothing(md5_compress_vectors, lanes);
}

}  // namespace
}  // namespace pawl

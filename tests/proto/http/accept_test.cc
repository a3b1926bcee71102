// SPDX-License-Identifier: Apache-2.0
#include "proto/http/accept.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Accept, IsJsonIfThatComesBeforeXml) {
  for (const char* accept :
       {"application/json", "Application/JSON;q=0.5", " text/html , application/json , text/xml"})
    EXPECT_TRUE(accepts_json(accept)) << accept;
  for (const char* accept : {"", ",", "*/*", "text/xml, application/json",
                             "application/xml;q=0.1,application/json", "application/json5"})
    EXPECT_FALSE(accepts_json(accept)) << accept;
}

}  // namespace
}  // namespace pawl

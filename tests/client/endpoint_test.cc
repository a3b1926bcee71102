// SPDX-License-Identifier: Apache-2.0
#include "net/client/endpoint.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl::client {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;

TEST(Endpoint, NamesTheOptionThatIsOutOfRange) {
  EXPECT_EQ(problem_of({}, "orders"), "");
  EXPECT_EQ(problem_of({}, ""), "queue: 0 bytes; 1 to 80 bytes");
  EXPECT_EQ(problem_of({}, std::string(81, 'q')), "queue: 81 bytes; 1 to 80 bytes");
  EXPECT_EQ(problem_of({.backoff_min = 0ms}, "q"), "backoff_min: 0 ms; 1 ms to backoff_max");
  EXPECT_EQ(problem_of({.backoff_min = 2ms, .backoff_max = 1ms}, "q"),
            "backoff_min: 2 ms; 1 ms to backoff_max");
  EXPECT_EQ(problem_of({.backoff_max = 2h}, "q"), "backoff_max: 7200000 ms; at most 3600000 ms");
  Endpoint hasty;
  hasty.connection.request_timeout = 0ms;
  EXPECT_EQ(problem_of(hasty, "q"), "request_timeout: 0 ms; at least 1 ms");
}

}  // namespace
}  // namespace pawl::client

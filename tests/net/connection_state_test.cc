// SPDX-License-Identifier: Apache-2.0
#include "net/connection/connection_state.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace pawl {
namespace {

TEST(ConnectionState, OnlyTheDrawnChangesAreAllowed) {
  using enum ConnectionState;
  constexpr std::array states{open, leaving, finishing, half_closed, closing};
  // A row for each state before, a column for each state after.
  constexpr std::array<const char*, 5> allowed{
      ".xx.x",  // open
      "....x",  // leaving
      "...xx",  // finishing
      "....x",  // half_closed
      ".....",  // closing
  };
  for (std::size_t before = 0; before < states.size(); ++before) {
    std::string row;
    for (const ConnectionState after : states) row += may_become(states[before], after) ? 'x' : '.';
    EXPECT_EQ(row, allowed[before]) << "from state " << before;
  }
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/features.h"

#include <fmt/core.h>

namespace pawl::sim {

std::string FeaturePairs::describe() const {
  std::size_t seen = 0, all = 0;
  std::string missing;
  for (std::size_t a = 0; a < features; ++a) {
    for (std::size_t b = a + 1; b < features; ++b) {
      if (!possible(a, b)) continue;
      ++all;
      const bool met = (with_[a] >> b & 1) != 0;
      seen += met ? 1 : 0;
      if (!met)
        missing += fmt::format("{}{} x {}", missing.empty() ? "; missing: " : ", ",
                               feature_names[a], feature_names[b]);
    }
  }
  return fmt::format("{} of {}{}", seen, all, missing);
}

}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// The values that were given for settings of `pawl serve`, with their places. The first source that
// sets one wins:
//
//   --flag  >  PAWL_SECTION_KEY  >  [section] key in the TOML file  >  default
//
// Owner:  values.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pawl {

struct GivenValue {
  std::string text;
  std::string location;  // --flag, PAWL_SECTION_KEY or FILE:LINE:COLUMN
};
using GivenValues = std::map<std::string, GivenValue, std::less<>>;  // by flag

// Errors of a configuration: each names its place, the value, the allowed values and the remedy.
using Faults = std::vector<std::string>;

}  // namespace pawl

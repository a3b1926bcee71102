// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/input_file.h"

#include <fmt/core.h>

#include <fstream>
#include <iostream>
#include <iterator>

#include "core/base/check.h"
#include "tools/command_line.h"

namespace pawl {

std::optional<std::string> content_of(const std::string& path) {
  CHECK(!path.empty(), "a file without a name");
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    fail_with(exit_failure,
              fmt::format("cannot read {}. Name a file, or - for the standard input.", path));
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace pawl

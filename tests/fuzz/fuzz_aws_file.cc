// SPDX-License-Identifier: Apache-2.0
// Files of the AWS command line, with any bytes: an error names the file and a line, and every
// setting has a name and a line of the text.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "net/sqs_client/aws_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = pawl::sqs_client::parse_aws_file(text, "config");
  if (!file) {
    CHECK(file.error().starts_with("config:"), "{}", file.error());
    return 0;
  }
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  for (const auto& [name, section] : file->sections) {
    CHECK(!name.empty(), "a section without a name");
    for (const auto& [key, setting] : section) {
      CHECK(!key.empty(), "a setting without a name in {}", name);
      CHECK(setting.line >= 1 && setting.line <= lines, "line {} of {}", setting.line, lines);
    }
  }
  return 0;
}

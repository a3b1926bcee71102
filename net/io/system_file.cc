// SPDX-License-Identifier: Apache-2.0
#include "net/io/system_file.h"

#include <charconv>
#include <fstream>
#include <sstream>

namespace pawl {

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::string result = text.str();
  while (!result.empty() && result.back() == '\n') result.pop_back();
  return result;
}

std::string line_after(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t value = line.find_first_not_of(" \t", key.size());
    return value == line.npos ? "" : line.substr(value);
  }
  return {};
}

int number_in(std::string_view text, int otherwise) {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace pawl

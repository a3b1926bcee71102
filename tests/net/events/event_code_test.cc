// SPDX-License-Identifier: Apache-2.0
#include "net/events/event_code.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace pawl {
namespace {

std::string text_of_file(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// All sources that may emit an event.
std::string emitting_sources() {
  std::string all;
  for (const char* folder : {"net", "tools"}) {
    const std::filesystem::path path = std::string(PAWL_SOURCES "/") + folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      const bool of_the_log = entry.path().parent_path().filename() == "events";
      if (entry.path().extension() == ".cc" && !of_the_log) all += text_of_file(entry.path());
    }
  }
  return all;
}

TEST(EventCode, IsEmittedSomewhere) {
  const std::string sources = emitting_sources();
  for (std::size_t i = 0; i < event_codes; ++i) {
    const std::string name = fmt::format("EventCode::{}", name_of(static_cast<EventCode>(i)));
    const std::size_t at = sources.find(name);
    ASSERT_NE(at, std::string::npos) << name;
  }
}

// The tests that may see an event; those of the log emit codes at random.
std::string observing_tests() {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PAWL_SOURCES "/tests")) {
    const std::string name = entry.path().filename().string();
    const bool is_test = name.ends_with("_test.cc") || name.ends_with("_test.py");
    if (is_test && entry.path().parent_path().filename() != "events")
      all += text_of_file(entry.path());
  }
  return all;
}

// A test of the real server has the code in quotes, a unit test has the enumerator.
TEST(EventCode, IsSeenByATest) {
  const std::string tests = observing_tests();
  for (std::size_t i = 0; i < event_codes; ++i) {
    const std::string_view name = name_of(static_cast<EventCode>(i));
    EXPECT_TRUE(tests.contains(fmt::format("\"{}\"", name)) ||
                tests.contains(fmt::format("EventCode::{}", name)))
        << name;
  }
}

TEST(EventCode, HasARowInTheDocumentAndNoRowIsLeftOver) {
  const std::string codes = text_of_file(PAWL_SOURCES "/net/events/CODES.md");
  std::size_t rows = 0;
  for (std::size_t at = codes.find("\n| `"); at != std::string::npos;
       at = codes.find("\n| `", at + 1)) {
    const std::string line = codes.substr(at + 1, codes.find('\n', at + 1) - at - 1);
    if (line.contains("` | error |") || line.contains("` | warning |") ||
        line.contains("` | info |"))
      ++rows;
  }
  EXPECT_EQ(rows, event_codes);
  for (std::size_t i = 0; i < event_codes; ++i) {
    const EventRow& row = row_of(static_cast<EventCode>(i));
    const std::string line =
        fmt::format("\n| `{}` | {} | {} | {} | {} | {} |\n", name_of(row.code), name_of(row.level),
                    row.message, row.lines_a_minute, row.when, row.remedy);
    EXPECT_TRUE(codes.contains(line)) << line;
  }
}

TEST(EventCode, HasANameAndAMessageOfItsOwn) {
  std::set<std::string_view> names, messages;
  for (std::size_t i = 0; i < event_codes; ++i) {
    const EventRow& row = row_of(static_cast<EventCode>(i));
    names.insert(name_of(row.code));
    EXPECT_EQ(event_code_of(name_of(row.code)), row.code);
    messages.insert(row.message);
    EXPECT_EQ(name_of(row.code).find_first_not_of("abcdefghijklmnopqrstuvwxyz_"),
              std::string::npos);
    EXPECT_FALSE(row.message.ends_with('.')) << "a phrase that other words may follow";
  }
  EXPECT_EQ(names.size(), event_codes);
  EXPECT_EQ(messages.size(), event_codes);
  EXPECT_FALSE(messages.contains(""));
  EXPECT_EQ(event_code_of("no_such_code"), std::nullopt);
}

}  // namespace
}  // namespace pawl

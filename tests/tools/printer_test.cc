// SPDX-License-Identifier: Apache-2.0
#include "tools/printer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace pawl {
namespace {

using Rows = std::vector<Printer::Row>;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string printed(OutputFormat format, const Rows& rows,
                    const std::vector<std::string>& columns = {"number", "moved_to", "text"}) {
  const File file(std::tmpfile());
  Printer printer(file.get(), format, columns);
  for (const Printer::Row& row : rows) printer.add(row);
  EXPECT_EQ(printer.end(), exit_ok);
  std::string text(4096, '\0');
  std::rewind(file.get());
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

Rows two_rows() {
  return {
      {.cells = {{"number", std::uint64_t{7}}, {"moved_to", "a"}, {"text", ""}, {"more", true}}},
      {.cells = {{"number", std::uint64_t{1234567}}, {"moved_to", "orders", "the orders"}},
       .note = "-> do it"}
  };
}

TEST(Printer, AlignsNumbersAtTheRightAndLeavesEmptyColumnsOut) {
  EXPECT_EQ(printed(OutputFormat::table, two_rows()),
            " NUMBER  MOVED TO\n"
            "      7  a\n"
            "1234567  the orders\n"
            "  -> do it\n");
}

TEST(Printer, PrintsAllCellsAsAnArrayOfObjectsOrOneALine) {
  EXPECT_EQ(
      printed(OutputFormat::json, two_rows()),
      R"([{"number":7,"moved_to":"a","text":"","more":true},{"number":1234567,"moved_to":"orders"}])"
      "\n");
  EXPECT_EQ(printed(OutputFormat::jsonl, two_rows()),
            R"({"number":7,"moved_to":"a","text":"","more":true})"
            "\n"
            R"({"number":1234567,"moved_to":"orders"})"
            "\n");
}

TEST(Printer, RoundsDecimalNumbers) {
  const Rows rows = {{.cells = {{"a", 1.23456}, {"b", 2.0, "2s"}}}, {.cells = {{"a", 100.0}}}};
  EXPECT_EQ(printed(OutputFormat::table, rows, {"a", "b"}),
            "    A   B\n"
            "  1.2  2s\n"
            "100.0\n");
  EXPECT_EQ(printed(OutputFormat::jsonl, rows), "{\"a\":1.235,\"b\":2}\n{\"a\":100}\n");
}

TEST(Printer, PrintsNothingButAnEmptyArrayWithoutRows) {
  EXPECT_EQ(printed(OutputFormat::table, {}), "");
  EXPECT_EQ(printed(OutputFormat::json, {}), "[]\n");
  EXPECT_EQ(printed(OutputFormat::jsonl, {}), "");
}

TEST(Printer, KeepsControlCharactersFromTheTerminalAndCountsCodePoints) {
  const Rows rows = {{.cells = {{"a", "\x1b[2J\xc2\x9b!\n\x7f."}, {"b", std::int64_t{-1}}}},
                     {.cells = {{"a", "\xc3\xa4\xe2\x82\xac"}, {"b", std::int64_t{10}}}}};
  EXPECT_EQ(printed(OutputFormat::table, rows, {"a", "b"}),
            "A           B\n"
            " [2J !  .  -1\n"
            "\xc3\xa4\xe2\x82\xac         10\n");
  EXPECT_EQ(printed(OutputFormat::jsonl, {{.cells = {{"a", "x\ny"}}}}, {"a"}),
            "{\"a\":\"x\\ny\"}\n");
}

TEST(Printer, FailsWhenTheOutputCannotBeWritten) {
  for (const OutputFormat format : {OutputFormat::table, OutputFormat::json, OutputFormat::jsonl}) {
    const File full(std::fopen("/dev/full", "w"));
    ASSERT_NE(full, nullptr);
    Printer printer(full.get(), format, {"number"});
    printer.add({.cells = {{"number", std::uint64_t{1}}}});
    EXPECT_EQ(printer.end(), exit_failure);
  }
}

TEST(OutputOptions, NameTheFormatAndJsonIsAShortName) {
  EXPECT_EQ(OutputOptions{}.format(), OutputFormat::table);
  EXPECT_EQ((OutputOptions{.name = "jsonl"}).format(), OutputFormat::jsonl);
  EXPECT_EQ((OutputOptions{.json = true}).format(), OutputFormat::json);
}

}  // namespace
}  // namespace pawl

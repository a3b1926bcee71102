// SPDX-License-Identifier: Apache-2.0
#include "tools/printer.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
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

// The lines of a table on a terminal with this many columns.
std::vector<std::string> lines_on_terminal(unsigned short columns, const Rows& rows) {
  int master = -1;
  int slave = -1;
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  EXPECT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  File file(fdopen(slave, "w"));
  Printer printer(file.get(), OutputFormat::table, {"name", "count", "long_text"});
  printer.fit_terminal();
  for (const Printer::Row& row : rows) printer.add(row);
  EXPECT_EQ(printer.end(), exit_ok);
  file.reset();
  // The kernel carries the text to the master in pieces; when all was read, a read fails (EIO).
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t size_read = 0; (size_read = read(master, piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(size_read));
  close(master);
  std::vector<std::string> lines(1);
  for (const char c : text)
    if (c == '\n')
      lines.emplace_back();
    else if (c != '\r')
      lines.back() += c;
  return lines;
}

TEST(Printer, FitsATerminalAndKeepsNumbers) {
  const Rows rows = {
      {.cells = {{"name", std::string(30, 'n')},
                 {"count", std::uint64_t{1234567}},
                 {"long_text", std::string("\u00fc\u00fc") + std::string(50, 'x')}},
       .note = std::string(100, '-')}
  };
  const std::vector<std::string> lines = lines_on_terminal(40, rows);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "NAME              COUNT  LONG TEXT");
  EXPECT_EQ(lines[1], "nnnnnnnnnnn...  1234567  \u00fc\u00fcxxxxxxxxxx...");
  EXPECT_EQ(lines[2], "  " + std::string(35, '-') + "...");
  const std::vector<std::string> tiny = lines_on_terminal(3, rows);
  EXPECT_EQ(tiny[0], "NAM");
  const std::vector<std::string> wide = lines_on_terminal(200, rows);
  EXPECT_TRUE(wide[1].ends_with(std::string(50, 'x'))) << wide[1];
}

}  // namespace
}  // namespace pawl

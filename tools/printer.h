// SPDX-License-Identifier: Apache-2.0
// Printer: the rows of a verb's output, in the format that -o names.
//
//   table  columns under a header, for people; columns that are empty in all rows are left out
//   json   one array of objects
//   jsonl  one object a line, written at once
//
//   Printer printer(stdout, output.format(), {"number", "status"});
//   printer.add({{{"number", task.number}, {"status", "running"}, {"sent", task.sent}}});
//   return printer.end();
//
// JSON has all cells of a row in their order. A table has those that the constructor names. There
// control characters are printed as spaces: the contents of messages cannot steer a terminal.
//
// Units:  widths are code points; a double has three digits behind the point in JSON, one in a
//         table.
// Errors: end() returns exit_failure if not everything could be written, after an error text on
//         stderr; otherwise exit_ok.
// Owner:  the caller owns the file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/command_line.h"

namespace pawl {

enum class OutputFormat : std::uint8_t { table, json, jsonl };

// The flags of a verb.
struct OutputOptions {
  std::string name = "table";
  bool json = false;

  OutputFormat format() const;  // after the parse
};

// Adds `-o, --output table|json|jsonl` to the verb, and `--json` for `-o json`. `members`: the names in each
// object, for the help text.
void add_output(Verb verb, OutputOptions& options, const std::string& members);

class Printer {
 public:
  struct Cell {
    std::string name;
    std::variant<std::string, std::uint64_t, std::int64_t, bool, double> value;
    std::optional<std::string> text = {};  // in a table, instead of the value
  };
  struct Row {
    std::vector<Cell> cells;
    std::string note = {};  // a line below the row in a table
  };

  Printer(std::FILE* out, OutputFormat format, std::vector<std::string> columns);

  // Cuts a table to the width of the terminal, if the file is one: wide columns of text first, then
  // the ends of the lines.
  void fit_terminal();
  void add(const Row& row);
  int end();

 private:
  struct Column {
    std::string name;
    std::vector<std::string> texts;  // of all rows
    std::size_t width = 0;
    bool numbers = true;  // in each row that has the cell; aligned at the right
  };

  void write(std::string_view text);
  void flush();
  void add_texts(const Row& row);
  void shorten(std::size_t width);
  void write_line(std::string line);
  void write_table();

  std::FILE* out_;
  OutputFormat format_;
  std::vector<Column> columns_;     // of a table
  std::vector<std::string> notes_;  // of its rows
  std::size_t width_ = SIZE_MAX;    // of its lines
  std::size_t added_ = 0;
  int error_ = 0;  // errno of the first write that failed
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tools/printer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "proto/text/json.h"

namespace pawl {
namespace {

using NamedFormat = std::pair<std::string_view, OutputFormat>;
constexpr NamedFormat output_formats[] = {
    {"table", OutputFormat::table},
    {"json",  OutputFormat::json },
    {"jsonl", OutputFormat::jsonl},
};

const NamedFormat* find_format(std::string_view name) {
  return std::ranges::find(output_formats, name, &NamedFormat::first);
}

// Joins lines, and replaces the characters that steer a terminal: C0, DEL and, in UTF-8, C1.
std::string printable(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xC2 && i + 1 < text.size() &&
                    static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                    static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) text.erase(i, 1);
    if (c1 || c < 0x20 || c == 0x7F) text[i] = ' ';
  }
  return text;
}

std::string text_of(const Printer::Cell& cell) {
  if (cell.text) return printable(*cell.text);
  if (const auto* text = std::get_if<std::string>(&cell.value)) return printable(*text);
  if (const auto* truth = std::get_if<bool>(&cell.value)) return *truth ? "yes" : "no";
  if (const auto* number = std::get_if<std::uint64_t>(&cell.value))
    return fmt::format("{}", *number);
  if (const auto* number = std::get_if<double>(&cell.value)) return fmt::format("{:.1f}", *number);
  return fmt::format("{}", std::get<std::int64_t>(cell.value));
}

bool is_number(const Printer::Cell& cell) {
  return std::holds_alternative<std::uint64_t>(cell.value) ||
         std::holds_alternative<std::int64_t>(cell.value) ||
         std::holds_alternative<double>(cell.value);
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

const Printer::Cell* find_cell(const Printer::Row& row, std::string_view name) {
  const auto found = std::ranges::find(row.cells, name, &Printer::Cell::name);
  return found == row.cells.end() ? nullptr : &*found;
}

// A JSON number.
std::string decimal_text(double number) {
  CHECK(std::isfinite(number), "{} is no number of JSON", number);
  return fmt::format("{}", std::round(number * 1000) / 1000);
}

std::string json_of(const Printer::Row& row) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  for (const Printer::Cell& cell : row.cells) {
    if (const auto* number = std::get_if<double>(&cell.value)) {
      json.key(cell.name);
      text += decimal_text(*number);
      continue;
    }
    std::visit(
        [&]<typename Value>(const Value& value) {
          if constexpr (!std::is_same_v<Value, double>) json.member(cell.name, value);
        },
        cell.value);
  }
  json.end_object();
  return text;
}

struct Column {
  std::string header;
  std::vector<std::string> texts;  // of all rows
  std::size_t width = 0;
  bool numbers = true;  // in each row that has the cell; aligned at the right
};

Column column_of(const std::vector<Printer::Row>& rows, const std::string& name) {
  Column column;
  bool empty = true;
  for (const Printer::Row& row : rows) {
    const Printer::Cell* const cell = find_cell(row, name);
    column.texts.push_back(cell == nullptr ? "" : text_of(*cell));
    column.numbers = column.numbers && (cell == nullptr || is_number(*cell));
    column.width = std::max(column.width, width_of(column.texts.back()));
    empty = empty && column.texts.back().empty();
  }
  if (empty) return {};
  for (const char c : name)
    column.header +=
        c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  column.width = std::max(column.width, column.header.size());
  return column;
}

void append_aligned(std::string& line, const Column& column, const std::string& text) {
  CHECK(width_of(text) <= column.width, "{} in a column of {}", width_of(text), column.width);
  const std::string spaces(column.width - width_of(text), ' ');
  line += column.numbers ? spaces + text : text + spaces;
  line += "  ";
}

std::string without_end_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

OutputFormat OutputOptions::format() const {
  if (json) return OutputFormat::json;
  const auto* const found = find_format(name);
  CHECK(found != std::end(output_formats), "the parse accepted {}", name);
  return found->second;
}

void add_output(Verb verb, OutputOptions& options, const std::string& members) {
  const Option output =
      verb.option("-o,--output", options.name,
                  "A table, one array of objects, or an object a line. An object has " + members)
          .value_name("table|json|jsonl")
          .check([](const std::string& text) -> std::string {
            if (find_format(text) != std::end(output_formats)) return {};
            return fmt::format("\"{}\" is no format of output: write table, json or jsonl.", text);
          })
          .show_default();
  verb.flag("--json", options.json, "The same as -o json").excludes(output);
}

Printer::Printer(std::FILE* out, OutputFormat format, std::vector<std::string> columns)
    : out_(out), format_(format), columns_(std::move(columns)) {}

void Printer::add(Row row) {
  if (format_ == OutputFormat::table) {
    rows_.push_back(std::move(row));
  } else if (format_ == OutputFormat::json) {
    write((added_ == 0 ? "[" : ",") + json_of(row));
  } else {
    write(json_of(row) + '\n');
    flush();
  }
  ++added_;
}

int Printer::end() {
  if (format_ == OutputFormat::table) write_table();
  if (format_ == OutputFormat::json) write(added_ == 0 ? "[]\n" : "]\n");
  flush();
  if (error_ == 0) return exit_ok;
  fmt::print(stderr, "error: cannot write the output: {}\n", std::strerror(error_));
  return exit_failure;
}

void Printer::write(std::string_view text) {
  if (error_ == 0 && std::fwrite(text.data(), 1, text.size(), out_) != text.size()) error_ = errno;
}

void Printer::flush() {
  if (error_ == 0 && std::fflush(out_) != 0) error_ = errno;
}

void Printer::write_table() {
  if (rows_.empty()) return;
  std::vector<Column> columns;
  for (const std::string& name : columns_) {
    if (Column column = column_of(rows_, name); !column.header.empty())
      columns.push_back(std::move(column));
  }
  std::string line;
  for (const Column& column : columns) append_aligned(line, column, column.header);
  write(without_end_spaces(std::move(line)) + '\n');
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    line.clear();
    for (const Column& column : columns) {
      CHECK(column.texts.size() == rows_.size(), "{} texts of {} rows", column.texts.size(),
            rows_.size());
      append_aligned(line, column, column.texts[i]);
    }
    write(without_end_spaces(std::move(line)) + '\n');
    if (!rows_[i].note.empty()) write("  " + printable(rows_[i].note) + '\n');
  }
}

}  // namespace pawl

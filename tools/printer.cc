// SPDX-License-Identifier: Apache-2.0
#include "tools/printer.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

std::string header_of(const std::string& name) {
  std::string header;
  for (const char c : name)
    header += c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return header;
}

// The first `width` code points; a longer text ends with dots.
std::string cut(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  const std::string_view dots = width > 3 ? "..." : "";
  CHECK(width >= dots.size(), "dots in {} characters", width);
  std::size_t left = width - dots.size();
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) continue;
    if (left-- == 0) break;
  }
  return text.substr(0, end).append(dots);
}

std::string aligned(const std::string& text, std::size_t width, bool right) {
  CHECK(width_of(text) <= width, "{} in a column of {}", width_of(text), width);
  const std::string spaces(width - width_of(text), ' ');
  return (right ? spaces + text : text + spaces) + "  ";
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
    : out_(out), format_(format) {
  for (std::string& name : columns)
    columns_.push_back({.name = std::move(name), .texts = {}, .width = 0, .numbers = true});
}

void Printer::fit_terminal() {
  winsize size{};
  const int file = fileno(out_);
  const bool terminal = isatty(file) == 1 && ioctl(file, TIOCGWINSZ, &size) == 0;
  if (terminal && size.ws_col > 0) width_ = size.ws_col;
}

void Printer::add(const Row& row) {
  if (format_ == OutputFormat::table) {
    add_texts(row);
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

void Printer::add_texts(const Row& row) {
  for (Column& column : columns_) {
    const Cell* const cell = find_cell(row, column.name);
    column.texts.push_back(cell == nullptr ? "" : text_of(*cell));
    column.numbers = column.numbers && (cell == nullptr || is_number(*cell));
    column.width = std::max(column.width, width_of(column.texts.back()));
  }
  notes_.push_back(row.note);
  CHECK(notes_.size() == added_ + 1, "{} rows, {} notes", added_, notes_.size());
}

// Makes the widest columns of text narrower until a line has `width` characters.
void Printer::shorten(std::size_t width) {
  constexpr std::size_t gap = 2, least = 8;
  std::size_t used = 0;
  for (const Column& column : columns_) used += column.width + gap;
  while (used > width + gap) {
    Column* widest = nullptr;
    for (Column& column : columns_) {
      const bool wide = !column.numbers && column.width > std::max(least, column.name.size());
      if (wide && (widest == nullptr || column.width > widest->width)) widest = &column;
    }
    if (widest == nullptr) break;
    CHECK(used > widest->width, "{} of {} characters", widest->width, used);
    --widest->width;
    --used;
  }
  for (Column& column : columns_)
    for (std::string& text : column.texts) text = cut(text, column.width);
}

void Printer::write_line(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  write(cut(line, width_) + '\n');
}

void Printer::write_table() {
  if (notes_.empty()) return;
  std::erase_if(columns_, [](const Column& column) { return column.width == 0; });
  for (Column& column : columns_) column.width = std::max(column.width, column.name.size());
  if (width_ != SIZE_MAX) shorten(width_);
  std::string line;
  for (const Column& column : columns_)
    line += aligned(header_of(column.name), column.width, column.numbers);
  write_line(line);
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    line.clear();
    for (const Column& column : columns_) {
      CHECK(column.texts.size() == notes_.size(), "{} texts of {} rows", column.texts.size(),
            notes_.size());
      line += aligned(column.texts[i], column.width, column.numbers);
    }
    write_line(line);
    if (!notes_[i].empty()) write_line("  " + printable(notes_[i]));
  }
}

}  // namespace pawl

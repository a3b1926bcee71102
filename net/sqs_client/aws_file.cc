// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/aws_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/base/check.h"
#include "core/base/format.h"

namespace pawl::sqs_client {
namespace {

constexpr std::string_view blanks = " \t\r\f\v";

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// A comment begins with # or ; at the start of a line, or behind a blank.
std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool begins = i == 0 || blanks.find(line[i - 1]) != blanks.npos;
    if (begins && (line[i] == '#' || line[i] == ';')) return line.substr(0, i);
  }
  return line;
}

// The name of a section with one blank between its words and without quotes.
std::string section_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (c == '"' || c == '\'') continue;
    const bool blank = blanks.find(c) != blanks.npos;
    if (blank && (name.empty() || name.ends_with(' '))) continue;
    name += blank ? ' ' : c;
  }
  if (name.ends_with(' ')) name.pop_back();
  return name;
}

class Parser {
 public:
  explicit Parser(const std::string& path) { file_.path = path; }

  // False: error() has the reason.
  bool take(std::string_view line) {
    ++line_;
    if (line.find('\0') != line.npos) return fail("the line has a zero byte");
    const bool indented = !line.empty() && blanks.find(line.front()) != blanks.npos;
    const std::string_view text = without_blanks(without_comment(line));
    if (text.empty()) return true;
    if (text.front() == '[' && !indented) return take_section(text);
    if (section_ == nullptr) return fail("the line stands before the first [section]");
    return indented && !outer_.empty() ? take_inner(text) : take_setting(text);
  }

  AwsFile&& file() { return std::move(file_); }
  const std::string& error() const { return error_; }

 private:
  bool fail(std::string_view reason) {
    error_ = format_text("{}:{}: {}.", file_.path, line_, reason);
    return false;
  }

  bool take_section(std::string_view text) {
    if (text.back() != ']') return fail("the name of a section ends with ]");
    const std::string name = section_name(text.substr(1, text.size() - 2));
    if (name.empty()) return fail("the section has no name. Write [default] or [profile NAME]");
    CHECK(name.find('\n') == name.npos, "line {} is two lines", line_);
    section_ = &file_.sections[name];
    outer_.clear();
    return true;
  }

  bool take_setting(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string name(without_blanks(text.substr(0, equals)));
    if (equals == text.npos || name.empty())
      return fail("the line is no setting. Write NAME = VALUE");
    CHECK(section_ != nullptr, "line {} has no section", line_);
    (*section_)[name] = {std::string(without_blanks(text.substr(equals + 1))), line_};
    outer_ = name;
    return true;
  }

  // A setting inside the one before it, or more of its value.
  bool take_inner(std::string_view text) {
    AwsSetting& outer = (*section_)[outer_];
    CHECK(outer.line > 0 && outer.line < line_, "line {} is inside line {}", line_, outer.line);
    const std::size_t equals = text.find('=');
    if (!outer.value.empty()) return true;
    const std::string name(without_blanks(text.substr(0, equals)));
    if (equals == text.npos || name.empty())
      return fail("the line is no setting. Write NAME = VALUE");
    (*section_)[outer_ + "." + name] = {std::string(without_blanks(text.substr(equals + 1))),
                                        line_};
    return true;
  }

  AwsFile file_;
  AwsSection* section_ = nullptr;  // of the present line; null: before the first
  std::string outer_;              // the last setting that is not indented
  std::size_t line_ = 0;
  std::string error_;
};

}  // namespace

const AwsSection* AwsFile::find(std::string_view section) const {
  CHECK(!section.empty(), "no section of {} has an empty name", path);
  const auto found = sections.find(section);
  return found == sections.end() ? nullptr : &found->second;
}

std::expected<AwsFile, std::string> parse_aws_file(std::string_view text, const std::string& path) {
  if (text.size() > aws_file_bytes_max)
    return std::unexpected(
        format_text("{}:1: the file has more than {} bytes.", path, aws_file_bytes_max));
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  Parser parser(path);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (!parser.take(text.substr(0, end))) return std::unexpected(parser.error());
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return parser.file();
}

std::expected<AwsFile, std::string> read_aws_file(const std::string& path) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "re"), close);
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return AwsFile{path, {}};
  std::string text(aws_file_bytes_max + 1, '\0');
  const std::size_t size = file ? std::fread(text.data(), 1, text.size(), file.get()) : 0;
  if (!file || std::ferror(file.get()) != 0)
    return std::unexpected(format_text("{} cannot be read: {}.", path, std::strerror(errno)));
  text.resize(size);
  return parse_aws_file(text, path);
}

}  // namespace pawl::sqs_client

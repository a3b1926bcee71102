// SPDX-License-Identifier: Apache-2.0
#include "net/admin/chosen_families.h"

#include <algorithm>

#include "core/base/check.h"
#include "net/admin/family_text.h"

namespace pawl {
namespace {

constexpr std::string_view help_mark = "# HELP ", type_mark = "# TYPE ";

// Cuts a line off, and returns it without its end.
std::string_view cut_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  CHECK(end != text.npos, "a line of the metrics does not end");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

struct FamilyPart {
  std::string_view name, type, help, samples, whole;
};

// Cuts the first family off.
FamilyPart cut_family(std::string_view& text) {
  CHECK(text.starts_with(help_mark), "a family begins with {}", text.substr(0, 40));
  FamilyPart part;
  const std::size_t next = text.find("\n# HELP ");
  part.whole = text.substr(0, next == text.npos ? next : next + 1);
  text.remove_prefix(part.whole.size());
  std::string_view rest = part.whole;
  std::string_view head = cut_line(rest).substr(help_mark.size());
  part.name = head.substr(0, head.find(' '));
  part.help = head.substr(part.name.size() + 1);
  head = cut_line(rest);
  CHECK(head.starts_with(type_mark), "the family {} has no type", part.name);
  part.type = head.substr(head.rfind(' ') + 1);
  part.samples = rest;
  return part;
}

// A bucket's end that is a whole number gets a fraction.
void append_buckets(std::string& text, std::string_view samples) {
  constexpr std::string_view mark = "le=\"";
  while (!samples.empty()) {
    const std::string_view line = cut_line(samples);
    const std::size_t begin = std::min(line.find(mark), line.size() - mark.size()) + mark.size();
    const std::size_t end = std::min(line.find('"', begin), line.size());
    const bool whole =
        end > begin && end < line.size() &&
        std::ranges::all_of(
            line.substr(begin, end - begin), [](char c) { return c >= '0' && c <= '9'; });
    text.append(line, 0, end).append(whole ? ".0" : "").append(line, end).append("\n");
  }
}

}  // namespace

void append_chosen(std::string& text, std::string_view families, const MetricsQuery& query) {
  const bool open = query.format == MetricsFormat::open_metrics;
  if (!open && query.families.empty()) {
    text += families;
    return;
  }
  while (!families.empty()) {
    const FamilyPart part = cut_family(families);
    if (!query.wants_family(part.name)) continue;
    if (!open) {
      text += part.whole;
      continue;
    }
    append_head(text, part.name, part.type, part.help, query.format);
    if (part.type == "histogram") {
      append_buckets(text, part.samples);
    } else {
      text += part.samples;
    }
  }
}

std::vector<std::string_view> family_names(std::string_view text) {
  std::vector<std::string_view> names;
  while (!text.empty()) names.push_back(cut_family(text).name);
  return names;
}

}  // namespace pawl

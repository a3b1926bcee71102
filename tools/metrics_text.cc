// SPDX-License-Identifier: Apache-2.0
#include "tools/metrics_text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>

#include "core/base/check.h"

namespace pawl {
namespace {

// Cuts the text up to `end` off; all of it without an `end`.
std::string_view cut_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + 1);
  return head;
}

// The place behind the quote that closes a value; a backslash escapes the next character.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

struct MetricLabel {
  std::string_view name, value;
};

std::optional<MetricLabel> next_label(std::string_view& labels) {
  const std::size_t quote = labels.find("=\"");
  if (quote == labels.npos) return std::nullopt;
  const std::size_t end = end_of_value(labels, quote + 2);
  CHECK(end > quote + 1, "a label ends at {} before {}", end, quote);
  const MetricLabel label{labels.substr(0, quote),
                          labels.substr(quote + 2, std::max(end, quote + 3) - quote - 3)};
  labels.remove_prefix(end);
  if (labels.starts_with(',')) labels.remove_prefix(1);
  return label;
}

std::optional<double> number_of_sample(std::string_view text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<MetricSample> sample_of(std::string_view line) {
  MetricSample sample;
  const std::size_t name_end = line.find_first_of("{ ");
  if (name_end == 0 || name_end == line.npos) return std::nullopt;
  sample.name = line.substr(0, name_end);
  line.remove_prefix(name_end);
  if (line.starts_with('{')) {
    std::size_t at = 1;
    while (at < line.size() && line[at] != '}')
      at = line[at] == '"' ? end_of_value(line, at + 1) : at + 1;
    if (at >= line.size()) return std::nullopt;
    sample.labels = line.substr(1, at - 1);
    line.remove_prefix(at + 1);
  }
  if (!line.starts_with(' ')) return std::nullopt;
  line.remove_prefix(1);
  const auto value = number_of_sample(cut_until(line, ' '));
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

MetricFamily& family_named(std::vector<MetricFamily>& families, std::string_view name) {
  if (families.empty() || families.back().name != name) families.push_back({.name = name});
  return families.back();
}

}  // namespace

std::string_view MetricSample::label(std::string_view label_name) const {
  std::string_view rest = labels;
  while (const auto found = next_label(rest))
    if (found->name == label_name) return found->value;
  return {};
}

std::string MetricFamily::label_names() const {
  std::string names;
  if (samples.empty()) return names;
  std::string_view rest = samples.front().labels;
  while (const auto label = next_label(rest))
    names.append(names.empty() ? "" : ", ").append(label->name);
  return names;
}

std::vector<MetricFamily> families_of(std::string_view text) {
  std::vector<MetricFamily> families;
  while (!text.empty()) {
    std::string_view line = cut_until(text, '\n');
    const bool is_help = line.starts_with("# HELP "), is_type = line.starts_with("# TYPE ");
    if (is_help || is_type) {
      line.remove_prefix(7);
      MetricFamily& family = family_named(families, cut_until(line, ' '));
      (is_help ? family.help : family.type) = line;
      continue;
    }
    if (line.starts_with('#')) continue;
    const auto sample = sample_of(line);
    if (!sample) continue;
    if (families.empty() || !sample->name.starts_with(families.back().name))
      family_named(families, sample->name);
    families.back().samples.push_back(*sample);
  }
  return families;
}

const MetricFamily* find_family(const std::vector<MetricFamily>& families, std::string_view name) {
  const auto found = std::ranges::find(families, name, &MetricFamily::name);
  return found == families.end() ? nullptr : &*found;
}

}  // namespace pawl

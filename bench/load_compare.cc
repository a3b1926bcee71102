// SPDX-License-Identifier: Apache-2.0
#include "bench/load_compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>
#include <utility>

#include "core/base/check.h"
#include "proto/text/json_dom.h"

namespace pawl {
namespace {

constexpr std::uint64_t seed = 20'261'125;  // fixed: the same files give the same output

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double resampled_mean(std::span<const double> values, std::mt19937_64& random) {
  std::uniform_int_distribution<std::size_t> pick(0, values.size() - 1);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[pick(random)];
  return sum / static_cast<double>(values.size());
}

// False: an entry has no such numbers.
bool read_samples(const JsonValue& result, std::string_view key, LoadSamples& samples) {
  const auto list = result.member(key);
  if (!list) return false;
  const std::pair<const char*, std::vector<double>*> figures[] = {
      {"messages_per_s", &samples.per_second},
      {"p50_us",         &samples.p50_us    },
      {"p99_us",         &samples.p99_us    },
  };
  for (const JsonValue entry : list->items()) {
    for (const auto& [name, values] : figures) {
      const auto member = entry.member(name);
      const auto number = member ? member->number() : std::nullopt;
      if (!number) return false;
      values->push_back(*number);
    }
  }
  return true;
}

std::string conditions_of(const JsonValue& result) {
  std::string text;
  for (const char* key : {"workload", "protocol", "connections", "depth", "batch", "body", "rate",
                          "spin", "threads"}) {
    const auto member = result.member(key);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key,
                        member ? member->compact() : "unknown");
  }
  return text;
}

std::expected<SavedResult, std::string> read_result(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::unexpected("cannot read " + path + "; name a file with a --json result");
  const auto size = static_cast<std::size_t>(file.tellg());
  if (size > result_bytes_max)
    return std::unexpected(
        fmt::format("{} has {} bytes; a result has at most {}", path, size, result_bytes_max));
  std::string text(size, '\0');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(size));
  auto result = parse_result(text);
  if (!result) return std::unexpected(path + ": " + result.error());
  return result;
}

struct Row {
  const char* name;
  std::vector<double> LoadSamples::* values;
  bool more_is_better;
};
constexpr Row rows[] = {
    {"messages/s", &LoadSamples::per_second, true },
    {"p50 us",     &LoadSamples::p50_us,     false},
    {"p99 us",     &LoadSamples::p99_us,     false},
};

std::string row_text(const Row& row, const LoadSamples& a, const LoadSamples& b) {
  const auto& of_a = a.*row.values;
  const auto& of_b = b.*row.values;
  if (mean_of(of_a) <= 0) return fmt::format("{:<10}  no value in A\n", row.name);
  const Ratio ratio = bootstrap_ratio(of_a, of_b, seed);
  const bool better = (ratio.value > 1) == row.more_is_better;
  return fmt::format(
      "{:<10}  A {:.0f}  B {:.0f}  B/A {:.3f} ({:.3f} to {:.3f})  {}\n", row.name, mean_of(of_a),
      mean_of(of_b), ratio.value, ratio.low, ratio.high,
      ratio.includes_one() ? "no difference" : (better ? "B is better" : "B is worse"));
}

}  // namespace

std::expected<SavedResult, std::string> parse_result(std::string_view json) {
  while (json.ends_with('\n')) json.remove_suffix(1);
  const std::size_t line = json.rfind('\n');
  if (line != json.npos) json.remove_prefix(line + 1);
  JsonDom dom;
  const auto result = dom.parse(json);
  SavedResult saved;
  if (!result || !result->is_object() || !read_samples(*result, "rounds", saved.rounds) ||
      !read_samples(*result, "seconds", saved.seconds))
    return std::unexpected("no result of `pawl bench --json`, or of an older version");
  saved.conditions = conditions_of(*result);
  if (const auto machine = result->member("machine")) saved.machine = machine->compact();
  return saved;
}

Ratio bootstrap_ratio(std::span<const double> a, std::span<const double> b,
                      std::uint64_t random_seed) {
  CHECK(!a.empty() && !b.empty(), "{} and {} samples", a.size(), b.size());
  std::mt19937_64 random(random_seed);
  std::vector<double> ratios;
  ratios.reserve(resamples_max);
  for (std::size_t i = 0; i < resamples_max; ++i) {
    const double base = resampled_mean(a, random);
    const double other = resampled_mean(b, random);
    if (base > 0) ratios.push_back(other / base);
  }
  CHECK(!ratios.empty(), "a mean of 0 has no ratio");
  std::ranges::sort(ratios);
  const auto at = [&](double fraction) {
    return ratios[static_cast<std::size_t>(fraction * static_cast<double>(ratios.size() - 1))];
  };
  return {mean_of(b) / mean_of(a), at((1 - confidence) / 2), at((1 + confidence) / 2)};
}

int compare_results(const std::string& path_a, const std::string& path_b, std::FILE* out,
                    std::FILE* err) {
  const auto a = read_result(path_a);
  const auto b = read_result(path_b);
  if (!a || !b) {
    fmt::print(err, "error: {}\n", (a ? b : a).error());
    return 1;
  }
  const auto enough = [&](LoadSamples SavedResult::* of) {
    return std::min((*a.*of).per_second.size(), (*b.*of).per_second.size()) >= samples_min;
  };
  const bool by_rounds = enough(&SavedResult::rounds);
  if (!by_rounds && !enough(&SavedResult::seconds)) {
    fmt::print(err,
               "error: too few samples; measure both with --rounds {0}, or for {0} seconds, at "
               "least\n",
               samples_min);
    return 1;
  }
  if (a->conditions != b->conditions)
    fmt::print(out, "different conditions:\n  A {}\n  B {}\n", a->conditions, b->conditions);
  if (a->machine != b->machine)
    fmt::print(out, "different machines or builds:\n  A {}\n  B {}\n", a->machine, b->machine);
  const LoadSamples& of_a = by_rounds ? a->rounds : a->seconds;
  const LoadSamples& of_b = by_rounds ? b->rounds : b->seconds;
  fmt::print(out, "{} and {} {}, 95 % intervals\n", of_a.per_second.size(), of_b.per_second.size(),
             by_rounds ? "rounds" : "seconds");
  for (const Row& row : rows) fmt::print(out, "{}", row_text(row, of_a, of_b));
  return 0;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "bench/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace pawl {
namespace {

TEST(Histogram, HoldsEveryValueToAThousandth) {
  for (std::uint64_t value = 1; value <= Histogram::value_max; value = value * 5 / 4 + 1) {
    Histogram h;
    h.record(value);
    h.record(Histogram::value_max);  // so that the maximum does not bound the quantile
    const double told = static_cast<double>(h.quantile(0.5));
    EXPECT_GE(told, static_cast<double>(value));
    EXPECT_LE(told, static_cast<double>(value) * 1.001) << value;
  }
}

TEST(Histogram, TellsSmallValuesExactly) {
  for (const std::uint64_t value : {0u, 1u, 2u, 1023u, 1024u, 2047u}) {
    Histogram h;
    h.record(value);
    EXPECT_EQ(h.quantile(0.5), value);
    EXPECT_EQ(h.max(), value);
  }
}

TEST(Histogram, AgreesWithSortingOnEveryQuantile) {
  std::mt19937_64 random(42);
  std::lognormal_distribution<double> latency(11, 1.5);
  Histogram h;
  std::vector<std::uint64_t> all;
  for (int i = 0; i < 50'000; ++i) {
    all.push_back(static_cast<std::uint64_t>(latency(random)));
    h.record(all.back());
  }
  std::ranges::sort(all);
  for (const double q : {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
    const auto rank = std::max<std::size_t>(
        1, static_cast<std::size_t>(std::ceil(q * static_cast<double>(all.size()))));
    const double want = static_cast<double>(all[rank - 1]);
    EXPECT_NEAR(static_cast<double>(h.quantile(q)), want, want / 1000 + 1) << q;
  }
  EXPECT_EQ(h.quantile(1), all.back()) << "the largest is exact";
}

TEST(Histogram, IsTheSameMergedAsRecordedTogether) {
  Histogram a, b, both;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    (i % 2 ? a : b).record(i * i);
    both.record(i * i);
  }
  a.merge(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.max(), both.max());
  EXPECT_DOUBLE_EQ(a.mean(), both.mean());
  for (int percent = 0; percent <= 100; ++percent)
    EXPECT_EQ(a.quantile(percent / 100.0), both.quantile(percent / 100.0));
  a.clear();
  EXPECT_EQ(a.count(), 0u);
  EXPECT_EQ(a.quantile(0.5), 0u);
  EXPECT_EQ(a.max(), 0u);
}

TEST(Histogram, CountsWhatIsBeyondItsRangeAsTheLongest) {
  Histogram h;
  h.record(UINT64_MAX);
  h.record(1);
  EXPECT_EQ(h.count(), 2u);
  EXPECT_EQ(h.quantile(0.99), Histogram::value_max);
  EXPECT_EQ(h.max(), UINT64_MAX);
}

TEST(Histogram, WritesTheTextThatHdrHistogramToolsRead) {
  Histogram h;
  for (std::uint64_t i = 1; i <= 4; ++i) h.record(i * 500);  // ns
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  h.write_hgrm(file);
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  EXPECT_TRUE(
      text.starts_with("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
                       "       0.500 0.000000000000          1           1.00\n"))
      << text;
  EXPECT_NE(text.find("       1.000 0.500000000000          2           2.00\n"), text.npos)
      << text;
  EXPECT_NE(text.find("       2.000 1.000000000000          4\n"), text.npos) << text;
  EXPECT_NE(text.find("#[Mean    =        1.250, StdDeviation   =        0.559]\n"), text.npos)
      << text;
  EXPECT_NE(text.find("#[Max     =        2.000, Total count    =            4]\n"), text.npos)
      << text;
}

}  // namespace
}  // namespace pawl

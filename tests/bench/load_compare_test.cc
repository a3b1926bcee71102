// SPDX-License-Identifier: Apache-2.0
#include "bench/load_compare.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace pawl {
namespace {

std::string result_of(const std::vector<double>& rates, const char* key = "rounds",
                      int connections = 4) {
  std::string list;
  for (const double rate : rates)
    list += fmt::format("{}{{\"messages_per_s\":{},\"p50_us\":{},\"p99_us\":900.0}}",
                        list.empty() ? "" : ",", rate, 1e6 / rate);
  const bool rounds = std::string_view(key) == "rounds";
  return fmt::format(
      "{{\"workload\":\"send\",\"connections\":{},\"rounds\":[{}],\"seconds\":[{}]}}\n",
      connections, rounds ? list : "", rounds ? "" : list);
}

class LoadCompare : public testing::Test {
 protected:
  int compare(const std::string& a, const std::string& b) {
    // Tests run at the same time in processes of their own.
    const std::string path = testing::TempDir() + "pawl_compare_" + std::to_string(::getpid());
    const std::string path_a = path + "_a.json", path_b = path + "_b.json";
    std::ofstream(path_a) << a;
    std::ofstream(path_b) << b;
    std::FILE* out = std::tmpfile();
    std::FILE* err = std::tmpfile();
    const int code = compare_results(path_a, path_b, out, err);
    text_ = text_of(out) + text_of(err);
    std::remove(path_a.c_str());
    std::remove(path_b.c_str());
    return code;
  }
  static std::string text_of(std::FILE* file) {
    std::rewind(file);
    std::string text(1 << 14, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
  }

  std::string text_;
};

TEST_F(LoadCompare, FindsADifferenceBeyondTheNoise) {
  EXPECT_EQ(compare(result_of({100, 101, 99, 100, 102}), result_of({120, 121, 119, 122, 118})), 0);
  EXPECT_NE(text_.find("B/A 1.195"), text_.npos) << text_;
  EXPECT_NE(text_.find("B is better"), text_.npos) << "more messages: " << text_;
  EXPECT_EQ(text_.find("B is worse"), text_.npos) << "shorter latencies: " << text_;
  EXPECT_NE(text_.find("no difference"), text_.npos) << "p99 is the same: " << text_;
  EXPECT_EQ(compare(result_of({120, 121, 119, 122, 118}), result_of({100, 101, 99, 100, 102})), 0);
  EXPECT_NE(text_.find("B is worse"), text_.npos) << text_;
  EXPECT_EQ(text_.find("B is better"), text_.npos) << text_;
}

TEST_F(LoadCompare, FindsNoDifferenceWithinTheNoise) {
  EXPECT_EQ(compare(result_of({100, 140, 80, 120, 90}), result_of({130, 85, 95, 125, 100})), 0);
  EXPECT_EQ(text_.find("B is"), text_.npos) << text_;
}

TEST_F(LoadCompare, TakesSecondsWhereRoundsAreTooFew) {
  EXPECT_EQ(compare(result_of({1, 2, 3, 4, 5}, "seconds"), result_of({1, 2, 3, 4, 5}, "seconds")),
            0);
  EXPECT_NE(text_.find("5 and 5 seconds"), text_.npos) << text_;
  EXPECT_EQ(compare(result_of({1, 2, 3, 4}), result_of({1, 2, 3, 4, 5})), 1);
  EXPECT_NE(text_.find("too few samples"), text_.npos) << text_;
}

TEST_F(LoadCompare, NamesDifferentConditions) {
  const std::vector<double> rates = {1, 2, 3, 4, 5};
  EXPECT_EQ(compare(result_of(rates), result_of(rates, "rounds", 8)), 0);
  EXPECT_NE(text_.find("different conditions"), text_.npos) << text_;
  EXPECT_NE(text_.find("connections 8"), text_.npos) << text_;
}

TEST_F(LoadCompare, RefusesFilesThatAreNoResults) {
  const std::string good = result_of({1, 2, 3, 4, 5});
  for (const char* bad : {"", "x", "[]", "{}", "{\"rounds\":[{}],\"seconds\":[]}"}) {
    EXPECT_EQ(compare(good, bad), 1) << bad;
    EXPECT_NE(text_.find("_b.json: no result"), text_.npos) << text_;
  }
  EXPECT_EQ(compare_results("/no/such", "/no/such", stdout, stderr), 1);
}

TEST(BootstrapRatio, CoversTheTrueRatioAboutAsOftenAsItSays) {
  // Samples around 100 and 110, spread by a small generator of its own.
  std::uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 33) / static_cast<double>(1u << 31);
  };
  int covered = 0;
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    std::vector<double> a, b;
    for (int k = 0; k < 20; ++k) a.push_back(90 + 20 * next());
    for (int k = 0; k < 20; ++k) b.push_back(99 + 22 * next());
    const Ratio ratio = bootstrap_ratio(a, b, static_cast<std::uint64_t>(i));
    EXPECT_LE(ratio.low, ratio.value);
    EXPECT_GE(ratio.high, ratio.value);
    covered += ratio.low <= 1.1 && 1.1 <= ratio.high;
  }
  EXPECT_GE(covered, 85);
  EXPECT_LT(covered, tries) << "intervals that always cover are too wide";
}

}  // namespace
}  // namespace pawl

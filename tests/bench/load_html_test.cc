// SPDX-License-Identifier: Apache-2.0
#include "bench/load_html.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using load::LoadResult;
using load::result_html;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

LoadResult some_result() {
  LoadResult result;
  result.rounds.resize(2);
  for (load::LoadRound& round : result.rounds) {
    for (std::uint64_t i = 1; i <= 1000; ++i) round.latency.record(i * 1000);
    round.messages = 1000;
    round.seconds = 1;
    result.total.latency.merge(round.latency);
  }
  result.total.messages = 2000;
  result.total.seconds = 2;
  result.seconds = {
      {.messages = 900,  .errors = 0, .p50_us = 500, .p99_us = 990, .max_us = 1000},
      {.messages = 1100, .errors = 0, .p50_us = 510, .p99_us = 991, .max_us = 1000},
  };
  return result;
}

TEST(LoadHtml, ShowsFiguresRoundsAndPlotsWithoutOtherFiles) {
  const std::string html = result_html({.build = "1.2.3"}, some_result(), {.cpu = "A <CPU>"});
  EXPECT_NE(html.find("<tr><td>total</td><td>1000</td><td>500</td>"), html.npos) << html;
  EXPECT_NE(html.find("<tr><td>round 2</td>"), html.npos);
  EXPECT_EQ(count_of(html, "<svg "), 3u);
  EXPECT_NE(html.find("A &lt;CPU&gt;"), html.npos);
  EXPECT_NE(html.find("1.2.3"), html.npos);
  for (const char* reference : {"<script", "src=", "href=", "url(", "@import"})
    EXPECT_EQ(html.find(reference), html.npos) << reference;
}

TEST(LoadHtml, ShowsRefusalsWrongDeliveriesAndTheRamp) {
  LoadResult result = some_result();
  result.reasons["<b>"] = 7;
  result.deliveries = load::DeliveryCounts{.lost = 3};
  result.ramp = {
      {.rate = 1000, .per_second = 1000, .p50_us = 1, .p99_us = 2, .held = true},
      {.rate = 2000, .per_second = 1500, .p50_us = 9, .p99_us = 2e5},
  };
  const std::string html = result_html({}, result, {});
  EXPECT_NE(html.find("Refused 7 times: &lt;b&gt;"), html.npos);
  EXPECT_NE(html.find("<p class=\"bad\">Deliveries: 3 lost"), html.npos);
  EXPECT_NE(html.find("knee: 1000 msg/s"), html.npos);
  EXPECT_EQ(count_of(html, "<svg "), 4u);
}

TEST(LoadHtml, ShowsALoadWithoutAnyMessage) {
  LoadResult result;
  result.rounds.resize(1);
  result.fault = "the server closed a connection";
  const std::string html = result_html({}, result, {});
  EXPECT_NE(html.find("The load ended early: the server closed"), html.npos);
  EXPECT_EQ(html.find("nan"), html.npos);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/admin/metrics_query.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

std::expected<MetricsQuery, AdminAnswer> read_query(
    std::string_view text, QueryAllows allowed = QueryAllows::queues_and_families) {
  return read_metrics_query({.path = "/page", .query = text}, allowed);
}

TEST(MetricsQuery, WantsAllWithoutParameters) {
  const auto query = read_query("");
  ASSERT_TRUE(query);
  EXPECT_TRUE(query->wants_queue("q"));
  EXPECT_TRUE(query->wants_family("f"));
  EXPECT_EQ(query->format, MetricsFormat::prometheus);
}

TEST(MetricsQuery, DecodesRepeatedNames) {
  const auto query = read_query("queue=b&family=x_total&queue=%61.fifo&&queue=b&family=y");
  ASSERT_TRUE(query);
  EXPECT_EQ(query->queues, (std::vector<std::string>{"a.fifo", "b"}));
  EXPECT_TRUE(query->wants_queue("a.fifo"));
  EXPECT_FALSE(query->wants_queue("a"));
  for (const char* name : {"x_total", "y", "y_total"}) EXPECT_TRUE(query->wants_family(name));
  for (const char* name : {"x", "y_total_total", "", "_total"})
    EXPECT_FALSE(query->wants_family(name)) << name;
}

TEST(MetricsQuery, RefusesWithThePermittedParameters) {
  struct Case {
    std::string query;
    QueryAllows allowed;
    const char* error;
  };
  std::string many;
  for (std::size_t i = 0; i < MetricsQuery::parameters_max; ++i) many += "queue=q&";
  ASSERT_TRUE(read_query(many));
  std::string flood;
  for (int i = 0; i < 2000; ++i) flood += "&a";
  const auto both = QueryAllows::queues_and_families;
  const Case cases[] = {
      {"Queue=a",        both,
       "unknown parameter `Queue`; /page allows queue=NAME and family=NAME, each repeated as "
       "needed\n"                                                                                                  },
      {"family=x",       QueryAllows::queues,
       "unknown parameter `family`; /page allows queue=NAME, repeated as needed\n"                                 },
      {"x%0Ay%FF",       both,
       "unknown parameter `x?y?`; /page allows queue=NAME and family=NAME, each repeated as "
       "needed\n"                                                                                                  },
      {"queue",          both,                "the parameter `queue` has no name; write queue=NAME\n"              },
      {"family=",        both,                "the parameter `family` has no name; write family=NAME\n"            },
      {"queue=%4",       both,                "the query string has a % without two hexadecimal digits behind it\n"},
      {many + "queue=q", both,                "the query string has more than 100 parameters\n"                    },
      {flood,            both,                "the query string has more than 100 parameters\n"                    },
  };
  for (const Case& c : cases) {
    const auto query = read_query(c.query, c.allowed);
    ASSERT_FALSE(query) << c.query;
    EXPECT_EQ(query.error().status, 400);
    EXPECT_EQ(query.error().body, c.error);
  }
}

TEST(MetricsQuery, HasTheFormatOfAccept) {
  const auto query = read_metrics_query({.accept = "application/openmetrics-text"},
                                        QueryAllows::queues_and_families);
  ASSERT_TRUE(query);
  EXPECT_EQ(query->format, MetricsFormat::open_metrics);
}

TEST(MetricsQuery, ShowsNamesShortAndPrintable) {
  EXPECT_EQ(shown_name("orders"), "orders");
  EXPECT_EQ(shown_name("a\nb\rc\x01"), "a?b?c?");
  EXPECT_EQ(shown_name(std::string(81, 'x')), std::string(80, 'x') + "...");
}

}  // namespace
}  // namespace pawl

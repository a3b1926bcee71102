// SPDX-License-Identifier: Apache-2.0
#include "tools/queue_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pawl {
namespace {

using enum QueueState;

QueueReading queue_with(std::uint64_t visible, std::uint64_t in_flight = 0,
                        std::uint64_t delayed = 0) {
  QueueReading reading{.name = "q", .visible = visible, .in_flight = in_flight, .delayed = delayed};
  reading.retention_s = 1000;
  reading.counted.emplace();
  reading.counted->at_ms = 10'000;
  return reading;
}

struct Grown {
  std::uint64_t sent = 0, received = 0, deleted = 0, deleted_late = 0, late = 0, expired = 0;
  std::uint64_t visible_before = 0;
};

QueueRow after(QueueReading now, const Grown& grown, bool blocked = false) {
  QueueReading before = now;
  before.visible = grown.visible_before;
  now.counted->at_ms += 2'000;
  now.counted->sent += grown.sent;
  now.counted->received += grown.received;
  now.counted->deleted += grown.deleted;
  now.counted->deleted_late += grown.deleted_late;
  now.counted->delivered_late += grown.late;
  now.counted->leases_expired += grown.expired;
  return row_of(now, &before, blocked);
}

QueueReading old(QueueReading reading, double age, bool fifo = false) {
  reading.counted->oldest_s = age;
  reading.fifo = fifo;
  return reading;
}

TEST(QueueView, SaysWhyAQueueIsStuck) {
  struct Case {
    const char* name;
    QueueReading now;
    Grown grown;
    bool blocked;
    QueueState state;
    const char* why;
  };
  const Case cases[] = {
      {"nothing there", queue_with(0), {}, false, empty, ""},
      {"nobody receives", queue_with(5), {}, false, no_consumer, "nothing received in 2.0 s"},
      {"nobody receives more",
       queue_with(5, 2),
       {},
       false, no_receives,
       "nothing received in 2.0 s; 2 in flight"},
      {"in flight full",
       queue_with(5, 120'000),
       {},
       false, in_flight_full,
       "120000 in flight, the most that a queue allows"},
      {"blocked groups",
       old(queue_with(5, 2), 1, true),
       {},
       true, groups_blocked,
       "nothing received in 2.0 s; 2 in flight hold the groups of all visible messages"},
      {"groups are not asked",
       old(queue_with(5, 2), 1, true),
       {},
       false, no_receives,
       "nothing received in 2.0 s; 2 in flight"},
      {"no group in standard",
       queue_with(5, 2),
       {},
       true, no_receives,
       "nothing received in 2.0 s; 2 in flight"},
      {"never deleted",
       queue_with(5, 2),
       {.received = 4, .expired = 3},
       false, not_deleted,
       "3 visibility timeouts ended, none deleted in 2.0 s"},
      {"near its retention",
       old(queue_with(5, 2), 501),
       {.received = 4},
       false, near_expiry,
       "the oldest message is 501 s old, and deleted at 1000 s"},
      {"half of its retention",
       old(queue_with(5, 2), 500),
       {.received = 4, .visible_before = 5},
       false, ok,
       ""},
      {"late",
       queue_with(5, 2),
       {.received = 4, .deleted = 4, .late = 2},
       false, late,
       "2 delivered later than x-lag-target in 2.0 s"},
      {"late deletes",
       queue_with(5, 2),
       {.received = 4, .deleted = 4, .deleted_late = 1},
       false, deletes_late,
       "1 deleted after their visibility timeout in 2.0 s"},
      {"more come than go",
       queue_with(9, 2),
       {.sent = 8, .received = 4, .deleted = 4, .visible_before = 5},
       false, falling_behind,
       "4 more visible in 2.0 s"},
      {"held", queue_with(0, 3), {}, false, all_in_flight, "3 in flight, none visible"},
      {"later", queue_with(0, 0, 3), {}, false, all_delayed, "3 delayed, none visible"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const QueueRow row = after(c.now, c.grown, c.blocked);
    EXPECT_EQ(text_of(row.state), text_of(c.state));
    EXPECT_EQ(row.why, c.why);
  }
}

TEST(QueueView, SaysNoMoreThanTheNumbersShow) {
  const QueueReading reading = queue_with(5);
  EXPECT_EQ(row_of(reading, nullptr).state, ok) << "no reading before";
  EXPECT_FALSE(row_of(reading, nullptr).sent);
  QueueReading without = reading;
  without.counted.reset();
  EXPECT_EQ(row_of(without, &without).state, depths_only);
  without.visible = 0;
  EXPECT_EQ(row_of(without, &without).state, empty);
  without.in_flight = 1;
  EXPECT_EQ(row_of(without, &without).state, all_in_flight);
  QueueReading before = reading;
  before.counted->sent = 7;  // the server started again
  before.counted->at_ms = 1;
  EXPECT_FALSE(row_of(reading, &before).sent);
  EXPECT_FALSE(row_of(reading, &reading).sent) << "the same moment";
}

TEST(QueueView, ComputesRates) {
  const QueueRow row = after(queue_with(5, 1), {.sent = 3, .received = 4, .deleted = 1});
  EXPECT_EQ(row.sent, 1.5);
  EXPECT_EQ(row.received, 2);
  EXPECT_EQ(row.deleted, 0.5);
  EXPECT_FALSE(may_be_blocked(row));
  EXPECT_TRUE(may_be_blocked(after(old(queue_with(5, 1), 1, true), {})));
  EXPECT_FALSE(may_be_blocked(after(queue_with(5, 1), {})));
}

std::vector<const QueueRow*> addresses_of(const std::vector<QueueRow>& rows) {
  std::vector<const QueueRow*> addresses;
  for (const QueueRow& row : rows) addresses.push_back(&row);
  return addresses;
}

std::string order_by(const std::vector<QueueRow>& rows, std::string_view column) {
  std::vector<const QueueRow*> sorted = addresses_of(rows);
  sort_rows(sorted, column);
  std::string names;
  for (const QueueRow* row : sorted) names += row->reading.name;
  return names;
}

TEST(QueueView, SortsTheWorstFirst) {
  std::vector<QueueRow> rows;
  const auto add = [&rows](const char* name, QueueReading reading, const Grown& grown) {
    reading.name = name;
    rows.push_back(after(std::move(reading), grown));
  };
  add("a", queue_with(0), {});
  add("b", old(queue_with(7), 3), {});
  add("c", old(queue_with(5), 9), {});
  add("d", old(queue_with(99, 4), 1), {.sent = 1, .received = 50, .visible_before = 99});
  EXPECT_EQ(order_by(rows, "state"), "cbda");
  EXPECT_EQ(order_by(rows, "queue"), "abcd");
  EXPECT_EQ(order_by(rows, "visible"), "dbca");
  EXPECT_EQ(order_by(rows, "oldest"), "cbda");
  EXPECT_EQ(order_by(rows, "received"), "dabc");
  for (const std::string& column : sort_columns()) EXPECT_EQ(order_by(rows, column).size(), 4u);
}

TEST(QueueView, FitsTheTerminal) {
  std::vector<QueueRow> rows = {after(queue_with(5), {}), after(queue_with(0, 3), {})};
  rows[0].reading.name = std::string(80, 'x');
  for (std::size_t width = 20; width <= 200; ++width) {
    const std::vector<std::string> lines = lines_of(addresses_of(rows), width);
    ASSERT_EQ(lines.size(), 3u);
    for (const std::string& line : lines) EXPECT_LE(line.size(), width);
    EXPECT_TRUE(lines[0].starts_with("QUEUE"));
  }
  const std::vector<std::string> narrow = lines_of(addresses_of(rows), 40);
  EXPECT_TRUE(narrow[0].contains("STATE")) << narrow[0];
  EXPECT_TRUE(narrow[0].contains("VISIBLE")) << narrow[0];
  EXPECT_FALSE(narrow[0].contains("WHY")) << narrow[0];
  EXPECT_TRUE(narrow[1].contains("xx~")) << narrow[1];
  EXPECT_TRUE(narrow[1].contains("no consumer")) << narrow[1];
  const std::vector<std::string> wide = lines_of(addresses_of(rows), 200);
  EXPECT_TRUE(wide[0].ends_with("WHY")) << wide[0];
  EXPECT_TRUE(wide[1].ends_with("nothing received in 2.0 s")) << wide[1];
  EXPECT_TRUE(wide[1].starts_with(std::string(80, 'x') + "  no consumer")) << wide[1];
  EXPECT_EQ(lines_of({}, 80).size(), 1u);
}

TEST(QueueView, PrintsEachColumnOfTheTable) {
  const Printer::Row row = printed(after(queue_with(5), {}));
  for (const std::string& name : printed_columns())
    EXPECT_TRUE(std::ranges::any_of(row.cells, [&](const auto& cell) { return cell.name == name; }))
        << name;
}

}  // namespace
}  // namespace pawl

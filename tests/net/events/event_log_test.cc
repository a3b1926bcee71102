// SPDX-License-Identifier: Apache-2.0
#include "net/events/event_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/events/pipe.h"

namespace pawl {
namespace {

constexpr std::int64_t short_patience_us = 20'000;

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// The sum of the lines that other lines report as left out.
std::size_t suppressed_in(const std::string& text) {
  constexpr std::string_view before = "; ";
  std::size_t sum = 0;
  for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1))
    sum += std::stoul(text.substr(at + before.size()));
  return sum;
}

// With a short patience, on a busy machine.
bool flush_in_time(EventLog& log) {
  for (int i = 0; i < 1000; ++i)
    if (log.flush()) return true;
  return false;
}

TEST(EventLog, WritesAtOnceWithoutAWriter) {
  const Pipe pipe;
  EventLog log(pipe.out());
  log.emit({EventCode::disk_full, "one"});
  EXPECT_EQ(pipe.read(), "pawl: one\n");
  log.write_as(LogFormat::json);
  log.emit(Event{EventCode::disk_full, "two"}.with("shard", 1));
  EXPECT_TRUE(pipe.read().ends_with("\"text\":\"two\",\"shard\":1}\n"));
}

TEST(EventLog, WritesByAThreadUntilTheLastStop) {
  const Pipe pipe;
  EventLog log(pipe.out());
  log.start();
  log.start();
  log.emit({EventCode::disk_full, "one"});
  EXPECT_TRUE(log.flush());
  EXPECT_EQ(pipe.read(), "pawl: one\n");
  log.stop();
  log.emit({EventCode::disk_full, "two"});
  log.stop();
  log.emit({EventCode::disk_full, "three"});
  EXPECT_EQ(pipe.read(), "pawl: two\npawl: three\n");
  log.start();
  log.emit({EventCode::disk_full, "four"});
  log.stop();
  EXPECT_EQ(pipe.read(), "pawl: four\n");
}

TEST(EventLog, KeepsTheOrderOfEachThread) {
  const Pipe pipe;
  EventLog log(pipe.out());
  log.start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&log, t] {
      for (int i = 0; i < 100; ++i) log.emit({EventCode::disk_full, fmt::format("{} {:03}", t, i)});
    });
  for (std::thread& thread : threads) thread.join();
  log.stop();
  const std::string text = pipe.read();
  EXPECT_EQ(lines_of(text), 400u);
  for (int t = 0; t < 4; ++t) {
    std::size_t last = 0;
    for (int i = 0; i < 100; ++i) {
      const std::size_t at = text.find(fmt::format("pawl: {} {:03}\n", t, i));
      ASSERT_NE(at, std::string::npos) << t << " " << i;
      EXPECT_GE(at, last);
      last = at;
    }
  }
}

TEST(EventLog, ReportsSuppressedLinesWithTheNextOneAndAtTheStop) {
  const Pipe pipe;
  EventLog log(pipe.out());
  const std::uint32_t allowed = row_of(EventCode::auth_failed).lines_a_minute;
  const std::int64_t now_us = 1'000'000;
  log.start();
  for (std::uint32_t i = 0; i < allowed; ++i)
    EXPECT_TRUE(log.admit(EventCode::auth_failed, now_us));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(log.admit(EventCode::auth_failed, now_us));
  EXPECT_TRUE(log.admit(EventCode::auth_failed, now_us + EventLimit::minute_us));
  EXPECT_TRUE(log.admit(EventCode::draining, now_us)) << "each code has a limit of its own";
  log.put({EventCode::auth_failed, "x"});
  log.put({EventCode::auth_failed, "y"});
  for (std::uint32_t i = 1; i < allowed + 3; ++i)
    log.admit(EventCode::auth_failed, now_us + EventLimit::minute_us);
  log.stop();
  EXPECT_EQ(pipe.read(),
            "pawl: x; 5 more since the last such line\npawl: y\n"
            "pawl: authentication failed; 3 more since the last such line\n");
}

TEST(EventLog, NeverWaitsForAPipeThatNobodyReads) {
  const Pipe pipe;
  pipe.fill();
  EventLog log(pipe.out(), short_patience_us);
  log.start();
  for (std::size_t i = 0; i < 2 * EventLog::capacity; ++i) log.put({EventCode::disk_full, "one"});
  EXPECT_FALSE(log.flush());
  std::string text = pipe.read();
  EXPECT_TRUE(flush_in_time(log)) << "a late reader gets the lines that waited";
  text += pipe.read();
  const std::size_t lines = lines_of(text);
  EXPECT_GE(lines, EventLog::capacity);
  EXPECT_LE(lines, EventLog::capacity + 1) << "one was being written";
  log.put({EventCode::disk_full, "two"});
  EXPECT_TRUE(flush_in_time(log));
  text += pipe.read();
  EXPECT_EQ(lines + suppressed_in(text), 2 * EventLog::capacity);
  pipe.fill();
  log.put({EventCode::disk_full, "three"});
  log.stop();
}

TEST(EventLog, IsUnmovedByAClosedDescriptor) {
  EventLog log(1'000'000);
  log.start();
  log.emit({EventCode::disk_full, "one"});
  EXPECT_TRUE(log.flush()) << "lost lines are done too";
  log.stop();
}

TEST(EventLog, WritesTheLastLineBeforeTheProcessEnds) {
  EXPECT_EXIT(
      {
        const EventWriting writing;
        emit_last({EventCode::log_failed, "the last words"});
        _exit(7);
      },
      testing::ExitedWithCode(7), "pawl: the last words\n");
}

TEST(EventLog, OpensClosedStandardDescriptors) {
  const auto closed = [](int fd) { return fcntl(fd, F_GETFD) < 0; };
  EXPECT_EXIT(
      {
        for (int fd = 0; fd < 3; ++fd) ::close(fd);
        open_standard_descriptors();
        _exit(closed(0) || closed(1) || closed(2) ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pawl

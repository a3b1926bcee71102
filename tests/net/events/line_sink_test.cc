// SPDX-License-Identifier: Apache-2.0
#include "net/events/line_sink.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <thread>

#include "tests/net/events/pipe.h"

namespace pawl {
namespace {

TEST(LineSink, WritesAWholeLineAndMore) {
  const Pipe pipe;
  LineSink sink(pipe.out());
  const std::atomic<std::int64_t> at_once{0};
  const std::string large(3 * 4096, 'y');
  EXPECT_TRUE(sink.write("a\n", at_once));
  EXPECT_TRUE(sink.write(large + "\n", at_once));
  EXPECT_EQ(pipe.read(), "a\n" + large + "\n");
}

TEST(LineSink, GivesUpAtTheDeadlineOfAFullPipe) {
  const Pipe pipe;
  pipe.fill();
  LineSink sink(pipe.out());
  const std::atomic<std::int64_t> at_once{0};
  EXPECT_FALSE(sink.write("lost\n", at_once));
  pipe.read();
  EXPECT_TRUE(sink.write("b\n", at_once));
  EXPECT_EQ(pipe.read(), "b\n");
}

TEST(LineSink, BeginsTheNextLineOnItsOwnAfterACutOne) {
  const Pipe pipe;
  pipe.shrink();
  LineSink sink(pipe.out());
  const std::atomic<std::int64_t> at_once{0};
  EXPECT_FALSE(sink.write(std::string(5000, 'y') + "\n", at_once)) << "it has 4096 bytes";
  EXPECT_FALSE(sink.write("lost\n", at_once));
  EXPECT_EQ(pipe.read(), std::string(4096, 'y'));
  EXPECT_TRUE(sink.write("b\n", at_once));
  EXPECT_EQ(pipe.read(), "\nb\n");
}

TEST(LineSink, WaitsForAReaderUntilTheDeadlineMoves) {
  const Pipe pipe;
  pipe.fill();
  LineSink sink(pipe.out());
  std::atomic<std::int64_t> deadline{INT64_MAX};
  bool written = true;
  std::thread writer([&] { written = sink.write("lost\n", deadline); });
  deadline.store(0, std::memory_order_release);
  writer.join();
  EXPECT_FALSE(written);
}

TEST(LineSink, LosesLinesOfAClosedDescriptorAndOfAPipeWithoutReader) {
  signal(SIGPIPE, SIG_IGN);
  const std::atomic<std::int64_t> never{INT64_MAX};
  LineSink closed(1'000'000);
  EXPECT_FALSE(closed.write("lost\n", never));
  Pipe pipe;
  ::close(pipe.ends[0]);
  pipe.ends[0] = -1;
  LineSink sink(pipe.out());
  EXPECT_FALSE(sink.write("lost\n", never));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/events/event.h"

#include <gtest/gtest.h>

#include "proto/text/json_dom.h"

namespace pawl {
namespace {

constexpr std::int64_t noon_us = 1'769'860'800'123'456;  // 2026-01-31 12:00:00.123456

Event sample() {
  Event event = Event{EventCode::disk_full, "shard 3: sends are refused: free space"}
                    .with("shard", 3u)
                    .with("path", "/var/lib/pawl")
                    .with("errno", -28);
  event.time_us = noon_us;
  return event;
}

TEST(Event, IsALineOfText) {
  Event event = sample();
  EXPECT_EQ(line_of(event, LogFormat::text), "pawl: shard 3: sends are refused: free space\n");
  event.suppressed = 7;
  EXPECT_EQ(line_of(event, LogFormat::text),
            "pawl: shard 3: sends are refused: free space; 7 more since the last such line\n");
  event.text = "A sentence.";
  EXPECT_EQ(line_of(event, LogFormat::text), "pawl: A sentence. 7 more since the last such line\n");
  event.code = EventCode::start_failed;
  event.suppressed = 0;
  EXPECT_EQ(line_of(event, LogFormat::text), "error: A sentence.\n");
}

TEST(Event, IsALineOfJson) {
  Event event = sample();
  event.suppressed = 7;
  EXPECT_EQ(line_of(event, LogFormat::json),
            R"({"time":"2026-01-31T12:00:00.123Z","level":"error","code":"disk_full",)"
            R"("msg":"sends are refused for lack of disk space",)"
            R"("text":"shard 3: sends are refused: free space","shard":3,"path":"/var/lib/pawl",)"
            R"("errno":-28,"suppressed":7})"
            "\n");
}

// Any bytes may be in a path or in an error text.
TEST(Event, WithAnyTwoBytesIsOneLineOfValidJson) {
  JsonDom dom;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      const Event event = Event{EventCode::disk_full, "x" + text + "x"}.with("path", text);
      const std::string line = line_of(event, LogFormat::json);
      ASSERT_EQ(line.find('\n'), line.size() - 1) << first << " " << second;
      const auto document = dom.parse(line);
      ASSERT_TRUE(document && document->is_object()) << first << " " << second << line;
      const bool printable = first >= ' ' && first < 0x80 && second >= ' ' && second < 0x80;
      if (!printable) continue;
      ASSERT_EQ(document->member("path")->text(), text);
    }
  }
}

TEST(Event, KeepsTextBeyondAscii) {
  const Event event{EventCode::disk_full, "\u00fc\u20ac\"\\\n\t.", {}, noon_us};
  JsonDom dom;
  const auto document = dom.parse(line_of(event, LogFormat::json));
  ASSERT_TRUE(document);
  EXPECT_EQ(document->member("text")->text(), event.text);
}

}  // namespace
}  // namespace pawl

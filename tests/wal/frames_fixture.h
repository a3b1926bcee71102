// SPDX-License-Identifier: Apache-2.0
// A fixture for tests of wal/record_appender.h and wal/frame_writer.h: both on a memory disk, and
// the frames that they wrote.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/wal/memory_disk.h"
#include "wal/format/records.h"
#include "wal/frame_writer.h"
#include "wal/record_appender.h"

namespace pawl::frames_test {

inline constexpr Geometry geometry{0x5eed, 64 << 10, 16 << 10};
inline constexpr QueueId queue{7};
inline constexpr Duration lazy_max{10};

// The types and contents of the records of a frame.
struct Seen final : RecordSink {
  void send(const StoredMessage& message, std::size_t) override {
    types += 's';
    seqs.push_back(message.seq);
    relocated += message.relocated ? 1 : 0;
  }
  void receive(const ReceiveRecord&) override { types += 'r'; }
  void delete_message(const DeleteRecord&) override { types += 'd'; }
  void purge(const PurgeRecord&) override { types += 'p'; }
  void config(const ConfigRecord&) override { types += 'c'; }
  void row(const RowRecord&) override { types += 'o'; }
  void head(const HeadRecord&) override { types += 'h'; }
  void task(const TaskRecord& record) override {
    types += 't';
    tasks.push_back(record);
  }
  void forget_transfer(const ForgetTransferRecord&) override { types += 'x'; }
  void number(const NumberRecord&) override { types += 'n'; }
  void replay(const ReplayRecord&) override { types += 'y'; }
  void checkpoint(const CheckpointRecord&) override { types += 'k'; }
  void segment(const SegmentRecord&) override { types += 'g'; }

  std::string types;
  std::vector<Seq> seqs;
  std::vector<TaskRecord> tasks;
  int relocated = 0;
};

class FramesTest : public testing::Test {
 protected:
  void SetUp() override {
    image.start(0);
    pool.start(0);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(pool.create_now());
    pool.enter(0, now);
    writer.start({.tail = block_bytes, .last_frame = 0, .epoch = 5, .segment = 0});
    disk.hold = true;
  }
  // Appends one message and returns its position.
  LogPos send(Seq seq, std::size_t body_bytes) {
    const std::string body(body_bytes, 'x');
    const Content content{.body = body};
    effects.clear();
    effects.sends.push_back({queue, seq, now, now, &content});
    appender.append(effects, now);
    return effects.sends[0].position;
  }
  void delete_message(Seq seq) {
    effects.clear();
    effects.deletes.push_back({queue, seq});
    appender.append(effects, now);
  }
  void receive(Seq seq) {
    effects.clear();
    effects.receives.push_back({.queue = queue, .seq = seq});
    appender.append(effects, now);
  }
  void submit(bool idle = false) { writer.submit(now, now_us, idle); }
  void finish_all_writes() {
    writer.flush_all();
    for (int i = 0; i < 100 && writer.durable() < writer.appended(); ++i) {
      submit();
      disk.finish_all();
      ASSERT_FALSE(writer.reap(now_us));
    }
    ASSERT_EQ(writer.durable(), writer.appended());
  }
  // The headers of all frames on the disk, checked whole.
  std::vector<LogFrameHeader> frames() {
    std::vector<LogFrameHeader> all;
    seen = {};
    for (Lsn at = block_bytes; at < writer.durable();) {
      at = geometry.frame_position(at);
      const auto& file = disk.content(segment_name(geometry.segment_of(at)));
      const std::span<const std::byte> rest(
          file.data() + geometry.offset_of(at),
          std::min<std::size_t>(geometry.extent_end(at) - at,
                                file.size() - geometry.offset_of(at)));
      const FrameCheck check = check_frame(rest, geometry.stream, at);
      if (check.fault != LogFault::none) {  // the rest of an extent
        at += block_bytes;
        continue;
      }
      all.push_back(check.header);
      EXPECT_TRUE(decode_records(rest.first(check.header.length).subspan(log_frame_header_bytes),
                                 check.header.records, geometry.stream, seen));
      at += align_up(check.header.length, block_bytes);
    }
    return all;
  }

  MemoryDisk disk;
  Image image{geometry.extent_bytes, 1 << 20};
  SegmentPool pool{disk, geometry, 2, false, Duration{}};
  FrameWriter writer{disk, geometry, image, pool, lazy_max};
  RecordAppender appender{geometry, writer, image, pool};
  Effects effects;
  Seen seen;  // by frames()
  Instant now{1'700'000'000'000};
  std::uint64_t now_us = 1'000'000;
};

}  // namespace pawl::frames_test

// SPDX-License-Identifier: Apache-2.0
// A fixture for tests of the recovery: logs with one message in each frame, and damage to them.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "tests/wal/log_fixture.h"

namespace pawl {

inline constexpr const char* first_segment = "000000000000.seg";

class Recover : public LogTest {
 protected:
  Recover() { options.spare_segments = 3; }  // enough for the few messages of a test
  // Sends messages 1 to n; each is durable in a frame of its own before the next is sent.
  void fill(Seq n, std::size_t bytes = 40) {
    open();
    settle();
    for (Seq seq = 1; seq <= n; ++seq) send(seq, body_of(seq, bytes));
  }
  void damage(const std::string& name, std::uint64_t offset, unsigned bit = 0) {
    disk->content(name).at(offset) ^= static_cast<std::byte>(1u << bit);
  }
  void expect_messages(Seq n, std::size_t bytes = 40) {
    ASSERT_EQ(found.messages.size(), n);
    for (Seq seq = 1; seq <= n; ++seq)
      EXPECT_EQ(found.messages.at({7, seq}).body, body_of(seq, bytes));
  }
  // Sends messages 3 and 4 in two concurrent writes; the second finishes first.
  void send_two(std::string_view third, std::string_view fourth) {
    disk->hold = true;
    for (const auto& [seq, body] : {
             std::pair<Seq, std::string_view>{3, third },
              {4, fourth}
    }) {
      append_send(seq, body);
      log->flush_all();
      pump();
    }
    ASSERT_EQ(disk->under_way(), 2u);
    disk->finish(1);
    disk->finish(0);
    disk->hold = false;
  }
  // The position of frame i (from 0) of a filled log in its first segment.
  static std::uint64_t frame(std::uint64_t i) { return block_bytes * (i + 1); }
  LogFrameHeader header(std::uint64_t offset) {
    LogFrameHeader read;
    std::memcpy(&read, disk->content(first_segment).data() + offset, sizeof read);
    return read;
  }
};

}  // namespace pawl

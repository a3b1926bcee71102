// SPDX-License-Identifier: Apache-2.0
// A fixture for tests of checkpoints, reused segments and a full disk, through the log.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/wal/log_fixture.h"

namespace pawl {

class Reuse : public LogTest {
 protected:
  void SetUp() override {
    open();
    settle();
  }
  // Sends until the tail is in segment `number`; returns the positions of the messages.
  std::vector<LogPos> fill_to(std::uint64_t number) {
    std::vector<LogPos> positions;
    while (appended / options.segment_bytes < number) {
      positions.push_back(fill_one());
    }
    return positions;
  }
  LogPos fill_one() {
    ++seq;
    return send(seq, body_of(seq, 9000));
  }
  void delete_all(Seq below) {
    for (Seq s = 1; s < below; ++s) append_delete(s);
  }
  std::size_t call(const std::string& prefix) const {
    const auto it = std::ranges::find_if(
        disk->calls, [&](const std::string& c) { return c.starts_with(prefix); });
    return static_cast<std::size_t>(it - disk->calls.begin());
  }
  bool called(const std::string& prefix) const { return call(prefix) < disk->calls.size(); }

  Seq seq = 0;
};

}  // namespace pawl

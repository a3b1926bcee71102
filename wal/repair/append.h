// SPDX-License-Identifier: Apache-2.0
// Appendix: appends frames to a log that is not open, in a new epoch.
//
//   records ... -> finish()
//
// Owner:  one planner, whose LogContent it changes. wal/record_appender.h and wal/frame_writer.h do
//         the same for an open log.
// Source: wal/FORMAT.md, "A frame".
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "wal/format/records.h"
#include "wal/repair/content.h"

namespace pawl {

class Appendix {
 public:
  struct Start {
    Lsn tail = 0;  // end of the last frame
    Lsn last = 0;  // beginning of the last frame; 0: there is none
    std::uint32_t epoch = 0;
    std::int64_t wall_ms = 0;
  };
  Appendix(LogContent& content, const Start& start) : content_(content), start_(start) {}

  void heads(std::span<const HeadRecord> heads);
  void config(const ConfigRecord& record);
  void deletes(QueueId queue, const std::set<Seq>& seqs);
  void copy(std::vector<std::byte> record);  // an encoded record without padding
  void finish();

  Lsn begin() const { return begin_; }  // 0: nothing was appended
  Lsn end() const { return start_.tail; }

 private:
  void close_frame();

  LogContent& content_;
  Start start_;
  Lsn begin_ = 0;
  Lsn frame_at_ = 0;
  std::vector<std::byte> frame_;  // the open frame; empty: none is open
  std::uint32_t records_ = 0;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/send_reader.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace pawl {

void SendReader::begin(Lsn from, Lsn end, QueueId queue) {
  queue_ = queue;
  at_ = from;
  end_ = end;
  have_ = false;
  forget_ = io_.armed || io_.done;
  passed_over_ = 0;
  scan_.begin(from);
}

void SendReader::stop() {
  begin(0, 0, QueueId::none);
  if (!reading()) memory_ = PageBlock();
}

void SendReader::pump(Lsn durable, bool stopping) {
  if (io_.done) {
    const std::int32_t result = std::exchange(io_, {}).result;
    CHECK(!have_, "extent {} was read before", extent_);
    pool_.release(held_, 0);
    if (std::exchange(forget_, false)) {
      if (end_ == 0) memory_ = PageBlock();
    } else if (result == static_cast<std::int32_t>(geometry_.extent_bytes)) {
      have_ = true;
      scan_.begin_extent(extent_, memory_.span());
    } else {
      ++damaged_;
      pass_over(extent_end());
    }
  }
  if (!have_ && !reading() && at_ < end_ && !stopping) read_on(durable);
}

void SendReader::pass_over(Lsn to) {
  const Lsn next = std::min(to, end_);
  CHECK(next >= at_, "from {} back to {}", at_, next);
  passed_over_ += next - at_;
  at_ = next;
}

// Reads the next extent as soon as its wanted part is durable.
void SendReader::read_on(Lsn durable) {
  while (at_ < end_) {
    const std::uint64_t segment = geometry_.segment_of(pool_.frame_position(at_));
    at_ = std::min(end_, std::max(at_, geometry_.segment_base(segment)));
    if (pool_.ready(segment)) break;
    pass_over(geometry_.segment_base(segment + 1));
  }
  if (at_ >= end_ || durable < std::min(end_, geometry_.extent_end(at_))) return;
  CHECK(!reading(), "a read is under way");
  if (!memory_) memory_ = PageBlock(geometry_.extent_bytes);
  held_ = geometry_.segment_of(at_);
  pool_.add_live(held_);  // the file is kept while it is read
  extent_ = geometry_.extent_of(at_);
  const Lsn from = extent_ * geometry_.extent_bytes;
  disk_.read(pool_.file(held_), geometry_.offset_of(from), memory_.span(), io_);
}

bool SendReader::next(FoundSend& found) {
  while (have_) {
    const bool any = scan_.next(found);
    if (any && found.position < at_) continue;
    if (any && found.position < end_) {
      at_ = found.position + found.record.size();
      if (!found.shared) return true;
      const auto place = found.shared->find(queue_);
      if (!place) continue;
      found.stored = found.shared->message(*place);
      return true;
    }
    have_ = false;
    at_ = any ? end_ : extent_end();  // `at_` may be there already
  }
  return false;
}

}  // namespace pawl

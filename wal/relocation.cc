#include "wal/relocation.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "wal/record_codec.h"
#include "wal/records.h"

namespace pawl {

void Relocation::choose(std::uint64_t below, std::uint64_t room) {
  if (active() ||
      (looked_tail_ == pool_.tail() && looked_below_ == below && looked_full_ == pool_.full()))
    return;
  looked_tail_ = pool_.tail();
  looked_below_ = below;
  looked_full_ = pool_.full();
  const SegmentPool::Use use = pool_.use(below);
  if (use.emptiest == pool_.ready_end()) return;
  const bool wasteful = use.bytes > 2 * use.live + dead_max_;
  const bool short_of = pool_.full() && use.left <= room;
  const bool worth_it = use.left < geometry_.segment_bytes / 4 * 3;
  if (pool_.tail() - pool_.first() > span_max) {
    begin(use.oldest);
  } else if ((wasteful || short_of) && worth_it) {
    begin(use.emptiest);
  }
}

void Relocation::begin(std::uint64_t segment) {
  segment_ = segment;
  extent_ = geometry_.extent_of(geometry_.segment_base(segment));
  pool_.begin_emptying(segment);
  if (!memory_) memory_ = PageBlock(geometry_.extent_bytes);
}

void Relocation::end() {
  pool_.end_emptying(std::exchange(segment_, none));
  memory_ = PageBlock();
  looked_tail_ = none;  // there may be another one
}

void Relocation::pump(bool stopping) {
  if (io_.done) {
    have_ = std::exchange(io_, {}).result == static_cast<std::int32_t>(geometry_.extent_bytes);
    at_ = geometry_.frame_place(extent_ * geometry_.extent_bytes);
    records_ = 0;
    if (!have_) ++extent_;
  }
  if (active() && !have_ && !io_.armed && !stopping) read_on();
}

// The next extent in which a message is.
void Relocation::read_on() {
  const std::uint64_t end_extent = geometry_.extent_of(geometry_.segment_base(segment_ + 1));
  while (extent_ < end_extent && image_.live(extent_) == 0) ++extent_;
  if (extent_ == end_extent) return end();
  const Lsn from = extent_ * geometry_.extent_bytes;
  disk_.read(pool_.file(segment_), geometry_.offset_of(from), memory_.span(), io_);
}

bool Relocation::next(Relocatable& found) {
  while (have_) {
    if (records_ == 0) {
      if (next_frame()) continue;
      have_ = false;
      ++extent_;
      break;
    }
    const std::byte* const record = memory_.data() + record_ % geometry_.extent_bytes;
    RecordHead head;
    std::memcpy(&head, record, sizeof head);
    const LogPos position = record_;
    record_ += align_record(head.length);
    --records_;
    if (head.type != static_cast<std::uint8_t>(RecordType::send)) continue;
    const StoredMessage stored = trusted_send(record);
    found = {
        stored.queue, stored.seq, position, {record, head.length}
    };
    return true;
  }
  return false;
}

// Whole frames alone: a hash was looked at, so their records are as they were written. What lies between them is from
// another time.
bool Relocation::next_frame() {
  const Lsn end = (extent_ + 1) * geometry_.extent_bytes;
  for (; at_ < end; at_ += block_bytes) {
    const FrameCheck check =
        check_frame(memory_.span().subspan(at_ % geometry_.extent_bytes), geometry_.stream, at_);
    if (check.fault != LogFault::none) continue;
    record_ = at_ + log_frame_header_bytes;
    records_ = check.header.records;
    at_ += align_up(check.header.length, block_bytes);
    return true;
  }
  return false;
}

}  // namespace pawl

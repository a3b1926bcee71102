// SPDX-License-Identifier: Apache-2.0
#include "wal/format/send_scan.h"

#include <cstring>

#include "core/base/check.h"
#include "wal/format/record_codec.h"

namespace pawl {

void SendScan::begin(Lsn from) {
  epoch_ = 0;
  from_ = from;
  damaged_ = 0;
}

void SendScan::begin_extent(std::uint64_t extent, std::span<const std::byte> bytes) {
  CHECK(bytes.size() == geometry_.extent_bytes, "{} bytes", bytes.size());
  bytes_ = bytes;
  at_ = geometry_.frame_position(extent * geometry_.extent_bytes);
  end_ = (extent + 1) * geometry_.extent_bytes;
  records_ = 0;
}

bool SendScan::next(FoundSend& found) {
  while (records_ > 0 || next_frame()) {
    const std::byte* const record = bytes_.data() + record_ % geometry_.extent_bytes;
    RecordHead head;
    std::memcpy(&head, record, sizeof head);
    const LogPos position = record_;
    record_ += align_record(head.length);
    --records_;
    const auto type = static_cast<RecordType>(head.type);
    if (type != RecordType::send && type != RecordType::fan_out) continue;
    found.position = position;
    found.record = {record, head.length};
    found.shared.reset();
    if (type == RecordType::send) {
      found.stored = trusted_send(record);
    } else {
      found.shared = FanOut::trusted(record);
    }
    return true;
  }
  return false;
}

bool SendScan::next_frame() {
  for (; at_ < end_; at_ += block_bytes) {
    const FrameCheck check =
        check_frame(bytes_.subspan(at_ % geometry_.extent_bytes), geometry_.stream, at_);
    if (check.fault == LogFault::hash && at_ >= from_)
      damaged_ += align_up(check.header.length, block_bytes);
    if (check.fault != LogFault::none || check.header.epoch < epoch_) continue;
    epoch_ = check.header.epoch;
    record_ = at_ + log_frame_header_bytes;
    records_ = check.header.records;
    at_ += align_up(check.header.length, block_bytes);
    return records_ > 0 || next_frame();
  }
  return false;
}

}  // namespace pawl

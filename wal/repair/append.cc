// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/append.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"

namespace pawl {

void Appendix::heads(std::span<const HeadRecord> heads) {
  while (!heads.empty()) {
    const auto run = heads.first(std::min(heads.size(), batch_max));
    std::vector<std::byte> record(heads_bytes_max(run.size()));
    record.resize(encode_heads(record.data(), run, content_.geometry().stream));
    copy(std::move(record));
    heads = heads.subspan(run.size());
  }
}

void Appendix::config(const ConfigRecord& config) {
  std::vector<std::byte> record(config_bytes(*config.config));
  record.resize(encode_config(record.data(), config, content_.geometry().stream));
  copy(std::move(record));
  for (const auto& row : config.config->rows) {
    if (config.gone) break;
    std::vector<std::byte> row_record(row_bytes(row->text));
    encode_row(row_record.data(), config.config->id, row->number, row->text,
               content_.geometry().stream);
    copy(std::move(row_record));
  }
}

void Appendix::deletes(QueueId queue, const std::set<Seq>& seqs) {
  std::vector<DeleteRecord> all;
  for (const Seq seq : seqs) all.push_back({queue, seq});
  for (std::span<const DeleteRecord> rest(all); !rest.empty();) {
    const auto run = rest.first(std::min(rest.size(), batch_max));
    std::vector<std::byte> record(deletes_bytes_max(run.size()));
    record.resize(encode_deletes(record.data(), run, content_.geometry().stream));
    copy(std::move(record));
    rest = rest.subspan(run.size());
  }
}

// Appends to the open frame, or to a new frame after it if the record does not fit.
void Appendix::copy(std::vector<std::byte> record) {
  const Geometry& at = content_.geometry();
  record.resize(align_record(record.size()));
  CHECK(align_record(record_length(record.data())) == record.size(), "{} bytes for a record of {}",
        record.size(), record_length(record.data()));
  const auto fits = [&](Lsn lsn, std::size_t bytes) { return lsn + bytes <= at.extent_end(lsn); };
  if (!frame_.empty() && (!fits(frame_at_, frame_.size() + record.size()) ||
                          frame_.size() + record.size() > log_frame_bytes_max))
    close_frame();
  if (frame_.empty()) {
    frame_at_ = content_.frame_position(start_.tail);
    if (!fits(frame_at_, log_frame_header_bytes + record.size()))
      frame_at_ = content_.frame_position(at.extent_end(frame_at_));
    CHECK(fits(frame_at_, log_frame_header_bytes + record.size()), "{} bytes at {}", record.size(),
          frame_at_);
    CHECK(frame_at_ >= start_.tail, "{} is before {}", frame_at_, start_.tail);
    frame_.resize(log_frame_header_bytes);
    records_ = 0;
    content_.make_whole(at.segment_of(frame_at_));
    if (begin_ == 0) begin_ = frame_at_;
    CHECK(begin_ <= frame_at_, "a frame at {} before the first at {}", frame_at_, begin_);
  }
  frame_.insert(frame_.end(), record.begin(), record.end());
  ++records_;
}

void Appendix::finish() {
  if (!frame_.empty()) close_frame();
  CHECK(begin_ == 0 || begin_ < start_.tail, "frames from {} to {}", begin_, start_.tail);
}

void Appendix::close_frame() {
  CHECK(records_ > 0, "at {}", frame_at_);
  CHECK(frame_at_ > start_.last, "{} is not after {}", frame_at_, start_.last);
  CHECK(frame_at_ % block_bytes == 0, "at {}", frame_at_);
  CHECK(frame_.size() > log_frame_header_bytes, "{} bytes", frame_.size());
  CHECK(frame_.size() <= log_frame_bytes_max, "{} bytes", frame_.size());
  LogFrameHeader header;
  header.length = static_cast<std::uint32_t>(frame_.size());
  header.lsn = frame_at_;
  header.stream = content_.geometry().stream;
  header.epoch = start_.epoch;
  header.prev = start_.last == 0 ? 0 : static_cast<std::uint32_t>(frame_at_ - start_.last);
  header.records = records_;
  header.wall_ms = start_.wall_ms;
  header.durable = frame_at_;
  std::memcpy(frame_.data(), &header, sizeof header);
  seal_frame(frame_);
  frame_.resize(align_up(frame_.size(), block_bytes));
  start_.tail = frame_at_ + frame_.size();
  start_.last = frame_at_;
  content_.put(frame_at_, std::exchange(frame_, {}));
}

}  // namespace pawl

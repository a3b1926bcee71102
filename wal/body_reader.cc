// SPDX-License-Identifier: Apache-2.0
#include "wal/body_reader.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "wal/format/fan_out_record.h"
#include "wal/format/send_record.h"

namespace pawl {

void BodyReader::pin(LogPos position) {
  if (MUTANT(let_bodies_go)) return;
  image_.add_live(position);
  pool_.add_live(geometry_.segment_of(position));
}

void BodyReader::unpin(LogPos position) {
  if (MUTANT(let_bodies_go)) return;
  image_.release(position);
  pool_.release(geometry_.segment_of(position), 0);
}

BodyReader::Read& BodyReader::take_read() {
  CHECK(reading_ < reads_max, "{} reads", reading_);
  ++reading_;
  Read& read = *std::ranges::find(reads_, Read::State::free, &Read::state);
  CHECK(!read.io.armed && !read.io.done, "the read is in use");
  read.state = Read::State::under_way;
  read.wanted.clear();
  read.given = 0;
  return read;
}

BodyReader::Read* BodyReader::reading(std::uint64_t extent) {
  const auto found = std::ranges::find_if(reads_, [&](const Read& read) {
    return read.whole && read.state != Read::State::free &&
           geometry_.extent_of(read.from) == extent;
  });
  return found == reads_.end() ? nullptr : &*found;
}

void BodyReader::want(const WantedBody& wanted) {
  CHECK(wanted.position != log_pos_none, "a body without a position");
  pin(wanted.position);
  image_.note_want(wanted.position);
  ++wanted_;
  waiting_.push_back(wanted);
}

bool BodyReader::has_work() const {
  if (idle() && ahead_ == 0) return false;
  const bool begins = reading_ < reads_max && (!waiting_.empty() || ahead_ != 0);
  return begins || std::ranges::any_of(reads_, [](const Read& read) { return read.io.done; });
}

void BodyReader::pump() {
  if (idle() && ahead_ == 0) return;
  for (Read& read : reads_) {
    if (read.io.done) finish(read);
  }
  while (!waiting_.empty() && reading_ < reads_max) {
    const WantedBody wanted = waiting_.front();
    waiting_.pop_front();
    begin(wanted);
  }
  if (ahead_ != 0 && reading_ < reads_max) begin_ahead();
  CHECK(finished_ <= reading_ && reading_ <= reads_max, "{} of {} reads", finished_, reading_);
}

void BodyReader::begin(const WantedBody& wanted) {
  const std::uint64_t extent = geometry_.extent_of(wanted.position);
  if (image_.has(extent)) return come_.push_back(wanted);
  if (Read* const under_way = reading(extent)) return under_way->wanted.push_back(wanted);
  if (image_.wanted(extent) >= whole_after && begin_whole(extent, false)) {
    reading(extent)->wanted.push_back(wanted);
    if (image_.has(extent - 1)) ahead_ = extent + 1;  // the reads seem to be sequential
    return;
  }
  Read& read = take_read();
  read.whole = false;
  read.wanted.push_back(wanted);
  begin_piece(read, piece_bytes);
}

void BodyReader::read_ahead(std::uint64_t extent) { ahead_ = extent; }

void BodyReader::begin_ahead() {
  const std::uint64_t extent = std::exchange(ahead_, 0);
  if (!image_.settled(extent) || image_.live(extent) == 0 || image_.has(extent) ||
      reading(extent) != nullptr) {
    return;
  }
  (void)begin_whole(extent, true);
}

bool BodyReader::begin_whole(std::uint64_t extent, bool ahead) {
  if (image_.unreadable(extent) || !image_.make_space()) return false;
  CHECK(!image_.has(extent), "extent {} is in memory", extent);
  Read& read = take_read();
  pool_.add_live(geometry_.segment_of(extent * geometry_.extent_bytes));
  read.whole = true;
  read.from = extent * geometry_.extent_bytes;
  read.bytes = geometry_.extent_bytes;
  disk_.read(pool_.file(geometry_.segment_of(read.from)), geometry_.offset_of(read.from),
             {image_.begin_load(extent, ahead), read.bytes}, read.io);
  return true;
}

// Reads from the block where the record begins.
void BodyReader::begin_piece(Read& read, std::uint64_t bytes) {
  CHECK(read.wanted.size() == 1, "a piece for {} messages", read.wanted.size());
  const LogPos position = read.wanted.front().position;
  read.from = position - position % block_bytes;
  read.bytes = std::min(align_up(bytes, block_bytes), geometry_.extent_end(position) - read.from);
  CHECK(read.from <= position && position < read.from + read.bytes, "{} in {} bytes at {}",
        position, read.bytes, read.from);
  if (read.memory.size() < read.bytes) read.memory = PageBlock(read.bytes);
  disk_.read(pool_.file(geometry_.segment_of(read.from)), geometry_.offset_of(read.from),
             read.memory.span().first(read.bytes), read.io);
}

void BodyReader::finish(Read& read) {
  CHECK(read.state == Read::State::under_way, "state {}", static_cast<int>(read.state));
  const bool read_all = read.io.result == static_cast<std::int64_t>(read.bytes);
  read.io = {};
  read.state = Read::State::finished;
  ++finished_;
  if (read_all) {
    bytes_read_ += read.bytes;
  } else {
    read.bytes = 0;
  }
  read.whole ? finish_whole(read) : finish_piece(read);
}

void BodyReader::finish_whole(Read& read) {
  if (read.bytes == 0) {
    for (const WantedBody& wanted : read.wanted) waiting_.push_back(wanted);  // retried one by one
    read.wanted.clear();
  }
  if (read.wanted.empty()) end(read);
}

// The record is not verified yet, but its length must be trusted to read all of it.
void BodyReader::finish_piece(Read& read) {
  if (read.bytes == 0) return;
  const std::uint64_t skip = read.wanted.front().position - read.from;
  CHECK(skip < block_bytes, "{} bytes before the record", skip);
  const std::uint64_t needed = skip + record_length(read.memory.data() + skip);
  const std::uint64_t most = geometry_.extent_end(read.from) - read.from;
  if (needed <= read.bytes || needed > most) return;
  read.state = Read::State::under_way;
  CHECK(finished_ > 0, "no read is finished");
  --finished_;
  begin_piece(read, needed);
}

void BodyReader::end(Read& read) {
  CHECK(read.state == Read::State::finished, "state {}", static_cast<int>(read.state));
  CHECK(reading_ > 0 && finished_ > 0, "{} of {} reads", finished_, reading_);
  if (read.whole) {
    image_.end_load(geometry_.extent_of(read.from), read.bytes > 0);
    pool_.release(geometry_.segment_of(read.from), 0);
  } else if (read.memory.size() > piece_bytes) {
    read.memory = PageBlock();
  }
  read.state = Read::State::free;
  --reading_;
  --finished_;
}

void BodyReader::give(const WantedBody& from, std::span<const std::byte> bytes, WantedBody& wanted,
                      std::span<const std::byte>& record) {
  CHECK(wanted_ > 0, "no message is wanted");
  CHECK(given_ == log_pos_none, "the body at {} is in use", given_);
  --wanted_;
  wanted = from;
  given_ = from.position;
  const bool good =
      !bytes.empty() && (is_whole_message(bytes, geometry_.stream) || MUTANT(believe_bodies));
  record = good ? bytes.first(record_length(bytes.data())) : std::span<const std::byte>();
  if (!good) ++damaged_;
}

bool BodyReader::next(WantedBody& wanted, std::span<const std::byte>& record) {
  if (given_ != log_pos_none) unpin(std::exchange(given_, log_pos_none));
  if (idle()) return false;
  for (; !come_.empty(); come_.pop_front()) {
    const WantedBody body = come_.front();
    if (!image_.has_at(body.position)) {  // evicted again
      waiting_.push_back(body);
      continue;
    }
    come_.pop_front();
    give(body, image_.rest_of_extent(body.position), wanted, record);
    return true;
  }
  for (Read& read : reads_) {
    if (read.state != Read::State::finished) continue;
    if (read.given < read.wanted.size()) {
      const WantedBody body = read.wanted[read.given++];
      const std::span<const std::byte> bytes =
          read.whole ? image_.rest_of_extent(body.position)
                     : std::span<const std::byte>(read.memory.span().first(read.bytes))
                           .subspan(read.bytes == 0 ? 0 : body.position - read.from);
      give(body, bytes, wanted, record);
      return true;
    }
    end(read);
  }
  return false;
}

}  // namespace pawl

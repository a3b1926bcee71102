// BodyReader: messages whose bodies are on the disk alone, read back.
//
//   want() -> waiting -> reading (a piece, or the whole extent) -> next()
//
// A few messages of an extent are read one by one; when more and more of it is wanted, all of it is, into the
// image, and while one extent after the other is drained the one behind it is read ahead. What cannot be read as a
// whole is read piece by piece: damage costs the messages it lies in, not their neighbours.
//
// A wanted message holds its segment, whatever becomes of it meanwhile.
//
// Limits: reads_max under way; the rest waits in order.
// Errors: none here; next() says which messages cannot be read.
// Owner:  the log of one shard. The disk must have nothing of it under way any more when it is destroyed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/request.h"
#include "core/ring_queue.h"
#include "wal/disk.h"
#include "wal/format.h"
#include "wal/image.h"
#include "wal/segment_pool.h"

namespace pawl {

// A message's body, and whom it is for.
struct WantedBody {
  LogPos position = log_pos_none;
  Request* request = nullptr;
  std::uint32_t delivery = 0;  // of the request
};

class BodyReader {
 public:
  static constexpr std::size_t reads_max = 8;
  static constexpr std::uint32_t whole_after = 8;  // messages wanted of an extent
  static constexpr std::uint64_t piece_bytes = 16 << 10;

  BodyReader(Disk& disk, const Geometry& geometry, Image& image, SegmentPool& pool)
      : disk_(disk), geometry_(geometry), image_(image), pool_(pool) {}

  void want(const WantedBody& wanted);
  // Its segment stays until let_go().
  void hold(LogPos position);
  void let_go(LogPos position);
  // An extent that was read ahead is used now: the next one.
  void read_ahead(std::uint64_t extent);
  // Looks at finished reads, begins new ones.
  void pump();
  // The next that has come: its record, or nothing if that cannot be read. Holds until the call after this one;
  // the position is released then.
  bool next(WantedBody& wanted, std::span<const std::byte>& record);

  // Nothing is wanted, and the disk has nothing of it.
  bool idle() const { return wanted_ == 0 && reading_ == 0; }
  // There is something to do for pump() or next() now.
  bool due() const {
    return finished_ > 0 || !come_.empty() || (!waiting_.empty() && reading_ < reads_max);
  }
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t damaged() const { return damaged_; }

 private:
  struct Read {
    enum class State : std::uint8_t { free, under_way, finished };
    State state = State::free;
    bool whole = false;  // of an extent, into the image
    Io io;
    Lsn from = 0;
    std::uint64_t bytes = 0;         // 0: they could not be read
    PageBlock memory;                // of a piece
    std::vector<WantedBody> wanted;  // one, of a piece
    std::size_t given = 0;           // of these
  };

  Read& take_read();
  Read* reading(std::uint64_t extent);
  void begin(const WantedBody& wanted);
  void begin_ahead();
  bool begin_whole(std::uint64_t extent, bool ahead);
  void begin_piece(Read& read, std::uint64_t bytes);
  void finish(Read& read);
  void finish_whole(Read& read);
  void finish_piece(Read& read);
  void end(Read& read);
  void give(const WantedBody& from, std::span<const std::byte> bytes, WantedBody& wanted,
            std::span<const std::byte>& record);

  Disk& disk_;
  Geometry geometry_;
  Image& image_;
  SegmentPool& pool_;
  std::array<Read, reads_max> reads_;
  std::size_t reading_ = 0;   // of reads_: not free
  std::size_t finished_ = 0;  // of these
  RingQueue<WantedBody> waiting_;
  RingQueue<WantedBody> come_;  // in the image since they were wanted
  std::uint64_t wanted_ = 0;    // and not given yet
  std::uint64_t ahead_ = 0;     // an extent to be read ahead; 0: none
  LogPos given_ = log_pos_none;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace pawl

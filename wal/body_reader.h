// SPDX-License-Identifier: Apache-2.0
// BodyReader: reads message bodies that are on the disk only.
//
//   want() -> waiting -> reading (a piece, or the whole extent) -> next()
//
// The first few wanted messages of an extent are read one by one. When more are wanted, the whole
// extent is read into the image. While extents are drained in order, the next one is read ahead. An
// extent that cannot be read whole is read piece by piece: damage costs the messages it lies in,
// not their neighbours.
//
// A wanted message keeps its segment on disk until it is delivered, even if it is deleted
// meanwhile.
//
// Limits: reads_max reads under way; further wanted messages wait in order.
// Errors: none; next() returns an empty record for a message that cannot be read.
// Owner:  the log of one shard. Destroy it only when none of its reads is under way.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/containers/ring_queue.h"
#include "core/queue/request.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/image.h"
#include "wal/segments/segment_pool.h"

namespace pawl {

// The position of a wanted body, and the request that waits for it.
struct WantedBody {
  LogPos position = log_pos_none;
  Request* request = nullptr;
  std::uint32_t delivery = 0;  // index in the request's deliveries
};

class BodyReader {
 public:
  static constexpr std::size_t reads_max = 8;
  static constexpr std::uint32_t whole_after = 8;  // wanted messages of an extent
  static constexpr std::uint64_t piece_bytes = 16 << 10;

  BodyReader(Disk& disk, const Geometry& geometry, Image& image, SegmentPool& pool)
      : disk_(disk), geometry_(geometry), image_(image), pool_(pool) {}

  void want(const WantedBody& wanted);
  // Keeps the record's segment until unpin().
  void pin(LogPos position);
  void unpin(LogPos position);
  // Requests the read-ahead of `extent`, because the one before it is in use.
  void read_ahead(std::uint64_t extent);
  // Handles finished reads and begins new ones.
  void pump();
  // True: pump() has something to do.
  bool has_work() const;
  // Returns the next wanted message that was read; `record` is empty if it cannot be read. The
  // record is valid until the next call, which releases the position.
  bool next(WantedBody& wanted, std::span<const std::byte>& record);

  // No message is wanted, and no read is under way.
  bool idle() const { return wanted_ == 0 && reading_ == 0; }
  // pump() or next() has work now.
  bool due() const {
    return finished_ > 0 || !come_.empty() || (!waiting_.empty() && reading_ < reads_max);
  }
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t damaged() const { return damaged_; }

 private:
  struct Read {
    enum class State : std::uint8_t { free, under_way, finished };
    State state = State::free;
    bool whole = false;  // reads a whole extent into the image
    Io io;
    Lsn from = 0;
    std::uint64_t bytes = 0;         // 0: the read failed
    PageBlock memory;                // piece only
    std::vector<WantedBody> wanted;  // a piece has one
    std::size_t given = 0;           // delivered entries of `wanted`
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
  std::size_t reading_ = 0;   // entries of reads_ in use
  std::size_t finished_ = 0;  // entries of reads_ in state finished
  RingQueue<WantedBody> waiting_;
  RingQueue<WantedBody> come_;  // wanted bodies found in the image
  std::uint64_t wanted_ = 0;    // messages not delivered yet
  std::uint64_t ahead_ = 0;     // extent to read ahead; 0: none
  LogPos given_ = log_pos_none;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace pawl

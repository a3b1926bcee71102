// SPDX-License-Identifier: Apache-2.0
// PowerCut: all states of a SimDisk that a power cut at one moment may leave.
//
// Durable data stays. Each other piece stays or is lost: a sector of a write, a file size, a name
// change. Pieces that would change nothing are left out.
//
// Units:  bytes; a sector is 512.
// Owner:  a test. The disk must not change while the cut is in use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/sim_disk.h"

namespace pawl::sim {

class PowerCut {
 public:
  static constexpr std::size_t sector_bytes = 512;
  // One value for each piece; not 0: it stays.
  using Kept = std::vector<std::uint8_t>;
  struct Outcome {
    std::unique_ptr<SimDisk> disk;
    std::uint64_t hash = 0;  // of names and contents
  };

  explicit PowerCut(const SimDisk& disk);

  std::size_t pieces() const { return pieces_.size(); }
  // The 4 KiB block of a write that a piece belongs to; blocks are numbered from 0.
  std::size_t block(std::size_t piece) const { return pieces_[piece].block; }
  std::size_t blocks() const { return blocks_; }
  // The same for the same pieces of the same disk.
  std::uint64_t hash() const { return hash_; }
  Outcome outcome(std::span<const std::uint8_t> kept) const;

  // The time up to which a disk has stepped.
  static std::uint64_t now_us(const SimDisk& disk) { return disk.now_; }

 private:
  enum class Kind : std::uint8_t { sector, size, name };
  struct Piece {
    Kind kind{};
    std::size_t block = 0;
    std::size_t file = 0;
    const SimDisk::Pending* write = nullptr;
    std::size_t change = 0;
    std::uint64_t from = 0, to = 0;
    std::uint64_t hash = 0;
  };
  struct File {
    SimDisk::InodePtr inode;
    std::uint64_t sum = 0;  // of the hashes of its durable sectors
  };

  std::size_t file_of(const SimDisk::InodePtr& inode);
  void add_sectors(std::size_t file, const SimDisk::Pending& write);
  void add_sizes(std::size_t file);

  const SimDisk& disk_;
  std::vector<File> files_;
  std::vector<Piece> pieces_;
  std::size_t blocks_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace pawl::sim

// The data directory as a whole: whose it is, and what its file PAWL says.
//
//   DIR/LOCK   held while a server runs on it
//   DIR/PAWL   which logs there are, secrets, clock (wal/data_identity.h); mode 0600
//   DIR/s00 .. one directory a shard (wal/FORMAT.md)
//
// Errors: a text that says what failed, with which value, and what to do.
// Owner:  the server; the lock is given back when this goes.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "wal/data_identity.h"

namespace pawl {

class DataDir {
 public:
  // Opens the directory or makes it, with `shards` and `segment_bytes` when it is new. A directory that was
  // made with another number of shards keeps its own; `shards` 0 asks for nothing.
  static std::expected<std::unique_ptr<DataDir>, std::string> open(const std::string& path,
                                                                   std::uint32_t shards,
                                                                   std::uint64_t segment_bytes);
  ~DataDir();
  DataDir(const DataDir&) = delete;
  DataDir& operator=(const DataDir&) = delete;

  const DataIdentity& identity() const { return identity_; }
  // Makes `next` what PAWL says, durably, in both of its copies. Blocking.
  std::expected<void, std::string> write(DataIdentity next);
  // Of the file whose lock says that the directory is in use. Whoever writes to the directory by io_uring has its ring
  // hold it (Ring::hold): what a killed process had under way may reach the disk after the process has gone, and must
  // not meet the writes of the next.
  int lock() const { return lock_; }
  // Says in the lock's file which process has the directory: who comes after it waits for its last writes.
  void note_process() const;
  std::string shard_path(std::uint32_t shard) const;

 private:
  DataDir(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
  DataIdentity identity_;
};

// What PAWL says, for those who only look; no lock is taken.
std::expected<DataIdentity, std::string> read_identity_of(const std::string& directory);

}  // namespace pawl

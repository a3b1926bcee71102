// The data directory as a whole: whose it is, how it was made, the secret that seals receipt handles.
//
//   DIR/LOCK   held while a server runs on it
//   DIR/PAWL   4 KiB: magic, format version, shards, segment size, data id, secret, checksum; mode 0600
//   DIR/s00 .. one directory a shard (wal/FORMAT.md)
//
// Errors: a text that says what failed, with which value, and what to do.
// Owner:  the server; the lock is given back when this goes.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "core/receipt.h"

namespace pawl {

struct DataIdentity {
  static constexpr std::uint32_t version = 1;

  std::uint32_t shards = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t data_id = 0;  // random
  Secret secret{};
};

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
  // Of the file whose lock says that the directory is in use. Whoever writes to the directory by io_uring has its ring
  // hold it (Ring::hold): what a killed process had under way may reach the disk after the process has gone, and must
  // not meet the writes of the next.
  int lock() const { return lock_; }
  // Says in the lock's file which process has the directory: who comes after it waits for its last writes.
  void note_process() const;
  std::string shard_path(std::uint32_t shard) const;
  // The log stream of a shard: random, but the same for the life of the directory.
  std::uint64_t stream_of(std::uint32_t shard) const;

 private:
  DataDir(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
  DataIdentity identity_;
};

}  // namespace pawl

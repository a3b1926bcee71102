// SPDX-License-Identifier: Apache-2.0
// The data directory as a whole: its lock, and its file PAWL.
//
//   DIR/LOCK   locked while a server uses the directory
//   DIR/PAWL   list of logs, secrets, clock (wal/data_identity.h); mode 0600
//   DIR/s00 .. one directory a shard (wal/FORMAT.md)
//
// Errors: a text with the failure, the value and the remedy; StartFault::data if PAWL is missing,
//         damaged, foreign or of a newer version.
// Owner:  the server; the destructor releases the lock.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "net/server/start_error.h"
#include "wal/data_identity.h"

namespace pawl {

class DataDir {
 public:
  // Opens the directory, or makes it with `shards` and `segment_bytes`. An existing directory keeps
  // its own number of shards; `shards` is then ignored.
  static std::expected<std::unique_ptr<DataDir>, StartError> open(const std::string& path,
                                                                  std::uint32_t shards,
                                                                  std::uint64_t segment_bytes);
  ~DataDir();
  DataDir(const DataDir&) = delete;
  DataDir& operator=(const DataDir&) = delete;

  const DataIdentity& identity() const { return identity_; }
  // Writes `next` to both copies in PAWL, durably. Blocking.
  std::expected<void, std::string> write(DataIdentity next);
  // The file LOCK. Every ring that writes to the directory must hold it (Ring::hold): writes of a
  // killed process may reach the disk after its end, and must not meet those of the next process.
  int lock() const { return lock_; }
  // Writes this process's number into LOCK, so that the next process waits for its last writes.
  void note_process() const;
  std::string shard_path(std::uint32_t shard) const;

 private:
  DataDir(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
  DataIdentity identity_;
};

// Reads PAWL without taking the lock, for read-only tools.
std::expected<DataIdentity, std::string> read_identity_of(const std::string& directory);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// ManifestFiles: the two manifests of a log, written in turn, so that one is always whole.
//
//   idle --write()--> armed --finish()--> idle       (write_now() does both at once)
//
// Errors: Errc::corrupt (none is whole), Errc::version, Errc::io.
// Owner:  the log of one shard.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/format/page_block.h"

namespace pawl {

// The facts that a data directory records about one of its logs (wal/data_identity.h). A missing
// log without a data directory is made.
struct LogMembership {
  bool made = false;         // the log was made; if missing, it is lost
  std::uint64_t starts = 0;  // startups of the directory before this one
};

// The reason why the files found are not the directory's log: there are none, or they belong to
// another log, or to this log at another time.
enum class LogAbsence : std::uint8_t { none, lost, another_log, another_time };
// `segments`: true if there are segment files.
LogAbsence absence_of(const std::optional<Manifest>& manifest, bool segments, std::uint64_t stream,
                      const LogMembership& membership);

class ManifestFiles {
 public:
  explicit ManifestFiles(Disk& disk) : disk_(disk), block_(block_bytes) {}
  ~ManifestFiles();
  ManifestFiles(const ManifestFiles&) = delete;
  ManifestFiles& operator=(const ManifestFiles&) = delete;

  // Opens the two files and durably makes missing ones. Returns the newest whole manifest, or
  // nothing if neither is whole. A manifest of a newer version is Errc::version.
  Result<std::optional<Manifest>> open();

  const Manifest& current() const { return current_; }
  bool busy() const { return io_.armed || io_.done; }
  bool written_now() const { return io_.done; }       // finish() has something to do
  std::uint64_t written() const { return written_; }  // manifests since open()

  // Writes `next` as the newest; its generation is set here. Blocking.
  Result<void> write_now(Manifest next);
  // The same without waiting. When finish() returns true, `next` is on disk and is current().
  void write(Manifest next);
  Result<bool> finish();

 private:
  FileId prepare(Manifest& next);

  Disk& disk_;
  FileId files_[2] = {FileId::none, FileId::none};
  Manifest current_;
  Manifest next_;
  PageBlock block_;
  Io io_;
  std::uint64_t written_ = 0;
};

}  // namespace pawl

// ManifestFiles: the two manifests of a log, written in turn, so that one whole one is always there.
//
//   idle --write()--> armed --finish()--> idle       (write_now() goes there and back at once)
//
// Errors: Errc::corrupt (none is whole), Errc::version, Errc::io.
// Owner:  the log of one shard.
#pragma once

#include <optional>

#include "core/result.h"
#include "wal/disk.h"
#include "wal/format.h"
#include "wal/image.h"

namespace pawl {

// What a data directory knows of one of its logs (wal/data_identity.h). A log without a directory is made if it is not
// there.
struct LogMembership {
  bool made = false;         // it has been there: when it is not, it is lost
  std::uint64_t starts = 0;  // of the directory, before this one
};

// How what is found may not be the directory's log: there is nothing, or the files are those of another log, or of
// another time of this one.
enum class LogAbsence : std::uint8_t { none, lost, another_log, another_time };
// `segments`: whether there are any.
LogAbsence absence_of(const std::optional<Manifest>& manifest, bool segments, std::uint64_t stream,
                      const LogMembership& membership);

class ManifestFiles {
 public:
  explicit ManifestFiles(Disk& disk) : disk_(disk), block_(block_bytes) {}
  ~ManifestFiles();
  ManifestFiles(const ManifestFiles&) = delete;
  ManifestFiles& operator=(const ManifestFiles&) = delete;

  // Opens what is there and makes what is not, durably. The newest whole manifest, or nothing if neither
  // is whole. A manifest of a newer version is Errc::version.
  Result<std::optional<Manifest>> open();

  const Manifest& current() const { return current_; }
  bool busy() const { return io_.armed || io_.done; }
  std::uint64_t written() const { return written_; }  // manifests since open()

  // Writes `next` as the newest; its generation is set here. Blocking.
  Result<void> write_now(Manifest next);
  // The same without waiting: when busy() was true and finish() says true, it is on disk and current().
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

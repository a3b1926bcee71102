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

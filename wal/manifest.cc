// SPDX-License-Identifier: Apache-2.0
#include "wal/manifest.h"

#include <algorithm>
#include <cerrno>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

LogAbsence absence_of(const std::optional<Manifest>& manifest, bool segments, std::uint64_t stream,
                      const LogMembership& membership) {
  if (manifest && manifest->stream != stream) return LogAbsence::another_log;
  if (!membership.made || MUTANT(forget_made)) return LogAbsence::none;
  if (!manifest) return segments ? LogAbsence::none : LogAbsence::lost;
  if (manifest->epoch == 0) return LogAbsence::lost;
  const bool right = manifest->start == membership.starts ||
                     manifest->start == membership.starts + 1;  // an interrupted startup
  return right || MUTANT(ignore_start) ? LogAbsence::none : LogAbsence::another_time;
}

ManifestFiles::~ManifestFiles() {
  for (const FileId file : files_) {
    if (file != FileId::none) disk_.close(file);
  }
}

Result<std::optional<Manifest>> ManifestFiles::open() {
  const auto listed = disk_.list();
  if (!listed) return std::unexpected(listed.error());
  std::optional<Manifest> newest;
  for (int i = 0; i < 2; ++i) {
    const bool there =
        std::ranges::find(*listed, manifest_names[i], &FileInfo::name) != listed->end();
    const auto file = there ? disk_.open(manifest_names[i]) : disk_.create(manifest_names[i]);
    if (!file) return std::unexpected(file.error());
    files_[i] = *file;
    // Writes of a crashed process may be in a cache only: they are made durable before they are
    // trusted.
    if (auto synced = disk_.sync_now(*file); !synced) return std::unexpected(synced.error());
    const auto bytes = disk_.read_now(*file, 0, block_.span());
    if (!bytes) return std::unexpected(bytes.error());
    if (*bytes < block_bytes) continue;
    const auto manifest = read_manifest(ConstBlock(block_.data(), block_bytes));
    if (!manifest && manifest.error().code == Errc::version)
      return std::unexpected(manifest.error());
    if (manifest && (!newest || manifest->generation > newest->generation)) newest = *manifest;
  }
  if (auto synced = disk_.sync_dir_now(); !synced)
    return std::unexpected(synced.error());  // the file names too
  if (newest) current_ = *newest;
  return newest;
}

FileId ManifestFiles::prepare(Manifest& next) {
  CHECK(!busy(), "a manifest is being written");
  CHECK(next.checkpoint <= next.checkpoint_end, "a checkpoint from {} to {}", next.checkpoint,
        next.checkpoint_end);
  next.generation = current_.generation + 1;
  write_manifest(Block(block_.data(), block_bytes), next);
  const FileId file = files_[next.generation % 2];
  CHECK(file != FileId::none, "the manifests are not open");
  return file;
}

Result<void> ManifestFiles::write_now(Manifest next) {
  const FileId file = prepare(next);
  if (auto written = disk_.write_now(file, 0, block_.span()); !written) return written;
  if (auto synced = disk_.sync_now(file); !synced) return synced;
  current_ = next;
  ++written_;
  return {};
}

void ManifestFiles::write(Manifest next) {
  const FileId file = prepare(next);
  next_ = next;
  disk_.write(file, 0, block_.span(), MUTANT(manifest_in_cache) ? Flush::no : Flush::yes, io_);
}

Result<bool> ManifestFiles::finish() {
  if (!io_.done) return false;
  const std::int32_t result = io_.result;
  io_ = {};
  if (result != static_cast<std::int32_t>(block_bytes)) {
    return fail(Errc::io, "manifest write", result < 0 ? -result : EIO);
  }
  CHECK(next_.generation == current_.generation + 1, "generation {} after {}", next_.generation,
        current_.generation);
  current_ = next_;
  ++written_;
  return true;
}

}  // namespace pawl

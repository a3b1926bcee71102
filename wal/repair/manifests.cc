// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/manifests.h"

#include <cerrno>

#include "core/base/check.h"
#include "wal/repair/content.h"

namespace pawl {

Result<Manifests> read_manifests(BlockingDisk& disk) {
  Manifests found;
  for (const std::string_view name : manifest_names) {
    const auto content = read_file(disk, name, 0, block_bytes);
    if (!content && content.error().sys == ENOENT) continue;
    if (!content) return std::unexpected(content.error());
    ++found.files;
    if (content->size() < block_bytes) continue;
    const auto manifest = read_manifest(ConstBlock(content->data(), block_bytes));
    if (!manifest && manifest.error().code == Errc::version)
      return std::unexpected(manifest.error());
    if (!manifest) continue;
    ++found.whole;
    if (!found.newest || manifest->generation > found.newest->generation) found.newest = *manifest;
  }
  CHECK(found.whole <= found.files, "{} of {} manifests", found.whole, found.files);
  CHECK((found.whole > 0) == found.newest.has_value(), "{} manifests", found.whole);
  return found;
}

}  // namespace pawl

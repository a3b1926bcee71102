// SPDX-License-Identifier: Apache-2.0
// The manifests of a log that is not open.
//
// Errors: Errc::version (written by a newer version), Errc::io. A damaged manifest is no error.
// Owner:  values.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"

namespace pawl {

struct Manifests {
  std::optional<Manifest> newest;
  int files = 0;  // number of manifest files, 0 to 2
  int whole = 0;  // number of whole manifests among them
};

Result<Manifests> read_manifests(BlockingDisk& disk);

}  // namespace pawl

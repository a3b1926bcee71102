// SPDX-License-Identifier: Apache-2.0
// The manifests of a log that is not open.
//
// Errors: Errc::version (written by a newer version), Errc::io. A damaged manifest is no error.
// Owner:  values.
#pragma once

#include <optional>
#include <string>

#include "core/result.h"
#include "wal/format.h"

namespace pawl {

struct Manifests {
  std::optional<Manifest> newest;
  int whole = 0;  // number of whole manifests, 0 to 2
};

Result<Manifests> read_manifests(const std::string& directory);

}  // namespace pawl

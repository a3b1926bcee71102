// The manifests of a log that is not open.
//
// Errors: Errc::version (of a newer version), Errc::io. Damage is none.
// Owner:  values.
#pragma once

#include <optional>
#include <string>

#include "core/result.h"
#include "wal/format.h"

namespace pawl {

struct Manifests {
  std::optional<Manifest> newest;
  int whole = 0;  // of the two
};

Result<Manifests> read_manifests(const std::string& directory);

}  // namespace pawl

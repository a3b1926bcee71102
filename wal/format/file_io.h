// SPDX-License-Identifier: Apache-2.0
// Whole reads and writes of an open file, at any offset, for the disks of real directories. They
// continue after a signal and after a part was moved.
//
// Units:  bytes.
// Errors: Errc::io with errno; a write also Errc::no_space on a full disk.
// Owner:  the caller owns the descriptor. Blocking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"

namespace pawl {

// Returns the bytes read: fewer than asked only at the end of the file.
Result<std::size_t> read_file(int fd, std::uint64_t offset, std::span<std::byte> into);
Result<void> write_file(int fd, std::uint64_t offset, std::span<const std::byte> from);

}  // namespace pawl

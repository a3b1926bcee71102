// SPDX-License-Identifier: Apache-2.0
// Chooses the backend of the rings of this process: io_uring where it is allowed and complete.
//
// Docker, containerd, podman and Kubernetes refuse io_uring by default, and some profiles refuse
// only a part of it. So the first ring is made with the real flags and buffers, and one operation
// of each kind runs on it.
//
// Errors: automatic: EPERM, EACCES, ENOSYS and EINVAL choose threads; any other error, ENOMEM for
//         example, is the caller's: it is a limit to raise.
// Owner:  the calling thread owns the ring.
// Source: io_uring_setup(2), io_uring_enter(2), io_uring_register(2).
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "net/io/ring.h"

namespace pawl {

enum class IoWish : std::uint8_t { automatic, uring, threads };

// Whether this errno of the first ring makes the server use threads.
bool is_refusal(int error);

struct RingChoice {
  IoBackend backend = IoBackend::uring;
  // Why it is not io_uring: the call or operation that was refused, and its errno; 0: it was asked.
  const char* refused = "";
  int error = 0;
};

// Makes the first ring. `choice` says which one, also after an error.
Result<std::unique_ptr<Ring>> choose_ring(IoWish wish, RingChoice& choice);

// Runs one operation of each kind that a shard uses. The ring has no other under way.
Result<void> probe_operations(Ring& ring);

}  // namespace pawl

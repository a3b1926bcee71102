// SPDX-License-Identifier: Apache-2.0
// The only interface to the kernel for a shard's thread: an io_uring or, where that is forbidden,
// the same queues interpreted in user space (net/io/software_ring.h).
//
//   sqe() ... -> submit() / wait() -> kernel -> reap(take): take(tag, result, flags)
//
// A completion is identified by a tag of operation, generation and index, never by a pointer: a
// late completion for a destroyed object finds another generation and is dropped.
//
// Flags: SINGLE_ISSUER and DEFER_TASKRUN, so completions appear only when this thread enters the
// kernel with "get events", which submit() and wait() always do; COOP_TASKRUN, TASKRUN_FLAG,
// SUBMIT_ALL, CQSIZE, CLAMP. Kernel 6.1 or newer.
//
// Units:  bytes; nanoseconds for wait().
// Limits: sq_entries submissions between two submits (a full queue is submitted on the way); 8
//         times as many completions; receive_buffers of receive_buffer_bytes for all connections of
//         the shard.
// Errors: create() returns errno in Error::sys; net/server/machine.h explains it. A kernel that
//         refuses io_uring_enter() later ends the process with exit code 1: no completion can be
//         collected any more.
// Owner:  the thread that created it.
// Source: io_uring_setup(2), io_uring_enter(2); liburing 2.3.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "net/io/software_ring.h"

namespace pawl {

enum class IoBackend : std::uint8_t { uring, threads };
constexpr std::string_view name_of(IoBackend backend) {
  return backend == IoBackend::uring ? "uring" : "threads";
}

enum class RingOp : std::uint8_t { none, disk, accept, receive, send, cancel, wake, event };

struct RingTag {
  RingOp op = RingOp::none;
  std::uint32_t generation = 0;  // 24 bits
  std::uint32_t index = 0;
};

class Ring {
 public:
  static constexpr unsigned sq_entries = 1024;
  static constexpr unsigned cq_entries = 8 * sq_entries;
  static constexpr unsigned receive_buffers = 256;
  static constexpr unsigned receive_buffer_bytes = 32 << 10;
  static constexpr int buffer_group = 0;

  // Error::what of create() if the kernel refuses the ring itself, not its receive buffers.
  static constexpr const char* setup_call = "io_uring_setup";

  static Result<std::unique_ptr<Ring>> create(IoBackend backend = IoBackend::uring);
  ~Ring();
  IoBackend backend() const { return software_ ? IoBackend::threads : IoBackend::uring; }
  // Keeps the file open, and a lock on it held, until the kernel frees the ring. That is when its
  // last operation has ended, possibly after the process has. Threads need no help: the kernel
  // closes their files after their last call. Call once, on the ring's thread.
  Result<void> hold(int fd);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Returns a submission to fill, its tag already set. `together` submissions can be taken in a row
  // without a submit in between, because a submit would break a link.
  io_uring_sqe* sqe(RingTag tag, unsigned together = 1);

  // Prepares the cancel of the operation with this tag. The cancel itself completes as
  // {RingOp::cancel}.
  void cancel(RingTag operation);

  // Submits the prepared operations and collects completions; does not wait.
  void submit();
  // The same, and waits until an operation has finished or the time is over.
  void wait(std::uint64_t timeout_ns);
  // The same, for a probe: returns a refusal instead of ending the process.
  Result<void> try_wait(std::uint64_t timeout_ns);

  // Passes finished operations to `take`, at most `max`. Returns how many.
  template <typename Take>
  unsigned reap(unsigned max, Take&& take) {
    unsigned taken = 0;
    unsigned head = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      if (taken == max) break;
      ++taken;
      const std::uint64_t data = cqe->user_data;
      take(RingTag{static_cast<RingOp>(data >> 56),
                   static_cast<std::uint32_t>(data >> 32) & 0xFF'FFFF,
                   static_cast<std::uint32_t>(data)},
           cqe->res, cqe->flags);
    }
    io_uring_cq_advance(&ring_, taken);
    return taken;
  }

  // Provided buffers for multishot receives.
  std::string_view buffer(std::uint32_t cqe_flags, std::int32_t bytes) const;
  void recycle(std::uint32_t cqe_flags);
  unsigned buffers_out() const { return buffers_out_; }

  // Puts a completion {RingOp::wake} into another thread's ring of the same backend.
  void wake(int handle);
  int wake_handle() const;
  int fd() const { return ring_.ring_fd; }                   // -1: no io_uring
  std::uint32_t features() const { return ring_.features; }  // IORING_FEAT_*

 private:
  Ring() = default;
  Result<void> set_up();
  Result<void> make_buffers();
  Result<void> register_buffers();

  io_uring ring_{};
  bool made_ = false;
  std::unique_ptr<SoftwareRing> software_;  // null: io_uring
  io_uring_buf_ring* buffer_ring_ = nullptr;
  char* buffers_ = nullptr;
  mutable unsigned buffers_out_ = 0;
};

}  // namespace pawl

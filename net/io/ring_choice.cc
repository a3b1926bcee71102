// SPDX-License-Identifier: Apache-2.0
#include "net/io/ring_choice.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

namespace pawl {
namespace {

constexpr std::uint64_t wait_ns = 100'000'000;
// A busy machine may let a thread of the kernel wait; an operation that is unknown ends at once.
constexpr std::chrono::seconds patience{20};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return fd_; }

 private:
  int fd_;
};

// Operations under way, each with the index of its tag.
class OperationProbe {
 public:
  explicit OperationProbe(Ring& ring) : ring_(ring) {}

  io_uring_sqe* entry(const char* name, std::int32_t expected, unsigned together = 1) {
    Operation& operation = operations_[count_];
    operation.name = name;
    operation.expected = expected;
    return ring_.sqe({.op = RingOp::none, .index = count_++}, together);
  }

  // Waits until each has ended. An operation that the kernel refuses or does not know is an error.
  Result<void> end() {
    const auto begun = std::chrono::steady_clock::now();
    while (!all_ended()) {
      if (std::chrono::steady_clock::now() - begun > patience)
        return fail(Errc::io, "io_uring operations", ETIMEDOUT);
      if (auto waited = ring_.try_wait(wait_ns); !waited) return waited;
      ring_.reap(Ring::cq_entries, [this](RingTag tag, std::int32_t result, std::uint32_t flags) {
        if ((flags & IORING_CQE_F_BUFFER) != 0) {
          (void)ring_.buffer(flags, 0);
          ring_.recycle(flags);
        }
        if (tag.op == RingOp::wake) woken_ = true;
        if (tag.op == RingOp::none && tag.index == 0 && result < 0) refused_wake_ = -result;
        if (tag.op == RingOp::none && tag.index < count_ && !operations_[tag.index].result)
          operations_[tag.index].result = result;
      });
    }
    if (!woken_) return fail(Errc::io, "io_uring operation MSG_RING", refused_wake_);
    for (const Operation& operation : operations_) {
      if (operation.name == nullptr) break;
      const std::int32_t result = *operation.result;
      if (result != operation.expected && is_refusal(-result))
        return fail(Errc::io, operation.name, -result);
    }
    return {};
  }

 private:
  struct Operation {
    const char* name = nullptr;
    std::int32_t expected = 0;
    std::optional<std::int32_t> result;
  };

  bool all_ended() const {
    for (std::uint32_t i = 0; i < count_; ++i)
      if (!operations_[i].result) return false;
    return woken_ || refused_wake_ != 0;
  }

  Ring& ring_;
  std::array<Operation, 16> operations_;
  std::uint32_t count_ = 0;
  bool woken_ = false;
  int refused_wake_ = 0;
};

void probe_disk(OperationProbe& probe, int file, const char* data, char* read) {
  io_uring_sqe* const write = probe.entry("io_uring operation WRITE", 1, 2);
  io_uring_prep_write(write, file, data, 1, 0);
  write->flags |= IOSQE_IO_LINK;
  io_uring_prep_fsync(probe.entry("io_uring operation FSYNC", 0), file, IORING_FSYNC_DATASYNC);
  io_uring_prep_read(probe.entry("io_uring operation READ", 1), file, read, 1, 0);
  io_uring_prep_fallocate(probe.entry("io_uring operation FALLOCATE", 0), file, FALLOC_FL_KEEP_SIZE,
                          0, 4096);
  io_uring_prep_unlinkat(probe.entry("io_uring operation UNLINKAT", -ENOENT), AT_FDCWD,
                         "/proc/self/no-such-file", 0);
}

}  // namespace

bool is_refusal(int error) {
  return error == EPERM || error == EACCES || error == ENOSYS || error == EINVAL;
}

Result<void> probe_operations(Ring& ring) {
  static __kernel_timespec soon{.tv_sec = 0, .tv_nsec = 1};
  static char read = 0;  // the kernel may write to it until the operation has ended
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(Errc::io, "socketpair", errno);
  const Descriptor ours(ends[0]);
  std::optional<Descriptor> theirs(std::in_place, ends[1]);
  const Descriptor event(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  const Descriptor file(memfd_create("pawl-probe", MFD_CLOEXEC));
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel picks a name
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)) != 0 ||
      ::listen(listener, 1) != 0)
    return fail(Errc::io, "a socket to try accept on", errno);
  if (event < 0 || file < 0) return fail(Errc::io, "descriptors of a probe", errno);

  OperationProbe probe(ring);
  io_uring_prep_nop(probe.entry("io_uring operation NOP", 0));
  io_uring_prep_timeout(probe.entry("io_uring operation TIMEOUT", -ETIME), &soon, 0, 0);
  probe_disk(probe, file, "x", &read);
  io_uring_prep_send(probe.entry("io_uring operation SEND", 1), ours, "x", 1,
                     MSG_NOSIGNAL | MSG_WAITALL);
  io_uring_sqe* const receive = probe.entry("io_uring operation RECV", 1);
  io_uring_prep_recv_multishot(receive, *theirs, nullptr, 0, 0);
  receive->flags |= IOSQE_BUFFER_SELECT;
  receive->buf_group = Ring::buffer_group;
  const std::uint64_t poll_tag = [&] {
    io_uring_sqe* const poll = probe.entry("io_uring operation POLL_ADD", POLLIN);
    io_uring_prep_poll_multishot(poll, event, POLLIN);
    return poll->user_data;
  }();
  io_uring_sqe* const accept = probe.entry("io_uring operation ACCEPT", -ECANCELED);
  io_uring_prep_multishot_accept(accept, listener, nullptr, nullptr, SOCK_CLOEXEC);
  const std::uint64_t accept_tag = accept->user_data;
  io_uring_prep_cancel64(probe.entry("io_uring operation ASYNC_CANCEL", 0), accept_tag, 0);
  ring.wake(ring.wake_handle());
  if (auto ended = probe.end(); !ended) return ended;

  io_uring_prep_cancel64(ring.sqe({.op = RingOp::cancel}), poll_tag, 0);
  ::shutdown(ours, SHUT_RDWR);  // ends the receive
  for (int round = 0; round < 2; ++round) {
    if (auto waited = ring.try_wait(wait_ns / 10); !waited) return waited;
    ring.reap(Ring::cq_entries, [&](RingTag, std::int32_t, std::uint32_t flags) {
      if ((flags & IORING_CQE_F_BUFFER) == 0) return;
      (void)ring.buffer(flags, 0);
      ring.recycle(flags);
    });
  }
  return {};
}

Result<std::unique_ptr<Ring>> choose_ring(IoWish wish, RingChoice& choice) {
  choice = {};
  if (wish != IoWish::threads) {
    auto ring = Ring::create();
    const Result<void> works = ring ? probe_operations(**ring) : std::unexpected(ring.error());
    if (works) return ring;
    choice = {IoBackend::uring, works.error().what, works.error().sys};
    if (wish == IoWish::uring || !is_refusal(works.error().sys))
      return std::unexpected(works.error());
  }
  choice.backend = IoBackend::threads;
  return Ring::create(IoBackend::threads);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/io/ring_choice.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "core/base/check.h"

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

// Operations under way, each with the index of its tag. The first is a wake-up of this ring itself,
// which Ring::wake() tags with index 0.
class OperationProbe {
 public:
  explicit OperationProbe(Ring& ring) : ring_(ring) {
    operations_[count_++].name = "io_uring operation MSG_RING";
    ring_.wake(ring_.wake_handle());
  }

  io_uring_sqe* entry(const char* name, unsigned together = 1) {
    operations_[count_].name = name;
    return ring_.sqe({.op = RingOp::none, .index = count_++}, together);
  }
  void cancel(const io_uring_sqe& operation) {
    io_uring_prep_cancel64(entry("io_uring operation ASYNC_CANCEL"), operation.user_data, 0);
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
        CHECK(tag.index < count_, "operation {} of {}", tag.index, count_);
        Operation& operation = operations_[tag.index];
        if (!operation.ended && is_refusal(-result)) operation.refusal = -result;
        operation.ended = (flags & IORING_CQE_F_MORE) == 0;
      });
    }
    for (const Operation& operation : operations_)
      if (operation.refusal != 0) return fail(Errc::io, operation.name, operation.refusal);
    return {};
  }

 private:
  struct Operation {
    const char* name = nullptr;
    int refusal = 0;  // errno
    bool ended = false;
  };

  bool all_ended() const {
    return std::all_of(operations_.begin(), operations_.begin() + count_,
                       [](const Operation& operation) { return operation.ended; });
  }

  Ring& ring_;
  std::array<Operation, 20> operations_;
  std::uint32_t count_ = 0;
};

void probe_disk(OperationProbe& probe, int file, const char* data, char* read) {
  io_uring_sqe* const write = probe.entry("io_uring operation WRITE", 2);
  io_uring_prep_write(write, file, data, 1, 0);
  write->flags |= IOSQE_IO_LINK;
  io_uring_prep_fsync(probe.entry("io_uring operation FSYNC"), file, IORING_FSYNC_DATASYNC);
  io_uring_prep_read(probe.entry("io_uring operation READ"), file, read, 1, 0);
  io_uring_prep_fallocate(probe.entry("io_uring operation FALLOCATE"), file, FALLOC_FL_KEEP_SIZE, 0,
                          4096);
  io_uring_prep_unlinkat(probe.entry("io_uring operation UNLINKAT"), AT_FDCWD,
                         "/proc/self/no-such-file", 0);
}

// Those that go on until they are cancelled.
void probe_sockets(OperationProbe& probe, int from, int to, int event, int listener) {
  io_uring_prep_send(probe.entry("io_uring operation SEND"), from, "x", 1,
                     MSG_NOSIGNAL | MSG_WAITALL);
  io_uring_sqe* const receive = probe.entry("io_uring operation RECV");
  io_uring_prep_recv_multishot(receive, to, nullptr, 0, 0);
  receive->flags |= IOSQE_BUFFER_SELECT;
  receive->buf_group = Ring::buffer_group;
  io_uring_sqe* const poll = probe.entry("io_uring operation POLL_ADD");
  io_uring_prep_poll_multishot(poll, event, POLLIN);
  io_uring_sqe* const accept = probe.entry("io_uring operation ACCEPT");
  io_uring_prep_multishot_accept(accept, listener, nullptr, nullptr, SOCK_CLOEXEC);
  for (const io_uring_sqe* const operation : {receive, poll, accept}) probe.cancel(*operation);
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
  const Descriptor from(ends[0]), to(ends[1]);
  const Descriptor event(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  const Descriptor file(memfd_create("pawl-probe", MFD_CLOEXEC));
  if (event < 0 || file < 0) return fail(Errc::io, "descriptors of a probe", errno);
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel picks a name
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)) != 0 ||
      ::listen(listener, 1) != 0)
    return fail(Errc::io, "a socket to try accept on", errno);

  OperationProbe probe(ring);
  io_uring_prep_nop(probe.entry("io_uring operation NOP"));
  io_uring_prep_timeout(probe.entry("io_uring operation TIMEOUT"), &soon, 0, 0);
  probe_disk(probe, file, "x", &read);
  probe_sockets(probe, from, to, event, listener);
  return probe.end();
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

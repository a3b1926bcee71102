// SPDX-License-Identifier: Apache-2.0
#include "net/io/ring.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "net/events/event_log.h"

namespace pawl {
namespace {

std::uint64_t user_data(RingTag tag) {
  return std::uint64_t{static_cast<std::uint8_t>(tag.op)} << 56 |
         std::uint64_t{tag.generation & 0xFF'FFFF} << 32 | tag.index;
}

// A filter may refuse the call only later, or now and then. Then no completion can be collected.
void check_enter(int error) {
  if (error == EBUSY || error == EINTR || error == EAGAIN) return;
  CHECK(error == EPERM || error == EACCES || error == ENOSYS, "io_uring_enter: {}",
        std::strerror(error));
  emit_last(Event{
      EventCode::io_uring_revoked,
      fmt::format("io_uring_enter was allowed at the start and is refused now ({}): a security "
                  "profile changed. What was acknowledged is on disk. The process stops; start it "
                  "again with `--io threads`, or allow io_uring_enter in the profile.",
                  std::strerror(error))}
                .with("errno", error));
  std::_Exit(1);
}

}  // namespace

Result<std::unique_ptr<Ring>> Ring::create(IoBackend backend) {
  std::unique_ptr<Ring> ring(new Ring);
  if (backend == IoBackend::threads) {
    auto made =
        SoftwareRing::create(ring->ring_, sq_entries, cq_entries, user_data({.op = RingOp::wake}));
    if (!made) return std::unexpected(made.error());
    ring->software_ = std::move(*made);
  } else if (const Result<void> made = ring->set_up(); !made) {
    return std::unexpected(made.error());
  }
  if (const Result<void> made = ring->make_buffers(); !made) return std::unexpected(made.error());
  return ring;
}

Result<void> Ring::set_up() {
  io_uring_params params{};
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL |
                 IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  params.cq_entries = cq_entries;
  if (const int error = io_uring_queue_init_params(sq_entries, &ring_, &params); error < 0)
    return fail(Errc::io, setup_call, -error);
  made_ = true;
  io_uring_register_ring_fd(&ring_);  // optional: it saves 16 ns for each enter
  return {};
}

// liburing 2.3 has the registration but not the helper that allocates (added in 2.4).
Result<void> Ring::make_buffers() {
  const std::size_t ring_bytes = receive_buffers * sizeof(io_uring_buf);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));  // arm64: up to 64 KiB
  void* memory = std::aligned_alloc(page, (ring_bytes + page - 1) / page * page);
  if (memory == nullptr) return fail(Errc::no_memory, "receive buffers", ENOMEM);
  std::memset(memory, 0, ring_bytes);
  buffer_ring_ = static_cast<io_uring_buf_ring*>(memory);
  void* const mapped = mmap(nullptr, std::size_t{receive_buffers} * receive_buffer_bytes,
                            PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return fail(Errc::no_memory, "receive buffers", errno);
  buffers_ = static_cast<char*>(mapped);
  if (software_) {
    software_->provide(buffer_ring_, receive_buffers);
  } else if (const Result<void> registered = register_buffers(); !registered) {
    return registered;
  }
  io_uring_buf_ring_init(buffer_ring_);
  for (unsigned i = 0; i < receive_buffers; ++i) {
    io_uring_buf_ring_add(buffer_ring_, buffers_ + std::size_t{i} * receive_buffer_bytes,
                          receive_buffer_bytes, static_cast<std::uint16_t>(i),
                          io_uring_buf_ring_mask(receive_buffers), static_cast<int>(i));
  }
  io_uring_buf_ring_advance(buffer_ring_, static_cast<int>(receive_buffers));
  return {};
}

Result<void> Ring::register_buffers() {
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uint64_t>(buffer_ring_);
  registration.ring_entries = receive_buffers;
  registration.bgid = buffer_group;
  if (const int error = io_uring_register_buf_ring(&ring_, &registration, 0); error < 0)
    return fail(Errc::io, "io_uring_register (receive buffers)", -error);
  return {};
}

Result<void> Ring::hold(int fd) {
  if (software_) return {};
  if (const int error = io_uring_register_files(&ring_, &fd, 1); error < 0)
    return fail(Errc::io, "io_uring_register (the lock)", -error);
  return {};
}

Ring::~Ring() {
  software_.reset();
  if (made_) io_uring_queue_exit(&ring_);
  if (buffers_ != nullptr) munmap(buffers_, std::size_t{receive_buffers} * receive_buffer_bytes);
  std::free(buffer_ring_);
}

io_uring_sqe* Ring::sqe(RingTag tag, unsigned together) {
  if (io_uring_sq_space_left(&ring_) < together) submit();
  CHECK(together > 0 && together <= sq_entries);
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
  CHECK(sqe != nullptr, "the submission queue is full after a submit");
  std::memset(sqe, 0, sizeof *sqe);
  io_uring_sqe_set_data64(sqe, user_data(tag));
  return sqe;
}

void Ring::cancel(RingTag operation) {
  io_uring_prep_cancel64(sqe({.op = RingOp::cancel}), user_data(operation), 0);
}

// EBUSY: completions wait for space; they are reaped in the next turn. EINTR, EAGAIN: the next turn
// tries again.
void Ring::submit() {
  if (software_) return software_->enter(0);
  const int submitted = io_uring_submit_and_get_events(&ring_);
  if (submitted < 0) check_enter(-submitted);
}

void Ring::wait(std::uint64_t timeout_ns) {
  if (const auto waited = try_wait(timeout_ns); !waited) check_enter(waited.error().sys);
}

Result<void> Ring::try_wait(std::uint64_t timeout_ns) {
  if (software_) {
    software_->enter(timeout_ns);
    return {};
  }
  __kernel_timespec timeout{};
  timeout.tv_sec = static_cast<std::int64_t>(timeout_ns / 1'000'000'000);
  timeout.tv_nsec = static_cast<std::int64_t>(timeout_ns % 1'000'000'000);
  io_uring_cqe* cqe = nullptr;
  const int result = io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &timeout, nullptr);
  if (result >= 0 || result == -ETIME) return {};
  return fail(Errc::io, "io_uring_enter", -result);
}

std::string_view Ring::buffer(std::uint32_t cqe_flags, std::int32_t bytes) const {
  const std::uint32_t id = cqe_flags >> IORING_CQE_BUFFER_SHIFT;
  CHECK((cqe_flags & IORING_CQE_F_BUFFER) != 0 && id < receive_buffers);
  CHECK(bytes >= 0 && static_cast<unsigned>(bytes) <= receive_buffer_bytes);
  ++buffers_out_;
  CHECK(buffers_out_ <= receive_buffers, "{} receive buffers are out", buffers_out_);
  return {buffers_ + std::size_t{id} * receive_buffer_bytes, static_cast<std::size_t>(bytes)};
}

void Ring::recycle(std::uint32_t cqe_flags) {
  const std::uint32_t id = cqe_flags >> IORING_CQE_BUFFER_SHIFT;
  CHECK((cqe_flags & IORING_CQE_F_BUFFER) != 0 && id < receive_buffers);
  CHECK(buffers_out_ > 0, "a receive buffer is returned twice");
  io_uring_buf_ring_add(buffer_ring_, buffers_ + std::size_t{id} * receive_buffer_bytes,
                        receive_buffer_bytes, static_cast<std::uint16_t>(id),
                        io_uring_buf_ring_mask(receive_buffers), 0);
  io_uring_buf_ring_advance(buffer_ring_, 1);
  --buffers_out_;
}

int Ring::wake_handle() const { return software_ ? software_->wake_handle() : ring_.ring_fd; }

void Ring::wake(int handle) {
  if (software_) return SoftwareRing::wake(handle);
  io_uring_sqe* const entry = sqe({.op = RingOp::none});
  io_uring_prep_msg_ring(entry, handle, 0, user_data({.op = RingOp::wake}), 0);
  io_uring_sqe_set_flags(entry, IOSQE_CQE_SKIP_SUCCESS);
}

}  // namespace pawl

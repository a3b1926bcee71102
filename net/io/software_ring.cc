// SPDX-License-Identifier: Apache-2.0
#include "net/io/software_ring.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <span>
#include <utility>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::uint64_t wake_amount = 1;
constexpr std::uint64_t second_ns = 1'000'000'000;

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * second_ns +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Waits for events. A kernel or emulator without the call in nanoseconds gets whole milliseconds.
int wait_for_events(int epoll_fd, std::span<epoll_event> events, std::uint64_t timeout_ns) {
  thread_local bool has_nanoseconds = true;
  const int most = static_cast<int>(events.size());
  if (timeout_ns == 0) return epoll_wait(epoll_fd, events.data(), most, 0);
  if (has_nanoseconds) {
    const timespec timeout{.tv_sec = static_cast<time_t>(timeout_ns / second_ns),
                           .tv_nsec = static_cast<long>(timeout_ns % second_ns)};
    const int found = epoll_pwait2(epoll_fd, events.data(), most, &timeout, nullptr);
    if (found >= 0 || (errno != ENOSYS && errno != EPERM)) return found;
    has_nanoseconds = false;
  }
  constexpr std::uint64_t ms_ns = 1'000'000;
  return epoll_wait(epoll_fd, events.data(), most,
                    static_cast<int>((timeout_ns + ms_ns - 1) / ms_ns));
}

bool would_wait(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

Result<std::unique_ptr<SoftwareRing>> SoftwareRing::create(io_uring& face, unsigned submissions,
                                                           unsigned completions,
                                                           std::uint64_t wake_data) {
  std::unique_ptr<SoftwareRing> made(new SoftwareRing(face, wake_data));
  made->epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (made->epoll_fd_ < 0) return fail(Errc::io, "epoll_create1", errno);
  made->wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made->wake_fd_ < 0) return fail(Errc::io, "eventfd", errno);
  epoll_event wake{.events = EPOLLIN, .data = {.fd = made->wake_fd_}};
  if (epoll_ctl(made->epoll_fd_, EPOLL_CTL_ADD, made->wake_fd_, &wake) != 0)
    return fail(Errc::io, "epoll_ctl", errno);
  auto disk = DiskThreads::create(made->wake_fd_);
  if (!disk) return std::unexpected(disk.error());
  made->disk_ = std::move(*disk);

  made->submissions_.resize(submissions);
  made->completions_.resize(completions);
  face = io_uring{};
  face.ring_fd = -1;
  face.sq.khead = &made->submission_head_;
  face.sq.sqes = made->submissions_.data();
  face.sq.ring_entries = submissions;
  face.sq.ring_mask = submissions - 1;
  face.cq.khead = &made->completion_head_;
  face.cq.ktail = &made->completion_tail_;
  face.cq.cqes = made->completions_.data();
  face.cq.ring_entries = completions;
  face.cq.ring_mask = completions - 1;
  return made;
}

SoftwareRing::~SoftwareRing() {
  disk_.reset();  // its threads write to wake_fd_
  if (wake_fd_ >= 0) ::close(wake_fd_);
  if (epoll_fd_ >= 0) ::close(epoll_fd_);
}

void SoftwareRing::provide(io_uring_buf_ring* buffers, unsigned entries) {
  CHECK(buffers_ == nullptr && (entries & (entries - 1)) == 0, "{} buffers", entries);
  buffers_ = buffers;
  buffer_entries_ = entries;
}

void SoftwareRing::enter(std::uint64_t timeout_ns) {
  post_overflow();
  take_submissions();
  take_disk();
  take_timers();
  if (!overflow_.empty()) return;  // sockets wait until there is space for their completions
  const bool waits = timeout_ns > 0 && idle() && disk_->sleep();
  take_events(waits ? wait_limit(timeout_ns) : 0);
  if (waits) disk_->awake();
  take_disk();
  take_timers();
}

void SoftwareRing::wake(int handle) {
  // EAGAIN: the counter is full, so the shard will wake.
  if (::write(handle, &wake_amount, sizeof wake_amount) < 0)
    CHECK(errno == EAGAIN, "eventfd: {}", std::strerror(errno));
}

// --- queues --------------------------------------------------------------------------------------

bool SoftwareRing::idle() const { return completion_tail_ == completion_head_; }

void SoftwareRing::post(std::uint64_t data, std::int32_t result, std::uint32_t flags) {
  const io_uring_cqe completion{.user_data = data, .res = result, .flags = flags};
  if (!overflow_.empty() || completion_tail_ - completion_head_ == completions_.size()) {
    overflow_.push_back(completion);
    return;
  }
  completions_[completion_tail_ & (completions_.size() - 1)] = completion;
  ++completion_tail_;
}

void SoftwareRing::post_overflow() {
  while (!overflow_.empty() && completion_tail_ - completion_head_ < completions_.size()) {
    completions_[completion_tail_ & (completions_.size() - 1)] = overflow_.front();
    ++completion_tail_;
    overflow_.pop_front();
  }
}

void SoftwareRing::take_submissions() {
  const unsigned tail = face_->sq.sqe_tail;
  while (submission_head_ != tail) {
    const io_uring_sqe& submission = submissions_[submission_head_ & face_->sq.ring_mask];
    if (is_disk_operation(submission)) {
      begin_disk();
    } else {
      run(submission);
      ++submission_head_;
    }
  }
  face_->sq.sqe_head = submission_head_;
}

// A link joins a write and its flush.
void SoftwareRing::begin_disk() {
  DiskJob job;
  bool linked = true;
  for (; linked; ++submission_head_) {
    CHECK(job.count < job.parts.size() && submission_head_ != face_->sq.sqe_tail,
          "a link of {} parts", job.count);
    const io_uring_sqe& part = submissions_[submission_head_ & face_->sq.ring_mask];
    job.parts[job.count++] = part;
    linked = (part.flags & IOSQE_IO_LINK) != 0;
  }
  ++disk_jobs_;
  disk_->begin(job);
}

void SoftwareRing::take_disk() {
  if (disk_jobs_ == 0) return;
  for (const DiskJob& job : disk_->take()) {
    CHECK(disk_jobs_ > 0, "a job that was not begun");
    --disk_jobs_;
    bool silent = false;  // as the kernel, which does not report what a silent part has cancelled
    for (unsigned i = 0; i < job.count; ++i) {
      const io_uring_sqe& part = job.parts[i];
      const bool cancelled = job.results[i] == -ECANCELED && i > 0;
      const bool is_silent = (part.flags & IOSQE_CQE_SKIP_SUCCESS) != 0;
      if (!(cancelled ? silent : is_silent && succeeded(part, job.results[i])))
        post(part.user_data, job.results[i], 0);
      silent = silent || is_silent;
    }
  }
}

void SoftwareRing::take_timers() {
  if (timers_.empty()) return;
  const std::uint64_t now = now_ns();
  std::erase_if(timers_, [&](const Timer& timer) {
    if (timer.due_ns > now) return false;
    post(timer.data, -ETIME, 0);
    return true;
  });
}

std::uint64_t SoftwareRing::wait_limit(std::uint64_t timeout_ns) const {
  if (timers_.empty()) return timeout_ns;
  const std::uint64_t now = now_ns();
  for (const Timer& timer : timers_)
    timeout_ns = std::min(timeout_ns, timer.due_ns > now ? timer.due_ns - now : 0);
  return timeout_ns;
}

// --- operations ----------------------------------------------------------------------------------

void SoftwareRing::run(const io_uring_sqe& submission) {
  switch (submission.opcode) {
    case IORING_OP_NOP:
      return post(submission.user_data, 0, 0);
    case IORING_OP_TIMEOUT: {
      __kernel_timespec after{};
      std::memcpy(&after,
                  reinterpret_cast<const void*>(static_cast<std::uintptr_t>(submission.addr)),
                  sizeof after);
      const auto ns = static_cast<std::uint64_t>(after.tv_sec) * second_ns +
                      static_cast<std::uint64_t>(after.tv_nsec);
      timers_.push_back({now_ns() + ns, submission.user_data});
      return;
    }
    case IORING_OP_ASYNC_CANCEL:
      return cancel(submission);
    case IORING_OP_SEND:
      return begin_send(submission);
    case IORING_OP_RECV:
      return arm(submission, Reader::receive, 0);
    case IORING_OP_ACCEPT:
      return arm(submission, Reader::accept, submission.accept_flags);
    case IORING_OP_POLL_ADD:
      return arm(submission, Reader::poll, submission.poll32_events);
    default:
      return post(submission.user_data, -EINVAL, 0);
  }
}

SoftwareRing::Watch& SoftwareRing::watch_of(int fd) {
  CHECK(fd >= 0, "descriptor {}", fd);
  const auto index = static_cast<std::size_t>(fd);
  if (index >= watches_.size()) watches_.resize(index + 1);
  return watches_[index];
}

void SoftwareRing::arm(const io_uring_sqe& submission, Reader reader, std::uint32_t flags) {
  Watch& armed = watch_of(submission.fd);
  CHECK(armed.reader == Reader::none, "descriptor {} is read twice", submission.fd);
  armed.reader = reader;
  armed.flags = flags;
  armed.reader_data = submission.user_data;
  readers_[submission.user_data] = submission.fd;
  if (reader == Reader::accept) {
    // Another shard may take the connection first; the accept must not wait for the next one.
    const int before = fcntl(submission.fd, F_GETFL);
    if (before >= 0) fcntl(submission.fd, F_SETFL, before | O_NONBLOCK);
  }
  watch(submission.fd);
}

// Ends the receive, accept or poll with its last completion.
void SoftwareRing::disarm(int fd, std::int32_t result) {
  Watch& armed = watch_of(fd);
  CHECK(armed.reader != Reader::none, "nothing reads descriptor {}", fd);
  readers_.erase(armed.reader_data);
  armed.reader = Reader::none;
  post(armed.reader_data, result, 0);
  watch(fd);
}

void SoftwareRing::cancel(const io_uring_sqe& submission) {
  const auto found = readers_.find(submission.addr);
  if (found == readers_.end()) return post(submission.user_data, -ENOENT, 0);
  disarm(found->second, -ECANCELED);
  post(submission.user_data, 0, 0);
}

// Tells epoll what is armed now. A descriptor with nothing armed is taken out: another shard may
// use it next.
void SoftwareRing::watch(int fd) {
  Watch& armed = watch_of(fd);
  std::uint32_t wanted = 0;
  if (armed.sends) wanted |= EPOLLOUT;
  switch (armed.reader) {
    case Reader::none:
      break;
    case Reader::receive:
      wanted |= EPOLLIN;
      break;
    case Reader::accept:
      wanted |= EPOLLIN | EPOLLEXCLUSIVE;  // a connection wakes one shard
      break;
    case Reader::poll:
      wanted |= armed.flags | EPOLLET;
      break;
  }
  if (wanted == armed.interest) return;
  epoll_event event{.events = wanted, .data = {.fd = fd}};
  const int operation = wanted == 0           ? EPOLL_CTL_DEL
                        : armed.interest == 0 ? EPOLL_CTL_ADD
                                              : EPOLL_CTL_MOD;
  armed.interest = wanted;
  if (epoll_ctl(epoll_fd_, operation, fd, &event) == 0 || operation == EPOLL_CTL_DEL) return;
  const int error = errno;  // no memory, or the limit of watches
  armed.interest = 0;
  if (armed.reader != Reader::none) disarm(fd, -error);
  if (!std::exchange(armed.sends, false)) return;
  post(armed.send_data, -error, 0);
}

// --- sends ---------------------------------------------------------------------------------------

void SoftwareRing::begin_send(const io_uring_sqe& submission) {
  Watch& armed = watch_of(submission.fd);
  CHECK(!armed.sends, "descriptor {} sends twice at once", submission.fd);
  armed.sends = true;
  armed.send_data = submission.user_data;
  armed.unsent = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(submission.addr));
  armed.unsent_bytes = submission.len;
  armed.sent = 0;
  armed.send_flags = static_cast<int>(submission.msg_flags);
  send_more(submission.fd);
}

// With MSG_WAITALL goes on until all is sent, as the kernel does.
void SoftwareRing::send_more(int fd) {
  Watch& armed = watch_of(fd);
  const bool all = (armed.send_flags & MSG_WAITALL) != 0;
  std::int32_t result = 0;
  for (;;) {
    const ssize_t sent =
        ::send(fd, armed.unsent, armed.unsent_bytes, armed.send_flags | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return watch(fd);
    if (sent < 0) {
      result = armed.sent > 0 ? armed.sent : -errno;
      break;
    }
    armed.sent += static_cast<std::int32_t>(sent);
    armed.unsent += sent;
    armed.unsent_bytes -= static_cast<std::uint32_t>(sent);
    result = armed.sent;
    if (!all || sent == 0 || armed.unsent_bytes == 0) break;
  }
  armed.sends = false;
  post(armed.send_data, result, 0);
  watch(fd);
}

// --- events --------------------------------------------------------------------------------------

void SoftwareRing::take_events(std::uint64_t timeout_ns) {
  std::array<epoll_event, events_a_call> events;
  const int found = wait_for_events(epoll_fd_, events, timeout_ns);
  CHECK(found >= 0 || errno == EINTR, "epoll_wait: {}", std::strerror(errno));
  for (int i = 0; i < found; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    event.data.fd == wake_fd_ ? take_wakes() : take_event(event.data.fd, event.events);
  }
}

void SoftwareRing::take_wakes() {
  std::uint64_t count = 0;
  if (::read(wake_fd_, &count, sizeof count) < 0) {
    CHECK(would_wait(errno), "eventfd: {}", std::strerror(errno));
    return;
  }
  if (count % DiskThreads::ended_amount != 0) post(wake_data_, 0, 0);
}

// An event may be older than a change of what is armed.
void SoftwareRing::take_event(int fd, std::uint32_t events) {
  if (watch_of(fd).sends && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) send_more(fd);
  const Watch& armed = watch_of(fd);
  switch (armed.reader) {
    case Reader::none:
      return;
    case Reader::receive:
      if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) receive(fd);
      return;
    case Reader::accept:
      return accept(fd, (events & EPOLLHUP) != 0);
    case Reader::poll:
      if (const std::uint32_t seen = events & (armed.flags | EPOLLERR | EPOLLHUP); seen != 0)
        post(armed.reader_data, static_cast<std::int32_t>(seen), IORING_CQE_F_MORE);
      return;
  }
}

// One buffer for each event: what is left raises the next event, and others come between.
void SoftwareRing::receive(int fd) {
  if (buffer_head_ == buffers_->tail) return disarm(fd, -ENOBUFS);
  const io_uring_buf& buffer = buffers_->bufs[buffer_head_ & (buffer_entries_ - 1)];
  const ssize_t bytes =
      ::recv(fd, reinterpret_cast<void*>(static_cast<std::uintptr_t>(buffer.addr)), buffer.len,
             MSG_DONTWAIT);
  if (bytes < 0 && would_wait(errno)) return;
  if (bytes <= 0) return disarm(fd, bytes == 0 ? 0 : -errno);
  ++buffer_head_;
  const std::uint32_t flags = IORING_CQE_F_BUFFER | IORING_CQE_F_MORE |
                              static_cast<std::uint32_t>(buffer.bid) << IORING_CQE_BUFFER_SHIFT;
  post(watch_of(fd).reader_data, static_cast<std::int32_t>(bytes), flags);
}

// A Unix socket that was shut down says EAGAIN for ever.
void SoftwareRing::accept(int fd, bool is_shut_down) {
  const auto flags = static_cast<int>(watch_of(fd).flags);
  for (int i = 0; i < accepts_an_event; ++i) {
    const int taken = ::accept4(fd, nullptr, nullptr, flags);
    if (taken < 0 && would_wait(errno)) return is_shut_down ? disarm(fd, -EINVAL) : void();
    if (taken < 0 && errno == ECONNABORTED) continue;
    if (taken < 0) return disarm(fd, -errno);
    post(watch_of(fd).reader_data, taken, IORING_CQE_F_MORE);
  }
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The submissions of a ring interpreted in user space, where io_uring is forbidden: sockets by
// epoll, the disk by two threads.
//
//   Ring::sqe() --submission queue--> enter() --+-- send, accept, receive: epoll
//                                               +-- write, flush, ...:     DiskThreads
//                                               +-- nop, cancel, timeout:  here
//   Ring::reap() <--completion queue--------------- results
//
// Both queues are ordinary memory with the layout that liburing expects, so whoever fills
// submissions and takes completions runs the same instructions as on io_uring. Results, the order
// of completions and IORING_CQE_F_MORE are those of the kernel for the operations named here; any
// other is answered with -EINVAL.
//
//   a descriptor:  out of epoll --an operation must wait--> in epoll
//                       ^---------the last one has ended--------/
//
// Units:  nanoseconds for enter(); bytes.
// Limits: one receive, accept or poll and one send under way for each descriptor; a link joins two
//         disk operations. events_a_call events of epoll for each enter().
// Errors: create() returns errno in Error::sys.
// Owner:  the thread that created it; any thread may call wake().
// Source: io_uring_enter(2), epoll(7), eventfd(2); liburing 2.3 (struct io_uring).
#pragma once

#include <liburing.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "net/io/disk_threads.h"

namespace pawl {

class SoftwareRing {
 public:
  // Gives `face` the memory of both queues. `face` must stay where it is. `wake_data`: user_data of
  // the completion of a wake-up.
  static Result<std::unique_ptr<SoftwareRing>> create(io_uring& face, unsigned submissions,
                                                      unsigned completions,
                                                      std::uint64_t wake_data);
  ~SoftwareRing();
  SoftwareRing(const SoftwareRing&) = delete;
  SoftwareRing& operator=(const SoftwareRing&) = delete;

  // Receives take their memory from here; `entries` is a power of two. The ring starts empty.
  void provide(io_uring_buf_ring* buffers, unsigned entries);
  // Runs the new submissions and collects completions. Waits for one at most `timeout_ns`.
  void enter(std::uint64_t timeout_ns);
  // wake() on this handle of another ring puts a completion with `wake_data` into that ring.
  int wake_handle() const { return wake_fd_; }
  static void wake(int handle);

 private:
  static constexpr int events_a_call = 256;
  static constexpr int accepts_an_event = 64;

  enum class Reader : std::uint8_t { none, receive, accept, poll };
  // The operations that are armed on a descriptor.
  struct Watch {
    Reader reader = Reader::none;
    bool sends = false;
    std::uint32_t flags = 0;     // of the accept, or events of the poll
    std::uint32_t interest = 0;  // as epoll knows it; 0: it is not in epoll
    std::uint64_t reader_data = 0;
    std::uint64_t send_data = 0;
    const char* unsent = nullptr;
    std::uint32_t unsent_bytes = 0;
    std::int32_t sent = 0;
    int send_flags = 0;
  };
  struct Timer {
    std::uint64_t due_ns;
    std::uint64_t data;
  };

  SoftwareRing(io_uring& face, std::uint64_t wake_data) : face_(&face), wake_data_(wake_data) {}
  void take_submissions();
  void begin_disk();
  void run(const io_uring_sqe& submission);
  void arm(const io_uring_sqe& submission, Reader reader, std::uint32_t flags);
  void disarm(int fd, std::int32_t result);
  void cancel(const io_uring_sqe& submission);
  void begin_send(const io_uring_sqe& submission);
  void send_more(int fd);
  void receive(int fd);
  void accept(int fd, bool is_shut_down);
  void watch(int fd);
  void take_disk();
  void take_timers();
  void take_events(std::uint64_t timeout_ns);
  void take_event(int fd, std::uint32_t events);
  void take_wakes();
  std::uint64_t wait_limit(std::uint64_t timeout_ns) const;
  bool idle() const;
  void post(std::uint64_t data, std::int32_t result, std::uint32_t flags);
  void post_overflow();
  Watch& watch_of(int fd);

  io_uring* face_;
  std::vector<io_uring_sqe> submissions_;
  std::vector<io_uring_cqe> completions_;
  // The words that liburing reads and writes through pointers, always on this thread.
  unsigned submission_head_ = 0;
  unsigned completion_head_ = 0, completion_tail_ = 0;
  std::deque<io_uring_cqe> overflow_;  // completions without space in the queue, in order

  io_uring_buf_ring* buffers_ = nullptr;
  unsigned buffer_entries_ = 0;
  std::uint16_t buffer_head_ = 0;

  int epoll_fd_ = -1;
  int wake_fd_ = -1;
  std::uint64_t wake_data_;
  std::vector<Watch> watches_;                      // by descriptor
  std::unordered_map<std::uint64_t, int> readers_;  // descriptors by the tag of what reads them
  std::vector<Timer> timers_;
  std::unique_ptr<DiskThreads> disk_;
  std::uint32_t disk_jobs_ = 0;  // begun and not taken
};

}  // namespace pawl

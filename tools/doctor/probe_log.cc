// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/probe_log.h"

#include <sched.h>

#include <cerrno>

#include "core/base/check.h"
#include "net/io/kernel_clocks.h"
#include "net/io/ring_choice.h"
#include "tools/doctor/ring_memory.h"

namespace pawl {
namespace {

constexpr std::uint64_t sleep_max_ns = 1'000'000'000;
constexpr Instant now{1};  // of the pool: it waits for no time here
constexpr std::uint64_t first = 0, fresh = 1, reused = 2, unfilled = 3;

}  // namespace

bool ProbeLimit::reached() const {
  return steady_now_us() >= end_us || (signals != nullptr && signals->pending());
}

Result<std::unique_ptr<ProbeLog>> ProbeLog::open(const std::string& directory) {
  std::unique_ptr<ProbeLog> log(new ProbeLog);
  RingChoice choice;
  auto ring = after_closed_rings([&] { return choose_ring(IoWish::automatic, choice); });
  if (!ring) return std::unexpected(ring.error());
  log->ring_ = std::move(*ring);
  auto disk = UringDisk::open_dir(*log->ring_, directory);
  if (!disk) return std::unexpected(disk.error());
  log->disk_ = std::move(*disk);
  const auto calibration = log->disk_->calibrate();
  if (!calibration) return std::unexpected(calibration.error());
  log->calibration_ = *calibration;
  log->pool_ = std::make_unique<SegmentPool>(*log->disk_, geometry, 1, false, Duration{0});
  return log;
}

ProbeLog::~ProbeLog() {
  while (pool_ != nullptr && pool_->busy()) {
    if (!pool_->pump(now, true)) break;
    if (!reap()) ring_->wait(sleep_max_ns);
  }
}

Result<void> ProbeLog::prepare(std::span<const std::byte> frame, const ProbeLimit& limit) {
  const Result<bool> allocates = can_allocate();
  if (!allocates) return std::unexpected(allocates.error());
  pool_->start(first);
  if (auto made = pool_->create_now(); !made) return made;
  pool_->enter(first, now);
  if (auto filled = fill(first, frame, limit); !filled) return filled;
  if (auto made = pool_->create_now(); !made) return made;
  pool_->enter(fresh, now);
  pool_->retire(fresh, geometry.segment_base(fresh));
  if (auto ready = make_ready(reused, limit); !ready || !*allocates) return ready;
  pool_->want_ahead(2 * geometry.segment_bytes, geometry.segment_base(fresh) + block_bytes);
  auto ready = make_ready(unfilled, limit);
  has_unfilled_ = ready.has_value();
  return ready;
}

FileId ProbeLog::file(SegmentState state) const {
  switch (state) {
    case SegmentState::fresh:
      return pool_->file(fresh);
    case SegmentState::reused:
      return pool_->file(reused);
    case SegmentState::unfilled:
      return has_unfilled_ ? pool_->file(unfilled) : FileId::none;
  }
  CHECK(false, "state {}", static_cast<int>(state));
}

Result<void> ProbeLog::fill(std::uint64_t number, std::span<const std::byte> frame,
                            const ProbeLimit& limit) {
  CHECK(frame.size() % block_bytes == 0 && !frame.empty(), "a frame of {} bytes", frame.size());
  const FileId file = pool_->file(number);
  for (std::uint64_t at = block_bytes; at < geometry.segment_bytes; at += frame.size()) {
    if (limit.reached()) return fail(Errc::not_ready, "write a segment");
    const auto piece = frame.first(std::min(frame.size(), geometry.segment_bytes - at));
    if (auto written = disk_->write_now(file, at, piece); !written) return written;
  }
  return disk_->sync_now(file);
}

Result<void> ProbeLog::make_ready(std::uint64_t number, const ProbeLimit& limit) {
  IdlePolicy sleeps(Poll::block, 0);
  for (;;) {
    // Ends the latest step without beginning another, which would be the fill of an unfilled one.
    if (auto ended = pool_->pump(now, true); !ended || pool_->ready(number)) return ended;
    if (limit.reached()) return fail(Errc::not_ready, "make a segment");
    if (auto pumped = pool_->pump(now, false); !pumped) return pumped;
    if (pool_->disk_full()) return fail(Errc::no_space, "make a segment", ENOSPC);
    if (pool_->busy()) wait(sleeps);
  }
}

Result<bool> ProbeLog::can_allocate() {
  constexpr std::string_view name = "allocate.tmp";
  const Result<FileId> file = disk_->create(name);
  if (!file) return std::unexpected(file.error());
  Io io;
  IdlePolicy sleeps(Poll::block, 0);
  disk_->allocate(*file, 1 << 20, io);
  wait(sleeps);
  disk_->close(*file);
  if (auto removed = disk_->remove(name); !removed) return std::unexpected(removed.error());
  CHECK(io.done, "the allocation is under way");
  if (io.result == -EOPNOTSUPP || io.result == -ENOSYS) return false;
  if (io.result < 0) return fail_for_space("allocate", -io.result);
  return true;
}

bool ProbeLog::reap() {
  const std::uint64_t before = disk_->finished();
  ring_->reap(Ring::cq_entries, [this](RingTag tag, std::int32_t result, std::uint32_t) {
    if (tag.op == RingOp::disk) disk_->complete(tag, result);
  });
  return disk_->finished() != before;
}

void ProbeLog::wait(IdlePolicy& policy) {
  while (!reap()) idle(policy);
}

// The same as Worker::idle(), for a shard that waits for its writes only.
void ProbeLog::idle(IdlePolicy& policy) {
  const std::uint64_t now_us = steady_now_us();
  switch (policy.after({.now_us = now_us, .writing = true})) {
    case IdlePolicy::Next::sleep:
      return ring_->wait(sleep_max_ns);
    case IdlePolicy::Next::yield: {
      ring_->submit();
      const std::uint64_t before_us = steady_now_us();
      sched_yield();
      const std::uint64_t after_us = steady_now_us();
      return policy.yielded(after_us, after_us - before_us);
    }
    case IdlePolicy::Next::turn:
      return ring_->submit();
    case IdlePolicy::Next::step_aside:
      CHECK(false, "only a turn that is due steps aside");
  }
}

}  // namespace pawl

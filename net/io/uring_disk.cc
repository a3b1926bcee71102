// SPDX-License-Identifier: Apache-2.0
#include "net/io/uring_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "wal/format/file_io.h"
#include "wal/segments/segment_pool.h"

namespace pawl {
namespace {

constexpr std::string_view calibration_file = "calibration.tmp";
constexpr std::uint32_t bytes_bit = 1u
                                    << 31;  // in a tag's index: this part's result is a byte count

std::uint64_t now_us() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

// Reads the FUA setting of the block device under a directory; a partition has its parent's.
bool device_has_fua(int directory) {
  struct stat info{};
  if (fstat(directory, &info) != 0) return false;
  const std::string device = "/sys/dev/block/" + std::to_string(major(info.st_dev)) + ":" +
                             std::to_string(minor(info.st_dev));
  for (const char* queue : {"/queue/fua", "/../queue/fua"}) {
    char answer = '0';
    const int fd = ::open((device + queue).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    const bool yes = ::read(fd, &answer, 1) == 1 && answer == '1';
    ::close(fd);
    return yes;
  }
  return false;
}

// The pause of an operation without a descriptor.
__kernel_timespec descriptor_pause{.tv_sec = 0, .tv_nsec = 100'000'000};

}  // namespace

Result<std::unique_ptr<UringDisk>> UringDisk::open_dir(Ring& ring, const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail(Errc::io, "mkdir", errno);
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail(Errc::io, "open directory", errno);
  std::unique_ptr<UringDisk> disk(new UringDisk(ring, fd));
  // The directory's own name must be durable, or a power cut loses the directory and its files.
  // This runs at every startup: the process that created it may have been killed before this sync.
  const int parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int error = parent < 0 || fsync(parent) != 0 ? errno : 0;
  if (parent >= 0) ::close(parent);
  if (error != 0) return fail(Errc::io, "fsync of the parent directory", error);
  return disk;
}

UringDisk::~UringDisk() { ::close(directory_); }

// --- blocking ---

Result<std::vector<FileInfo>> UringDisk::list() {
  const int copy = openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = copy < 0 ? nullptr : fdopendir(copy);
  if (stream == nullptr) return fail(Errc::io, "list directory", errno);
  std::vector<FileInfo> files;
  int error = 0;
  for (errno = 0; const dirent* const found = readdir(stream); errno = 0) {
    struct stat info{};
    if (fstatat(directory_, found->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      error = errno;
      break;
    }
    if (S_ISREG(info.st_mode))
      files.push_back({found->d_name, static_cast<std::uint64_t>(info.st_size)});
  }
  if (error == 0) error = errno;  // of readdir: the list may be incomplete
  closedir(stream);
  if (error != 0) return fail(Errc::io, "list directory", error);
  std::ranges::sort(files, {}, &FileInfo::name);
  return files;
}

Result<FileId> UringDisk::open(std::string_view name) { return files_.open(name, 0); }
Result<FileId> UringDisk::create(std::string_view name) {
  return files_.open(name, O_CREAT | O_EXCL);
}
void UringDisk::close(FileId file) { files_.close(file); }

Result<void> UringDisk::rename(std::string_view from, std::string_view to) {
  if (renameat(directory_, std::string(from).c_str(), directory_, std::string(to).c_str()) != 0) {
    return fail(Errc::io, "rename", errno);
  }
  files_.renamed(from, to);
  return {};
}

Result<void> UringDisk::remove(std::string_view name) {
  if (unlinkat(directory_, std::string(name).c_str(), 0) != 0)
    return fail(Errc::io, "unlink", errno);
  files_.removed(name);
  return {};
}

Result<int> UringDisk::descriptor_of(FileId file) {
  const int fd = files_.descriptor_of(file);
  if (fd < 0) return fail(Errc::io, "open again", -fd);
  return fd;
}

Result<std::size_t> UringDisk::read_now(FileId file, std::uint64_t offset,
                                        std::span<std::byte> into) {
  const Result<int> fd = descriptor_of(file);
  if (!fd) return std::unexpected(fd.error());
  return read_file(*fd, offset, into);
}

Result<void> UringDisk::write_now(FileId file, std::uint64_t offset,
                                  std::span<const std::byte> from) {
  const Result<int> fd = descriptor_of(file);
  if (!fd) return std::unexpected(fd.error());
  files_.wrote(file);
  return write_file(*fd, offset, from);
}

Result<void> UringDisk::sync_now(FileId file) {
  const Result<int> fd = descriptor_of(file);
  if (!fd) return std::unexpected(fd.error());
  if (fsync(*fd) != 0) return fail(Errc::io, "fsync", errno);
  files_.flushed(file, files_.writes(file));
  // A failed flush of an earlier process may have left clean pages that are not on the disk. They
  // are dropped, so that the next read comes from the disk.
  if (!files_.direct()) posix_fadvise(*fd, 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

Result<void> UringDisk::sync_dir_now() {
  if (fsync(directory_) != 0) return fail(Errc::io, "fsync of the directory", errno);
  return {};
}

// --- asynchronous ---

void UringDisk::begin(Io& io, const Operation& operation) {
  CHECK(!io.armed, "an Io is used twice at once");
  const auto free = std::ranges::find(operations_, nullptr, &Operation::io);
  CHECK(free != operations_.end(), "more than {} disk operations at once", ios_max);
  io = Io{.armed = true};
  const std::uint32_t generation = free->generation;
  *free = operation;
  free->io = &io;
  free->generation = generation;
  if (free->file != FileId::none) files_.begin(free->file);
  start(static_cast<std::uint32_t>(free - operations_.begin()));
}

io_uring_sqe* UringDisk::entry(std::uint32_t operation, bool moves_bytes, unsigned together) {
  return ring_->sqe({.op = RingOp::disk,
                     .generation = operations_[operation].generation,
                     .index = operation | (moves_bytes ? bytes_bit : 0)},
                    together);
}

void UringDisk::start(std::uint32_t index) {
  Operation& operation = operations_[index];
  CHECK(operation.io != nullptr && operation.io->armed, "operation {} is not begun", index);
  int fd = directory_;
  if (operation.file != FileId::none) {
    fd = files_.descriptor_of(operation.file);
    operation.waits = fd == -EMFILE || fd == -ENFILE;
    if (operation.waits)
      return io_uring_prep_timeout(entry(index, false, 1), &descriptor_pause, 0, 0);
    if (fd < 0) {
      operation.result = fd;
      files_.end(std::exchange(operation.file, FileId::none));
      return io_uring_prep_nop(entry(index, false, 1));
    }
    operation.writes = files_.writes(operation.file);
  }
  void* const memory = const_cast<void*>(operation.memory);
  switch (operation.kind) {
    case Kind::write:
    case Kind::flushed_write:
      return start_write(index, fd);
    case Kind::read:
      return io_uring_prep_read(entry(index, true, 1), fd, memory,
                                static_cast<unsigned>(operation.bytes), operation.offset);
    case Kind::sync:
    case Kind::sync_dir:
      return io_uring_prep_fsync(entry(index, false, 1), fd, 0);
    // The kernel runs these in a thread of its own.
    case Kind::allocate:
      return io_uring_prep_fallocate(entry(index, false, 1), fd, FALLOC_FL_KEEP_SIZE, 0,
                                     static_cast<off_t>(operation.bytes));
    case Kind::remove:
      return io_uring_prep_unlinkat(entry(index, false, 1), fd,
                                    static_cast<const char*>(operation.memory), 0);
  }
}

void UringDisk::start_write(std::uint32_t index, int fd) {
  Operation& operation = operations_[index];
  const bool flushed = operation.kind == Kind::flushed_write;
  const bool linked = flushed && calibration_.kind == FlushKind::linked;
  io_uring_sqe* const sqe = entry(index, true, linked ? 2 : 1);
  io_uring_prep_write(sqe, fd, operation.memory, static_cast<unsigned>(operation.bytes),
                      operation.offset);
  if (!flushed) return;
  if (!linked) {
    sqe->rw_flags = RWF_DSYNC;
    return;
  }
  // Only the flush reports success, so that a sleeping shard wakes once. A failed or short write
  // reports itself and cancels the flush.
  sqe->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
  io_uring_prep_fsync(entry(index, false, 1), fd, IORING_FSYNC_DATASYNC);
}

void UringDisk::write(FileId file, std::uint64_t offset, std::span<const std::byte> from,
                      Flush flush, Io& io) {
  CHECK(from.size() <= INT32_MAX, "a write of {} bytes", from.size());
  begin(io, {.expected = static_cast<std::int32_t>(from.size()),
             .kind = flush == Flush::yes ? Kind::flushed_write : Kind::write,
             .file = file,
             .offset = offset,
             .bytes = from.size(),
             .memory = from.data()});
}

void UringDisk::read(FileId file, std::uint64_t offset, std::span<std::byte> into, Io& io) {
  CHECK(into.size() <= INT32_MAX, "a read of {} bytes", into.size());
  begin(io, {.expected = static_cast<std::int32_t>(into.size()),
             .kind = Kind::read,
             .file = file,
             .offset = offset,
             .bytes = into.size(),
             .memory = into.data()});
}

void UringDisk::sync(FileId file, Io& io) { begin(io, {.kind = Kind::sync, .file = file}); }
void UringDisk::sync_dir(Io& io) { begin(io, {.kind = Kind::sync_dir}); }

void UringDisk::allocate(FileId file, std::uint64_t bytes, Io& io) {
  begin(io, {.kind = Kind::allocate, .file = file, .bytes = bytes});
}

void UringDisk::remove(std::string_view name, Io& io) {
  CHECK(name.data()[name.size()] == '\0', "a name as the kernel wants it");
  files_.removed(name);
  begin(io, {.kind = Kind::remove, .memory = name.data()});
}

void UringDisk::complete(RingTag tag, std::int32_t result) {
  const bool moves_bytes = (tag.index & bytes_bit) != 0;
  const std::uint32_t index = tag.index & ~bytes_bit;
  CHECK(index < operations_.size(), "operation {} of {}", index, operations_.size());
  Operation& operation = operations_[index];
  if (operation.io == nullptr || operation.generation != tag.generation) return;
  CHECK(operation.io->armed, "a completion for no operation");
  if (operation.waits) return start(index);
  if (moves_bytes && result >= 0 && result < operation.expected) result = -EIO;  // short
  if (result < 0 && operation.result >= 0) operation.result = result;
  if (operation.file != FileId::none) note_end(operation);
  finish(*operation.io, operation.result < 0 ? operation.result : operation.expected);
  operation.io = nullptr;
  operation.generation = (operation.generation + 1) & 0xFF'FFFF;
}

// Notes the writes of the file that are on the disk now. A write with RWF_DSYNC flushes the
// device's cache, but of the page cache it writes only its own bytes.
void UringDisk::note_end(const Operation& operation) {
  const bool writes = operation.kind == Kind::write || operation.kind == Kind::flushed_write;
  if (operation.kind == Kind::write || (writes && operation.result < 0)) {
    files_.wrote(operation.file);
  } else if (operation.result >= 0 &&
             (operation.kind == Kind::sync ||
              (writes && (calibration_.kind == FlushKind::linked || files_.direct())))) {
    files_.flushed(operation.file, operation.writes);
  }
  files_.end(operation.file);
}

// --- calibration ---

// The median of durable 4 KiB writes beside a loop that works 20 us a turn and yields, like a
// shard.
double UringDisk::median_us(FileId file, FlushKind kind) {
  constexpr std::size_t writes = 15;
  constexpr std::uint64_t limit_us = 30'000;  // for all writes together
  alignas(block_bytes) static thread_local std::array<std::byte, block_bytes> block{};
  calibration_.kind = kind;
  std::vector<double> times;
  const std::uint64_t begun = now_us();
  while (times.size() < writes && now_us() - begun < limit_us) {
    Io io;
    const std::uint64_t start = now_us();
    write(file, times.size() % 16 * block_bytes, block, Flush::yes, io);
    while (!io.done) {
      ring_->submit();
      ring_->reap(Ring::cq_entries, [this](RingTag tag, std::int32_t result, std::uint32_t) {
        complete(tag, result);
      });
      for (const std::uint64_t turn = now_us(); now_us() - turn < 20;) {
      }
    }
    if (io.result < 0) return 1e9;
    times.push_back(static_cast<double>(now_us() - start));
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

Result<Calibration> UringDisk::calibrate() {
  unlinkat(directory_, std::string(calibration_file).c_str(), 0);  // left by a killed startup
  calibration_.fua = device_has_fua(directory_);
  const Result<FileId> file = create(calibration_file);
  if (!file) return not_measured(file.error());
  alignas(block_bytes) static thread_local std::array<std::byte, 16 * block_bytes> zeros{};
  Result<void> ready = write_now(*file, 0, zeros);
  if (ready) ready = sync_now(*file);
  if (ready) {
    calibration_.linked_us = median_us(*file, FlushKind::linked);
    calibration_.dsync_us = median_us(*file, FlushKind::dsync);
    const bool dsync_wins = calibration_.fua && calibration_.dsync_us < calibration_.linked_us;
    calibration_.kind = dsync_wins ? FlushKind::dsync : FlushKind::linked;
  }
  close(*file);
  calibration_.direct = files_.direct();
  if (const Result<void> removed = remove(calibration_file); !removed && ready) ready = removed;
  if (!ready) return not_measured(ready.error());
  return calibration_;
}

Result<Calibration> UringDisk::not_measured(const Error& error) {
  if (!disk_is_full(error.sys)) return std::unexpected(error);
  calibration_.direct = files_.direct();
  calibration_.measured = false;
  return calibration_;
}

}  // namespace pawl

#include "net/uring_disk.h"

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

#include "core/check.h"
#include "wal/segment_pool.h"

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

// What the kernel says of the block device under a directory; a partition's is its parent's.
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

int raw_fd(FileId file) { return static_cast<int>(file); }

}  // namespace

Result<std::unique_ptr<UringDisk>> UringDisk::open_dir(Ring& ring, const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail(Errc::io, "mkdir", errno);
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail(Errc::io, "open directory", errno);
  std::unique_ptr<UringDisk> disk(new UringDisk(ring, fd));
  // Its own name has to be durable, or a power cut takes all that is in it along. Always: whoever made it may have
  // been killed before this.
  const int parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int error = parent < 0 || fsync(parent) != 0 ? errno : 0;
  if (parent >= 0) ::close(parent);
  if (error != 0) return fail(Errc::io, "fsync of the parent directory", error);
  return disk;
}

UringDisk::~UringDisk() { ::close(directory_); }

// --- blocking --------------------------------------------------------------------------------------------

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
  if (error == 0) error = errno;  // of readdir: what it has not told of is not known to be missing
  closedir(stream);
  if (error != 0) return fail(Errc::io, "list directory", error);
  std::ranges::sort(files, {}, &FileInfo::name);
  return files;
}

Result<FileId> UringDisk::open_file(std::string_view name, int flags) {
  const std::string path(name);
  flags |= O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  int fd = calibration_.direct ? openat(directory_, path.c_str(), flags | O_DIRECT, 0600) : -1;
  if (fd < 0 && (!calibration_.direct || errno == EINVAL)) {
    calibration_.direct = false;  // the page cache is in between; fdatasync still makes it durable
    fd = openat(directory_, path.c_str(), flags & ~O_EXCL, 0600);
  }
  if (fd < 0) return fail(errno == ENOSPC ? Errc::no_space : Errc::io, "open", errno);
  return FileId{fd};
}

Result<FileId> UringDisk::open(std::string_view name) { return open_file(name, 0); }
Result<FileId> UringDisk::create(std::string_view name) {
  return open_file(name, O_CREAT | O_EXCL);
}
void UringDisk::close(FileId file) { ::close(raw_fd(file)); }

Result<void> UringDisk::rename(std::string_view from, std::string_view to) {
  if (renameat(directory_, std::string(from).c_str(), directory_, std::string(to).c_str()) != 0) {
    return fail(Errc::io, "rename", errno);
  }
  return {};
}

Result<void> UringDisk::remove(std::string_view name) {
  if (unlinkat(directory_, std::string(name).c_str(), 0) != 0)
    return fail(Errc::io, "unlink", errno);
  return {};
}

Result<std::size_t> UringDisk::read_now(FileId file, std::uint64_t offset,
                                        std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = pread(raw_fd(file), into.data() + done, into.size() - done,
                            static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(Errc::io, "read", errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<void> UringDisk::write_now(FileId file, std::uint64_t offset,
                                  std::span<const std::byte> from) {
  std::size_t done = 0;
  while (done < from.size()) {
    const ssize_t n = pwrite(raw_fd(file), from.data() + done, from.size() - done,
                             static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return fail(errno == ENOSPC ? Errc::no_space : Errc::io, "write", n == 0 ? EIO : errno);
    done += static_cast<std::size_t>(n);
  }
  return {};
}

Result<void> UringDisk::sync_now(FileId file) {
  if (fsync(raw_fd(file)) != 0) return fail(Errc::io, "fsync", errno);
  // What a flush of an earlier process failed to write may be clean in the page cache: what is read next is what is there.
  if (!calibration_.direct) posix_fadvise(raw_fd(file), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

Result<void> UringDisk::sync_dir_now() {
  if (fsync(directory_) != 0) return fail(Errc::io, "fsync of the directory", errno);
  return {};
}

// --- asynchronous ----------------------------------------------------------------------------------------

std::uint32_t UringDisk::begin(Io& io, std::uint32_t parts, std::int32_t expected) {
  CHECK(!io.armed, "an Io is used twice at once");
  const auto free = std::ranges::find(operations_, nullptr, &Operation::io);
  CHECK(free != operations_.end(), "more than {} disk operations at once", ios_max);
  io = Io{.armed = true};
  free->io = &io;
  free->parts = parts;
  free->expected = expected;
  free->result = 0;
  return static_cast<std::uint32_t>(free - operations_.begin());
}

io_uring_sqe* UringDisk::entry(std::uint32_t operation, bool moves_bytes, unsigned together) {
  return ring_->sqe({.op = RingOp::disk,
                     .generation = operations_[operation].generation,
                     .index = operation | (moves_bytes ? bytes_bit : 0)},
                    together);
}

void UringDisk::write(FileId file, std::uint64_t offset, std::span<const std::byte> from,
                      Flush flush, Io& io) {
  const bool linked = flush == Flush::yes && calibration_.kind == FlushKind::linked;
  const std::uint32_t operation = begin(io, linked ? 2 : 1, static_cast<std::int32_t>(from.size()));
  io_uring_sqe* const sqe = entry(operation, true, linked ? 2 : 1);
  io_uring_prep_write(sqe, raw_fd(file), from.data(), static_cast<unsigned>(from.size()), offset);
  if (flush == Flush::no) return;
  if (!linked) {
    sqe->rw_flags = RWF_DSYNC;
    return;
  }
  sqe->flags |=
      IOSQE_IO_LINK;  // a short write breaks the link: the flush is cancelled, and we fail
  io_uring_prep_fsync(entry(operation, false, 1), raw_fd(file), IORING_FSYNC_DATASYNC);
}

void UringDisk::read(FileId file, std::uint64_t offset, std::span<std::byte> into, Io& io) {
  const std::uint32_t operation = begin(io, 1, static_cast<std::int32_t>(into.size()));
  io_uring_prep_read(entry(operation, true, 1), raw_fd(file), into.data(),
                     static_cast<unsigned>(into.size()), offset);
}

void UringDisk::sync(FileId file, Io& io) {
  io_uring_prep_fsync(entry(begin(io, 1, 0), false, 1), raw_fd(file), 0);
}

void UringDisk::sync_dir(Io& io) {
  io_uring_prep_fsync(entry(begin(io, 1, 0), false, 1), directory_, 0);
}

// As remove(), the kernel has it done by a thread of its own.
void UringDisk::allocate(FileId file, std::uint64_t bytes, Io& io) {
  io_uring_prep_fallocate(entry(begin(io, 1, 0), false, 1), raw_fd(file), FALLOC_FL_KEEP_SIZE, 0,
                          static_cast<off_t>(bytes));
}

// The kernel has it done by a thread of its own.
void UringDisk::remove(std::string_view name, Io& io) {
  CHECK(name.data()[name.size()] == '\0', "a name as the kernel wants it");
  io_uring_prep_unlinkat(entry(begin(io, 1, 0), false, 1), directory_, name.data(), 0);
}

void UringDisk::complete(RingTag tag, std::int32_t result) {
  const bool moves_bytes = (tag.index & bytes_bit) != 0;
  Operation& operation = operations_[tag.index & ~bytes_bit];
  if (operation.io == nullptr || operation.generation != tag.generation) return;
  if (moves_bytes && result >= 0 && result < operation.expected) result = -EIO;  // short
  // A write that fails cancels its flush: the write's own error is the one to tell.
  if (result < 0 && (operation.result >= 0 || operation.result == -ECANCELED))
    operation.result = result;
  if (--operation.parts > 0) return;
  Io& io = *operation.io;
  io.armed = false;
  io.done = true;
  io.result = operation.result < 0 ? operation.result : operation.expected;
  operation.io = nullptr;
  operation.generation = (operation.generation + 1) & 0xFF'FFFF;
}

// --- calibration -----------------------------------------------------------------------------------------

// The median of durable 4 KiB writes beside a loop that works 20 us a turn and yields, as a shard does.
double UringDisk::median_us(FileId file, FlushKind kind) {
  constexpr std::size_t writes = 15;
  constexpr std::uint64_t limit_us = 30'000;  // of all of them
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
  unlinkat(directory_, std::string(calibration_file).c_str(), 0);  // of a start that was killed
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
  if (const Result<void> removed = remove(calibration_file); !removed && ready) ready = removed;
  if (!ready) return not_measured(ready.error());
  return calibration_;
}

Result<Calibration> UringDisk::not_measured(const Error& error) {
  if (!disk_is_full(error.sys)) return std::unexpected(error);
  calibration_.measured = false;
  return calibration_;
}

}  // namespace pawl

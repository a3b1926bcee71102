// SPDX-License-Identifier: Apache-2.0
// Disk: one directory of files, as the log needs it. net/io/uring_disk.h implements it on io_uring.
// tests/sim/ implements it in memory, and loses, tears and reorders writes that were not flushed.
//
// There are two kinds of calls. Blocking calls are for startup and for rare metadata changes
// (20-200 us); they are BlockingDisk, which is all that a repair needs. Asynchronous calls take an
// Io. The disk only marks it done, and the owner checks it in its own turn: no completion runs
// another object's code.
//
// Durability: a finished write with Flush::yes is on the medium, and so is every byte of that file
//             whose write finished before it was submitted. A created, renamed or deleted name is
//             durable after sync_dir. Nothing else is promised.
// Units:  bytes. Reads and writes of a Disk have aligned offset, length and memory (block_bytes).
// Limits: ios_max asynchronous operations at once.
// Errors: Errc::io with errno; of open, create and write_now Errc::no_space with ENOSPC on a full
//         disk. Io::result is -errno. A short write is -EIO. A read beyond the end of the file is
//         -EIO or short.
// Owner:  one shard; not thread-safe.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/base/result.h"

namespace pawl {

inline constexpr std::size_t block_bytes = 4096;

enum class FileId : std::int32_t { none = -1 };

enum class Flush : bool { no, yes };

// One asynchronous operation. It is a member of its owner and does not move while armed.
struct Io {
  bool armed = false;       // under way
  bool done = false;        // finished; the owner clears it after reading the result
  std::int32_t result = 0;  // bytes, or -errno
};

// The error of a blocking call that may need free space: open, create, write_now.
inline std::unexpected<Error> fail_for_space(const char* what, int sys) {
  return fail(sys == ENOSPC ? Errc::no_space : Errc::io, what, sys);
}

struct FileInfo {
  std::string name;
  std::uint64_t bytes = 0;
};

class BlockingDisk {
 public:
  virtual ~BlockingDisk() = default;
  virtual Result<std::vector<FileInfo>> list() = 0;
  // open() opens an existing file for reading and writing; create() makes a file, which must not
  // exist.
  virtual Result<FileId> open(std::string_view name) = 0;
  virtual Result<FileId> create(std::string_view name) = 0;
  virtual void close(FileId file) = 0;
  virtual Result<void> rename(std::string_view from, std::string_view to) = 0;  // replaces `to`
  virtual Result<void> remove(std::string_view name) = 0;
  // Returns the bytes read: fewer than asked only at the end of the file.
  virtual Result<std::size_t> read_now(FileId file, std::uint64_t offset,
                                       std::span<std::byte> into) = 0;
  virtual Result<void> write_now(FileId file, std::uint64_t offset,
                                 std::span<const std::byte> from) = 0;
  virtual Result<void> sync_now(FileId file) = 0;
  virtual Result<void> sync_dir_now() = 0;
};

class Disk : public BlockingDisk {
 public:
  static constexpr std::size_t ios_max = 64;
  using BlockingDisk::remove;

  // --- asynchronous: at most one system call each, finished some turns later ---
  virtual void write(FileId file, std::uint64_t offset, std::span<const std::byte> from,
                     Flush flush, Io& io) = 0;
  virtual void read(FileId file, std::uint64_t offset, std::span<std::byte> into, Io& io) = 0;
  virtual void sync(FileId file, Io& io) = 0;
  virtual void sync_dir(Io& io) = 0;
  // Allocates space for the file's first `bytes` bytes; its length does not change. -EOPNOTSUPP:
  // the file system does not support it.
  virtual void allocate(FileId file, std::uint64_t bytes, Io& io) = 0;
  // Deletes a file that is not open: freeing its space may take 20 ms. `name` ends with a zero byte
  // and stays valid until the operation is done.
  virtual void remove(std::string_view name, Io& io) = 0;

  // The number of asynchronous operations that are done. Without a change, no Io has become done.
  virtual std::uint64_t finished() const { return finished_; }

 protected:
  void finish(Io& io, std::int32_t result) {
    CHECK(io.armed && !io.done, "no operation is under way");
    io = {.armed = false, .done = true, .result = result};
    ++finished_;
  }

 private:
  std::uint64_t finished_ = 0;
};

}  // namespace pawl

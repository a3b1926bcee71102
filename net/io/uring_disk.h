// SPDX-License-Identifier: Apache-2.0
// The Disk of a shard: a directory of files, on io_uring.
//
// A durable write is one of two kinds; calibrate() selects the one that suits the device at
// startup and reports it:
//   linked: an O_DIRECT write with an fdatasync linked behind it. The flush runs in an io-wq
//           thread, which is woken like any other; it needs nothing of this thread.
//   dsync:  one O_DIRECT write with RWF_DSYNC. Only where the device has FUA; elsewhere the kernel
//           finishes it in a per-CPU kworker. A busy thread on that CPU, ours or a client's, keeps
//           the kworker from running until the next 4 ms tick. No measurement at startup can rule
//           out such a neighbour.
//
// Units:  bytes, microseconds.
// Limits: Disk::ios_max operations at once; descriptors as net/io/open_files.h says.
// Errors: as disk.h says. An operation without a descriptor waits and retries every 100 ms:
//         that is no error of the disk, and the bytes must not count as unreadable. Blocking calls
//         fail with EMFILE.
// Owner:  the shard's thread; its completions come through complete().
#pragma once

#include <array>
#include <string>
#include <vector>

#include "net/io/open_files.h"
#include "net/io/ring.h"
#include "wal/format/disk.h"

namespace pawl {

enum class FlushKind : std::uint8_t { linked, dsync };
constexpr std::string_view name_of(FlushKind kind) {
  return kind == FlushKind::linked ? "linked fdatasync" : "dsync";
}

struct Calibration {
  FlushKind kind = FlushKind::linked;
  bool direct = true;    // the file system supports O_DIRECT
  bool fua = false;      // the device makes a single write durable by itself
  bool measured = true;  // false: the disk had no space for it
  double linked_us = 0;  // median of a 4 KiB durable write beside a busy loop
  double dsync_us = 0;

  // A flush takes longer than most writes, and each one writes out what others left in the device.
  static constexpr double slow_flush_us = 150;
  bool flush_is_slow() const { return !fua && linked_us >= slow_flush_us; }
};

class UringDisk final : public Disk {
 public:
  // Opens the directory, creating it if needed; then its name is durable.
  static Result<std::unique_ptr<UringDisk>> open_dir(Ring& ring, const std::string& path);
  ~UringDisk() override;

  // Measures both kinds on a file of its own (under 0.1 s) and uses the better one from then on. On
  // a full disk nothing is measured, and linked flushes are used, which suit every device.
  Result<Calibration> calibrate();
  void use(const Calibration& calibration) {
    calibration_ = calibration;
    files_.set_direct(calibration.direct);
  }
  // After this call files without an operation under way may be closed and opened again.
  void set_descriptors_max(std::uint32_t max) { files_.set_descriptors_max(max); }
  std::uint32_t descriptors() const { return files_.descriptors(); }

  // Handles a completion with RingOp::disk.
  void complete(RingTag tag, std::int32_t result);

  Result<std::vector<FileInfo>> list() override;
  Result<FileId> open(std::string_view name) override;
  Result<FileId> create(std::string_view name) override;
  void close(FileId file) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view name) override;
  Result<std::size_t> read_now(FileId file, std::uint64_t offset,
                               std::span<std::byte> into) override;
  Result<void> write_now(FileId file, std::uint64_t offset,
                         std::span<const std::byte> from) override;
  Result<void> sync_now(FileId file) override;
  Result<void> sync_dir_now() override;
  void write(FileId file, std::uint64_t offset, std::span<const std::byte> from, Flush flush,
             Io& io) override;
  void read(FileId file, std::uint64_t offset, std::span<std::byte> into, Io& io) override;
  void sync(FileId file, Io& io) override;
  void sync_dir(Io& io) override;
  void allocate(FileId file, std::uint64_t bytes, Io& io) override;
  void remove(std::string_view name, Io& io) override;

 private:
  enum class Kind : std::uint8_t { write, flushed_write, read, sync, sync_dir, allocate, remove };
  struct Operation {
    Io* io = nullptr;
    std::uint32_t generation = 0;
    std::int32_t expected = 0;  // bytes of the part that moves bytes
    std::int32_t result = 0;
    Kind kind = Kind::read;
    bool waits = false;  // it waits for a descriptor; its one part is a timer
    FileId file = FileId::none;
    std::uint32_t writes = 0;  // number of the file's writes when it began
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    const void* memory = nullptr;  // buffer, or the name to delete
  };

  UringDisk(Ring& ring, int directory) : ring_(&ring), directory_(directory), files_(directory) {}
  Result<int> descriptor_of(FileId file);
  void begin(Io& io, const Operation& operation);
  void start(std::uint32_t index);
  void start_write(std::uint32_t index, int fd);
  void note_end(const Operation& operation);
  io_uring_sqe* entry(std::uint32_t operation, bool moves_bytes, unsigned together);
  double median_us(FileId file, FlushKind kind);
  Result<Calibration> not_measured(const Error& error);

  Ring* ring_;
  int directory_;
  OpenFiles files_;
  Calibration calibration_;
  std::array<Operation, ios_max> operations_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// SimDisk: a directory of files in memory that keeps the promises of disk.h and no others.
//
//   write under way --step()--> finished (in the cache) --flush--> durable
//          \                        \                                |
//           +---- crash(): any subset of its sectors ----+           +-- crash(): all of it
//
// Asynchronous operations finish only in step(), 50 us to 5 ms after they began and in any order. A
// flush makes durable the writes of the file that had finished when it was submitted, and the write
// it belongs to (disk.h); not writes that finished meanwhile. After a failed flush its writes
// may or may not be on the medium, and no later flush changes that: pages are marked clean. Names
// are durable after sync_dir; a crash keeps any plausible part of later name changes.
//
// Power:  cut_power_after(n) allows n more steps of I/O, and then none: blocking calls fail,
//         asynchronous ones never finish. crash() turns the power on again.
// Checks: alignment; memory that changes while it is being written; overlapping writes under way.
// Units:  bytes; microseconds of the scheduler's own time.
// Owner:  a test. After crash() all FileIds and Ios are invalid, and no Io is touched again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/pages.h"
#include "tests/sim/random.h"
#include "wal/format/disk.h"

namespace pawl::sim {

enum class Crash : std::uint8_t {
  process,  // kill -9: the cache survives; operations under way happen, or not, or in part
  power,    // only durable data surely survives
};

enum class IoKind : std::uint8_t {
  read,
  write,
  sync,
  sync_dir,
  open,
  create,
  rename,
  remove,
  allocate,
};
inline constexpr std::size_t io_kinds = 9;

struct SimDiskOptions {
  std::uint64_t seed = 1;
  std::uint64_t delay_us_min = 50;
  std::uint64_t delay_us_max = 5000;
  std::uint64_t capacity = UINT64_MAX;  // bytes of all files; growing beyond it is ENOSPC
};

struct SimDiskStats {
  // Steps of I/O: calls, submissions, completions. cut_power_after() counts them.
  std::uint64_t steps = 0;
  std::uint64_t writes = 0, flushes = 0, reads = 0, bytes_written = 0;
  std::uint64_t sectors_lost = 0, names_lost = 0, faults = 0;
};

class SimDisk final : public Disk {
 public:
  explicit SimDisk(const SimDiskOptions& options = {});
  ~SimDisk() override;

  // --- the scheduler's side ---
  // Finishes every operation due at `now_us` or earlier. Time does not go back.
  void step(std::uint64_t now_us);
  std::optional<std::uint64_t> next_due() const {  // none: no operation is under way
    if (!has_power() || operations_.empty()) return std::nullopt;
    return first_due_;
  }
  std::size_t in_flight() const { return operations_.size(); }
  // Steps from due time to due time until nothing is under way.
  void settle();

  void crash(Crash kind);
  // Returns the disk that a crash now, with luck by `seed`, would leave; this disk goes on
  // undisturbed.
  std::unique_ptr<SimDisk> copy_after_crash(Crash kind, std::uint64_t seed) const;
  void cut_power_after(std::uint64_t steps) { power_left_ = steps; }
  bool has_power() const { return power_left_ > 0; }
  // Sets a function to be called before each step of I/O; it may only read the disk.
  void watch(std::function<void()> watcher) { watcher_ = std::move(watcher); }

  // --- faults, by call ---
  // Fails one operation of that kind with errno `error`, after `skip` successes; with `forever`
  // every later one too. A failed write may have reached the disk in part.
  void fail(IoKind kind, int error, std::uint64_t skip = 0, bool forever = false);
  void fail_next_write(int error) { fail(IoKind::write, error); }
  void fail_next_sync(int error) { fail(IoKind::sync, error); }
  void fail_next_read(int error) { fail(IoKind::read, error); }
  void short_next_read(std::size_t bytes) { short_read_ = bytes; }
  void set_capacity(std::uint64_t bytes) { options_.capacity = bytes; }
  // Sets the duration of all operations that begin from now on.
  void set_delay(std::uint64_t us) { options_.delay_us_min = options_.delay_us_max = us; }
  void heal_errors();  // ends all faults; a full disk stays full
  void heal();         // ends all faults and the capacity limit

  // --- the medium, for tests that damage or inspect it; the file must exist ---
  void flip_bit(std::string_view name, std::uint64_t offset, unsigned bit);
  void overwrite(std::string_view name, std::uint64_t offset, std::span<const std::byte> with);
  void truncate(std::string_view name, std::uint64_t bytes);
  std::vector<std::byte> content(std::string_view name) const;
  // Reads as read() does, up to the end of the file, but without a step or a fault.
  void peek(std::string_view name, std::uint64_t offset, std::span<std::byte> into) const;
  bool exists(std::string_view name) const { return names_.contains(name); }
  std::uint64_t bytes_used() const;
  const SimDiskStats& stats() const { return stats_; }

  // --- Disk ---
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
  friend class PowerCut;  // tests/exhaustive/

  // A write that is not durable yet. `finished` orders the writes; 0: under way.
  struct Pending {
    std::uint64_t id = 0;
    std::uint64_t finished = 0;
    std::uint64_t offset = 0, bytes = 0;
    Pages data;             // from the start of the page that contains `offset`
    bool orphaned = false;  // the write or its flush failed

    std::uint64_t base() const { return offset - offset % Pages::page_bytes; }
    std::uint64_t end() const { return offset + bytes; }
  };
  struct Inode {
    Pages cache;    // contents that reads return
    Pages durable;  // contents that surely survive a power cut
    std::vector<Pending> pending;
    std::uint64_t allocated = 0;  // bytes reserved for it, whatever its size

    std::uint64_t space() const { return std::max<std::uint64_t>(cache.size(), allocated); }
  };
  using InodePtr = std::shared_ptr<Inode>;
  using Names = std::map<std::string, InodePtr, std::less<>>;

  // A change of names that sync_dir has not yet covered.
  struct NameChange {
    IoKind kind{};
    std::string name, to;
    InodePtr inode;  // create
  };
  struct Operation {
    IoKind kind{};
    std::uint64_t due = 0, order = 0;
    // Its flush covers finished writes, or name changes, up to this number.
    std::uint64_t clock = 0;
    InodePtr inode;
    Flush flush = Flush::no;
    std::uint64_t pending_id = 0;
    std::uint64_t offset = 0;
    const std::byte* from = nullptr;
    std::span<std::byte> into;
    std::string name = {};  // remove
    Io* io = nullptr;
  };
  struct Fault {
    int error = 0;
    std::uint64_t skip = 0;
    bool forever = false;
  };

  static Pending pending_of(std::uint64_t id, std::uint64_t finished, std::uint64_t offset,
                            std::span<const std::byte> data);
  static Pending piece_of(const Pending& write, std::uint64_t id, std::uint64_t from,
                          std::uint64_t to);
  static void put(Pages& onto, const Pending& write);
  bool spend_power();
  std::optional<Error> refused(IoKind kind, const char* what);
  int fault(IoKind kind);
  const InodePtr& inode(FileId file) const;
  Inode& named(std::string_view name);
  void begin(Operation operation, Io& io);
  void finish(const Operation& operation);
  std::int32_t finish_write(const Operation& operation);
  std::int32_t finish_read(const Operation& operation);
  std::int32_t finish_allocate(Inode& file, std::uint64_t bytes);
  std::int32_t finish_sync(Inode& file, std::uint64_t clock, std::uint64_t pending_id);
  std::size_t copy_out(const Inode& file, std::uint64_t offset, std::span<std::byte> into);
  bool fits(const Inode& file, std::uint64_t end) const;
  void apply_name(Names& names, const NameChange& change);
  void drop_name(const std::string& name);
  void crash_names();
  void crash_file(Inode& file, Crash kind, std::size_t sector);
  std::vector<Pending> tear(const Pending& write, std::size_t sector);

  SimDiskOptions options_;
  Random random_;
  std::uint64_t now_ = 0;
  std::uint64_t counter_ = 0;  // ids, order of operations and of finished writes
  std::uint64_t power_left_ = UINT64_MAX;
  Names names_;                      // as the running system sees them
  Names durable_names_;              // as of the last finished sync_dir
  std::vector<NameChange> changes_;  // changes since then
  std::uint64_t changes_base_ = 0;   // durable changes so far: the number of changes_[0]
  std::vector<std::pair<std::int32_t, InodePtr>> open_;
  std::int32_t next_file_ = 0;  // never reused, so that a stale FileId is noticed
  std::vector<Operation> operations_;
  std::uint64_t first_due_ = UINT64_MAX;  // earliest due time in operations_
  std::array<std::optional<Fault>, io_kinds> faults_;
  std::optional<std::size_t> short_read_;
  std::function<void()> watcher_;
  SimDiskStats stats_;
};

}  // namespace pawl::sim

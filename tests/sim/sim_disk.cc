// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sim_disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/check.h"

namespace pawl::sim {
namespace {

bool aligned(std::uint64_t offset, std::size_t bytes, const void* memory) {
  return offset % block_bytes == 0 && bytes % block_bytes == 0 &&
         reinterpret_cast<std::uintptr_t>(memory) % block_bytes == 0;
}

}  // namespace

SimDisk::Pending SimDisk::pending_of(std::uint64_t id, std::uint64_t finished, std::uint64_t offset,
                                     std::span<const std::byte> data) {
  Pending pending{.id = id, .finished = finished, .offset = offset, .bytes = data.size()};
  pending.data.write(offset - pending.base(), data);
  return pending;
}

SimDisk::Pending SimDisk::piece_of(const Pending& write, std::uint64_t id, std::uint64_t from,
                                   std::uint64_t to) {
  Pending piece{.id = id, .finished = id, .offset = from, .bytes = to - from};
  piece.data.copy(from - piece.base(), write.data, from - write.base(), to - from);
  return piece;
}

void SimDisk::put(Pages& onto, const Pending& write) {
  onto.copy(write.offset, write.data, write.offset - write.base(), write.bytes);
}

SimDisk::SimDisk(const SimDiskOptions& options)
    : options_(options), random_(Random(options.seed).split("disk")) {
  CHECK(options.delay_us_min <= options.delay_us_max);
}

SimDisk::~SimDisk() = default;

// --- the scheduler's side ---

void SimDisk::step(std::uint64_t now_us) {
  CHECK(now_us >= now_);
  while (first_due_ <= now_us) {
    const auto next =
        std::min_element(operations_.begin(), operations_.end(), [](const auto& a, const auto& b) {
          return std::pair(a.due, a.order) < std::pair(b.due, b.order);
        });
    if (!spend_power()) break;
    now_ = std::max(now_, next->due);
    const Operation operation = std::move(*next);
    operations_.erase(next);
    first_due_ = UINT64_MAX;
    for (const Operation& other : operations_) first_due_ = std::min(first_due_, other.due);
    finish(operation);
  }
  now_ = now_us;
}

void SimDisk::settle() {
  while (const auto due = next_due()) step(std::max(*due, now_));
}

bool SimDisk::spend_power() {
  if (watcher_) watcher_();
  if (power_left_ == 0) return false;
  if (power_left_ != UINT64_MAX) --power_left_;
  ++stats_.steps;
  return true;
}

// --- faults ---

void SimDisk::fail(IoKind kind, int error, std::uint64_t skip, bool forever) {
  CHECK(error > 0);
  faults_[static_cast<std::size_t>(kind)] = Fault{error, skip, forever};
}

void SimDisk::heal_errors() {
  faults_ = {};
  short_read_.reset();
}

void SimDisk::heal() {
  heal_errors();
  options_.capacity = UINT64_MAX;
}

// Returns the errno with which this operation must fail, or 0.
int SimDisk::fault(IoKind kind) {
  std::optional<Fault>& fault = faults_[static_cast<std::size_t>(kind)];
  if (!fault) return 0;
  if (fault->skip > 0) {
    --fault->skip;
    return 0;
  }
  ++stats_.faults;
  const int error = fault->error;
  if (!fault->forever) fault.reset();
  return error;
}

std::optional<Error> SimDisk::refused(IoKind kind, const char* what) {
  if (!spend_power()) return Error{Errc::io, EIO, "the disk has no power"};
  const int error = fault(kind);
  if (error == 0) return std::nullopt;
  const bool needs_space = kind == IoKind::open || kind == IoKind::create;
  return needs_space ? fail_for_space(what, error).error() : Error{Errc::io, error, what};
}

// --- names ---

Result<std::vector<FileInfo>> SimDisk::list() {
  if (!spend_power()) return pawl::fail(Errc::io, "list", EIO);
  std::vector<FileInfo> files;
  for (const auto& [name, file] : names_) files.push_back({name, file->cache.size()});
  random_.shuffle(std::span(files));  // a directory has no order
  return files;
}

Result<FileId> SimDisk::open(std::string_view name) {
  if (const auto error = refused(IoKind::open, "open")) return std::unexpected(*error);
  const auto found = names_.find(name);
  if (found == names_.end()) return pawl::fail(Errc::io, "open", ENOENT);
  open_.emplace_back(next_file_, found->second);
  return FileId{next_file_++};
}

Result<FileId> SimDisk::create(std::string_view name) {
  CHECK(!name.empty() && name.find('/') == name.npos);
  if (const auto error = refused(IoKind::create, "create")) return std::unexpected(*error);
  if (names_.contains(name)) return pawl::fail(Errc::io, "create", EEXIST);
  const auto file = std::make_shared<Inode>();
  changes_.push_back({IoKind::create, std::string(name), {}, file});
  apply_name(names_, changes_.back());
  open_.emplace_back(next_file_, file);
  return FileId{next_file_++};
}

void SimDisk::close(FileId file) {
  const auto is_it = [&](const auto& open) { return FileId{open.first} == file; };
  CHECK(std::erase_if(open_, is_it) == 1, "not an open file");
}

Result<void> SimDisk::rename(std::string_view from, std::string_view to) {
  CHECK(!to.empty() && from != to);
  if (const auto error = refused(IoKind::rename, "rename")) return std::unexpected(*error);
  if (!names_.contains(from)) return pawl::fail(Errc::io, "rename", ENOENT);
  changes_.push_back({IoKind::rename, std::string(from), std::string(to), nullptr});
  apply_name(names_, changes_.back());
  return {};
}

Result<void> SimDisk::remove(std::string_view name) {
  if (const auto error = refused(IoKind::remove, "remove")) return std::unexpected(*error);
  if (!names_.contains(name)) return pawl::fail(Errc::io, "remove", ENOENT);
  drop_name(std::string(name));
  return {};
}

// Applies a change of names. A rename or remove has no effect if a crash lost its file's name.
void SimDisk::apply_name(Names& names, const NameChange& change) {
  if (change.kind == IoKind::create) {
    names.insert_or_assign(change.name, change.inode);
    return;
  }
  const auto found = names.find(change.name);
  if (found == names.end()) return;
  const InodePtr file = found->second;
  names.erase(found);
  if (change.kind == IoKind::rename) names.insert_or_assign(change.to, file);
}

// --- blocking I/O ---

const SimDisk::InodePtr& SimDisk::inode(FileId file) const {
  const auto found =
      std::ranges::find(open_, file, [](const auto& open) { return FileId{open.first}; });
  CHECK(found != open_.end(), "not an open file: {}", static_cast<std::int32_t>(file));
  return found->second;
}

std::uint64_t SimDisk::bytes_used() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, file] : names_) bytes += file->space();
  return bytes;
}

bool SimDisk::fits(const Inode& file, std::uint64_t end) const {
  return end <= file.space() || bytes_used() - file.space() + end <= options_.capacity;
}

std::size_t SimDisk::copy_out(const Inode& file, std::uint64_t offset, std::span<std::byte> into) {
  ++stats_.reads;
  std::size_t bytes = 0;
  if (offset < file.cache.size())
    bytes = std::min<std::size_t>(into.size(), file.cache.size() - offset);
  if (short_read_) bytes = std::min(bytes, *std::exchange(short_read_, std::nullopt));
  if (bytes > 0) file.cache.read(offset, into.first(bytes));
  return bytes;
}

Result<std::size_t> SimDisk::read_now(FileId file, std::uint64_t offset,
                                      std::span<std::byte> into) {
  const Inode& from = *inode(file);
  if (const auto error = refused(IoKind::read, "read")) return std::unexpected(*error);
  return copy_out(from, offset, into);
}

Result<void> SimDisk::write_now(FileId file, std::uint64_t offset,
                                std::span<const std::byte> from) {
  Inode& onto = *inode(file);
  if (!spend_power()) return pawl::fail(Errc::io, "the disk has no power", EIO);
  if (!fits(onto, offset + from.size())) return fail_for_space("write", ENOSPC);
  counter_ += 2;
  Pending pending = pending_of(counter_ - 1, counter_, offset, from);
  if (const int error = fault(IoKind::write)) {
    for (const Pending& piece : tear(pending, 512)) put(onto.cache, piece);
    pending.orphaned = true;
    onto.pending.push_back(std::move(pending));
    return fail_for_space("write", error);
  }
  ++stats_.writes;
  stats_.bytes_written += from.size();
  put(onto.cache, pending);
  onto.pending.push_back(std::move(pending));
  return {};
}

Result<void> SimDisk::sync_now(FileId file) {
  Inode& of = *inode(file);
  if (!spend_power()) return pawl::fail(Errc::io, "the disk has no power", EIO);
  const std::int32_t result = finish_sync(of, counter_, 0);
  if (result < 0) return pawl::fail(Errc::io, "fdatasync", -result);
  return {};
}

Result<void> SimDisk::sync_dir_now() {
  if (const auto error = refused(IoKind::sync_dir, "fsync of the directory"))
    return std::unexpected(*error);
  for (const NameChange& change : changes_) apply_name(durable_names_, change);
  changes_base_ += changes_.size();
  changes_.clear();
  return {};
}

// --- asynchronous I/O ---

void SimDisk::begin(Operation operation, Io& io) {
  CHECK(!io.armed, "an Io under way was used again");
  CHECK(!io.done, "an Io was used again before its owner had looked");
  CHECK(operations_.size() < ios_max);
  io.armed = true;
  io.result = 0;
  operation.io = &io;
  operation.order = ++counter_;
  // Most operations are quick; one in eight meets the tick, a full queue, or a busy device.
  const std::uint64_t quick = std::min(options_.delay_us_max, options_.delay_us_min * 4);
  operation.due = now_ + random_.between(options_.delay_us_min,
                                         random_.chance(1, 8) ? options_.delay_us_max : quick);
  spend_power();
  first_due_ = std::min(first_due_, operation.due);
  operations_.push_back(std::move(operation));
}

void SimDisk::write(FileId file, std::uint64_t offset, std::span<const std::byte> from, Flush flush,
                    Io& io) {
  CHECK(aligned(offset, from.size(), from.data()), "offset {} bytes {}", offset, from.size());
  CHECK(!from.empty());
  const InodePtr& inode_of_file = inode(file);
  Inode& onto = *inode_of_file;
  for (const Pending& other : onto.pending)
    CHECK(other.finished != 0 || offset + from.size() <= other.offset || other.end() <= offset,
          "two writes under way overlap at {}", std::max(offset, other.offset));
  Operation operation{.kind = IoKind::write,
                      .clock = counter_,
                      .inode = inode_of_file,
                      .flush = flush,
                      .pending_id = ++counter_,
                      .offset = offset,
                      .from = from.data()};
  if (has_power() && fits(onto, offset + from.size()))
    onto.pending.push_back(pending_of(operation.pending_id, 0, offset, from));
  else
    operation.pending_id = 0;
  begin(std::move(operation), io);
}

void SimDisk::read(FileId file, std::uint64_t offset, std::span<std::byte> into, Io& io) {
  CHECK(aligned(offset, into.size(), into.data()), "offset {} bytes {}", offset, into.size());
  CHECK(!into.empty());
  begin({.kind = IoKind::read, .inode = inode(file), .offset = offset, .into = into}, io);
}

void SimDisk::sync(FileId file, Io& io) {
  begin({.kind = IoKind::sync, .clock = counter_, .inode = inode(file)}, io);
}

void SimDisk::sync_dir(Io& io) {
  begin({.kind = IoKind::sync_dir, .clock = changes_base_ + changes_.size()}, io);
}

void SimDisk::allocate(FileId file, std::uint64_t bytes, Io& io) {
  begin({.kind = IoKind::allocate, .inode = inode(file), .offset = bytes}, io);
}

void SimDisk::remove(std::string_view name, Io& io) {
  CHECK(names_.contains(name), "{} is not there", name);
  begin({.kind = IoKind::remove, .name = std::string(name)}, io);
}

void SimDisk::drop_name(const std::string& name) {
  changes_.push_back({IoKind::remove, name, {}, nullptr});
  apply_name(names_, changes_.back());
}

void SimDisk::finish(const Operation& operation) {
  std::int32_t result = 0;
  switch (operation.kind) {
    case IoKind::write:
      result = finish_write(operation);
      break;
    case IoKind::read:
      result = finish_read(operation);
      break;
    case IoKind::sync:
      result = finish_sync(*operation.inode, operation.clock, 0);
      break;
    case IoKind::allocate:
      result = finish_allocate(*operation.inode, operation.offset);
      break;
    case IoKind::remove:
      if (const int error = fault(IoKind::remove)) {
        result = -error;
      } else {
        drop_name(operation.name);
      }
      break;
    default:
      CHECK(operation.kind == IoKind::sync_dir);
      if (const int error = fault(IoKind::sync_dir)) {
        result = -error;
        break;
      }
      for (; changes_base_ < operation.clock; ++changes_base_) {
        apply_name(durable_names_, changes_.front());
        changes_.erase(changes_.begin());
      }
  }
  Disk::finish(*operation.io, result);
}

std::int32_t SimDisk::finish_write(const Operation& operation) {
  if (operation.pending_id == 0) return -ENOSPC;
  Inode& file = *operation.inode;
  const auto pending = std::find_if(file.pending.begin(), file.pending.end(),
                                    [&](const Pending& p) { return p.id == operation.pending_id; });
  CHECK(pending != file.pending.end());
  CHECK(pending->data.equals(pending->offset - pending->base(), {operation.from, pending->bytes}),
        "memory changed while it was being written, at offset {}", operation.offset);
  pending->finished = ++counter_;
  if (const int error = fault(IoKind::write)) {
    for (const Pending& piece : tear(*pending, 512)) put(file.cache, piece);
    pending->orphaned = true;
    return -error;
  }
  const auto bytes = static_cast<std::int32_t>(pending->bytes);
  ++stats_.writes;
  stats_.bytes_written += pending->bytes;
  put(file.cache, *pending);
  if (operation.flush == Flush::no) return bytes;
  const std::int32_t flushed = finish_sync(file, operation.clock, operation.pending_id);
  return flushed < 0 ? flushed : bytes;
}

std::int32_t SimDisk::finish_allocate(Inode& file, std::uint64_t bytes) {
  if (const int error = fault(IoKind::allocate)) return -error;
  if (!fits(file, bytes)) return -ENOSPC;
  file.allocated = std::max(file.allocated, bytes);
  return 0;
}

std::int32_t SimDisk::finish_read(const Operation& operation) {
  if (const int error = fault(IoKind::read)) return -error;
  return static_cast<std::int32_t>(copy_out(*operation.inode, operation.offset, operation.into));
}

// Writes that had finished at `clock` become durable in the order in which they finished; last
// comes the write that the flush belongs to.
std::int32_t SimDisk::finish_sync(Inode& file, std::uint64_t clock, std::uint64_t pending_id) {
  const int error = fault(IoKind::sync);
  const auto is_covered = [&](const Pending& p) {
    return p.finished != 0 && !p.orphaned && (p.finished <= clock || p.id == pending_id);
  };
  std::vector<Pending*> covered;
  for (Pending& p : file.pending)
    if (is_covered(p)) covered.push_back(&p);
  std::sort(covered.begin(), covered.end(),
            [](auto* a, auto* b) { return a->finished < b->finished; });
  for (Pending* p : covered) {
    if (error != 0)
      p->orphaned = true;
    else
      put(file.durable, *p);
  }
  // These writes are newer than anything that a failed write may have left on the medium.
  for (Pending& old : file.pending) {
    if (!old.orphaned || error != 0) continue;
    for (const Pending* p : covered) {
      const std::uint64_t from = std::max(old.offset, p->offset);
      const std::uint64_t to = std::min(old.end(), p->end());
      if (p->finished > old.finished && from < to)
        old.data.copy(from - old.base(), p->data, from - p->base(), to - from);
    }
  }
  if (error != 0) return -error;
  ++stats_.flushes;
  std::erase_if(file.pending, is_covered);
  return 0;
}

}  // namespace pawl::sim

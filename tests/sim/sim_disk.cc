#include "tests/sim/sim_disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "core/check.h"

namespace pawl::sim {
namespace {

bool aligned(std::uint64_t offset, std::size_t bytes, const void* memory) {
  return offset % block_bytes == 0 && bytes % block_bytes == 0 &&
         reinterpret_cast<std::uintptr_t>(memory) % block_bytes == 0;
}

}  // namespace

void SimDisk::put(std::vector<std::byte>& onto, std::uint64_t offset,
                  std::span<const std::byte> data) {
  if (data.empty()) return;
  if (onto.size() < offset + data.size()) onto.resize(offset + data.size());
  std::memcpy(onto.data() + offset, data.data(), data.size());
}

SimDisk::SimDisk(const SimDiskOptions& options)
    : options_(options), random_(Random(options.seed).split("disk")) {
  CHECK(options.delay_us_min <= options.delay_us_max);
}

SimDisk::~SimDisk() = default;

// --- the scheduler's side ---

void SimDisk::step(std::uint64_t now_us) {
  CHECK(now_us >= now_);
  while (true) {
    const auto next =
        std::min_element(operations_.begin(), operations_.end(), [](const auto& a, const auto& b) {
          return std::pair(a.due, a.order) < std::pair(b.due, b.order);
        });
    if (next == operations_.end() || next->due > now_us) break;
    if (!spend_power()) break;
    now_ = std::max(now_, next->due);
    const Operation operation = std::move(*next);
    operations_.erase(next);
    finish(operation);
  }
  now_ = now_us;
}

std::optional<std::uint64_t> SimDisk::next_due() const {
  if (!has_power()) return std::nullopt;
  std::optional<std::uint64_t> due;
  for (const Operation& operation : operations_)
    due = std::min(due.value_or(UINT64_MAX), operation.due);
  return due;
}

void SimDisk::settle() {
  while (const auto due = next_due()) step(std::max(*due, now_));
}

bool SimDisk::spend_power() {
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

// The errno this operation shall fail with, or 0.
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
  if (const int error = fault(kind)) return Error{Errc::io, error, what};
  return std::nullopt;
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
  open_[next_file_] = found->second;
  return FileId{next_file_++};
}

Result<FileId> SimDisk::create(std::string_view name) {
  CHECK(!name.empty() && name.find('/') == name.npos);
  if (const auto error = refused(IoKind::create, "create")) return std::unexpected(*error);
  if (names_.contains(name)) return pawl::fail(Errc::io, "create", EEXIST);
  const auto file = std::make_shared<Inode>();
  changes_.push_back({IoKind::create, std::string(name), {}, file});
  apply_name(names_, changes_.back());
  open_[next_file_] = file;
  return FileId{next_file_++};
}

void SimDisk::close(FileId file) {
  CHECK(open_.erase(static_cast<std::int32_t>(file)) == 1, "not an open file");
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
  changes_.push_back({IoKind::remove, std::string(name), {}, nullptr});
  apply_name(names_, changes_.back());
  return {};
}

// A change whose ground was lost in a crash changes nothing.
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

SimDisk::Inode& SimDisk::inode(FileId file) {
  const auto found = open_.find(static_cast<std::int32_t>(file));
  CHECK(found != open_.end(), "not an open file: {}", static_cast<std::int32_t>(file));
  return *found->second;
}

std::uint64_t SimDisk::bytes_used() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, file] : names_) bytes += file->cache.size();
  return bytes;
}

bool SimDisk::fits(const Inode& file, std::uint64_t end) const {
  return end <= file.cache.size() || bytes_used() - file.cache.size() + end <= options_.capacity;
}

std::size_t SimDisk::copy_out(const Inode& file, std::uint64_t offset, std::span<std::byte> into) {
  ++stats_.reads;
  std::size_t bytes = 0;
  if (offset < file.cache.size())
    bytes = std::min<std::size_t>(into.size(), file.cache.size() - offset);
  if (short_read_) bytes = std::min(bytes, *std::exchange(short_read_, std::nullopt));
  if (bytes > 0) std::memcpy(into.data(), file.cache.data() + offset, bytes);
  return bytes;
}

Result<std::size_t> SimDisk::read_now(FileId file, std::uint64_t offset,
                                      std::span<std::byte> into) {
  Inode& from = inode(file);
  if (const auto error = refused(IoKind::read, "read")) return std::unexpected(*error);
  return copy_out(from, offset, into);
}

Result<void> SimDisk::write_now(FileId file, std::uint64_t offset,
                                std::span<const std::byte> from) {
  Inode& onto = inode(file);
  if (!spend_power()) return pawl::fail(Errc::io, "the disk has no power", EIO);
  if (!fits(onto, offset + from.size())) return pawl::fail(Errc::io, "write", ENOSPC);
  Pending pending{
      ++counter_, ++counter_, offset, {from.begin(), from.end()}
  };
  if (const int error = fault(IoKind::write)) {
    for (const Pending& piece : tear(pending, 512)) put(onto.cache, piece.offset, piece.data);
    pending.orphaned = true;
    onto.pending.push_back(std::move(pending));
    return pawl::fail(Errc::io, "write", error);
  }
  ++stats_.writes;
  stats_.bytes_written += from.size();
  put(onto.cache, offset, from);
  onto.pending.push_back(std::move(pending));
  return {};
}

Result<void> SimDisk::sync_now(FileId file) {
  Inode& of = inode(file);
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
  // Most operations are quick; one in eight meets the tick, a full queue, a busy device.
  const std::uint64_t quick = std::min(options_.delay_us_max, options_.delay_us_min * 4);
  operation.due = now_ + random_.between(options_.delay_us_min,
                                         random_.chance(1, 8) ? options_.delay_us_max : quick);
  spend_power();
  operations_.push_back(std::move(operation));
}

void SimDisk::write(FileId file, std::uint64_t offset, std::span<const std::byte> from, Flush flush,
                    Io& io) {
  CHECK(aligned(offset, from.size(), from.data()), "offset {} bytes {}", offset, from.size());
  CHECK(!from.empty());
  Inode& onto = inode(file);
  for (const Pending& other : onto.pending)
    CHECK(other.finished != 0 || offset + from.size() <= other.offset ||
              other.offset + other.data.size() <= offset,
          "two writes under way overlap at {}", std::max(offset, other.offset));
  Operation operation{.kind = IoKind::write,
                      .clock = counter_,
                      .inode = open_[static_cast<std::int32_t>(file)],
                      .flush = flush,
                      .pending_id = ++counter_,
                      .offset = offset,
                      .from = from.data()};
  if (has_power() && fits(onto, offset + from.size()))
    onto.pending.push_back({
        operation.pending_id, 0, offset, {from.begin(), from.end()}
    });
  else
    operation.pending_id = 0;
  begin(std::move(operation), io);
}

void SimDisk::read(FileId file, std::uint64_t offset, std::span<std::byte> into, Io& io) {
  CHECK(aligned(offset, into.size(), into.data()), "offset {} bytes {}", offset, into.size());
  CHECK(!into.empty());
  inode(file);
  begin({.kind = IoKind::read,
         .inode = open_[static_cast<std::int32_t>(file)],
         .offset = offset,
         .into = into},
        io);
}

void SimDisk::sync(FileId file, Io& io) {
  inode(file);
  begin({.kind = IoKind::sync, .clock = counter_, .inode = open_[static_cast<std::int32_t>(file)]},
        io);
}

void SimDisk::sync_dir(Io& io) {
  begin({.kind = IoKind::sync_dir, .clock = changes_base_ + changes_.size()}, io);
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
  CHECK(operation.io->armed);
  operation.io->result = result;
  operation.io->armed = false;
  operation.io->done = true;
}

std::int32_t SimDisk::finish_write(const Operation& operation) {
  if (operation.pending_id == 0) return -ENOSPC;
  Inode& file = *operation.inode;
  const auto pending = std::find_if(file.pending.begin(), file.pending.end(),
                                    [&](const Pending& p) { return p.id == operation.pending_id; });
  CHECK(pending != file.pending.end());
  CHECK(std::memcmp(pending->data.data(), operation.from, pending->data.size()) == 0,
        "memory changed while it was being written, at offset {}", operation.offset);
  pending->finished = ++counter_;
  if (const int error = fault(IoKind::write)) {
    for (const Pending& piece : tear(*pending, 512)) put(file.cache, piece.offset, piece.data);
    pending->orphaned = true;
    return -error;
  }
  const auto bytes = static_cast<std::int32_t>(pending->data.size());
  ++stats_.writes;
  stats_.bytes_written += pending->data.size();
  put(file.cache, pending->offset, pending->data);
  if (operation.flush == Flush::no) return bytes;
  const std::int32_t flushed = finish_sync(file, operation.clock, operation.pending_id);
  return flushed < 0 ? flushed : bytes;
}

std::int32_t SimDisk::finish_read(const Operation& operation) {
  if (const int error = fault(IoKind::read)) return -error;
  return static_cast<std::int32_t>(copy_out(*operation.inode, operation.offset, operation.into));
}

// Writes that had finished at `clock` become durable in the order in which they finished, then the one
// the flush belongs to.
std::int32_t SimDisk::finish_sync(Inode& file, std::uint64_t clock, std::uint64_t pending_id) {
  const int error = fault(IoKind::sync);
  std::vector<Pending*> covered;
  for (Pending& p : file.pending)
    if (p.finished != 0 && !p.orphaned && (p.finished <= clock || p.id == pending_id))
      covered.push_back(&p);
  std::sort(covered.begin(), covered.end(),
            [](auto* a, auto* b) { return a->finished < b->finished; });
  for (Pending* p : covered) {
    if (error != 0)
      p->orphaned = true;
    else
      put(file.durable, p->offset, p->data);
  }
  // What is on the medium now is newer than what a failed write may have left there.
  for (Pending& old : file.pending) {
    if (!old.orphaned || error != 0) continue;
    for (const Pending* p : covered) {
      const std::uint64_t from = std::max(old.offset, p->offset);
      const std::uint64_t to = std::min(old.offset + old.data.size(), p->offset + p->data.size());
      if (p->finished > old.finished && from < to)
        std::memcpy(old.data.data() + (from - old.offset), p->data.data() + (from - p->offset),
                    to - from);
    }
  }
  if (error != 0) return -error;
  ++stats_.flushes;
  std::set<std::uint64_t> done;
  for (const Pending* p : covered) done.insert(p->id);
  std::erase_if(file.pending, [&](const Pending& p) { return done.contains(p.id); });
  return 0;
}

}  // namespace pawl::sim

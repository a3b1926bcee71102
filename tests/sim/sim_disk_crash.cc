// SPDX-License-Identifier: Apache-2.0
// Crashes of a SimDisk, and damage that a test does to its medium.
#include <algorithm>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "tests/sim/sim_disk.h"

namespace pawl::sim {

// --- crashes ---

void SimDisk::crash(Crash kind) {
  const std::size_t sector = random_.chance(1, 2) ? 512 : block_bytes;
  for (const Operation& operation : operations_)
    if (operation.kind == IoKind::remove && random_.chance(1, 2)) drop_name(operation.name);
  if (kind == Crash::power) crash_names();
  std::set<Inode*> seen;
  std::vector<InodePtr> files;  // in the order of names, not of addresses
  const auto collect = [&](const InodePtr& file) {
    if (file && seen.insert(file.get()).second) files.push_back(file);
  };
  for (const auto& [name, file] : names_) collect(file);
  for (const auto& [name, file] : durable_names_) collect(file);
  for (const NameChange& change : changes_) collect(change.inode);
  for (const InodePtr& file : files) crash_file(*file, kind, sector);
  operations_.clear();
  first_due_ = UINT64_MAX;
  open_.clear();
  power_left_ = UINT64_MAX;
}

// Usually keeps a journal without its tail; sometimes any subset, in order.
void SimDisk::crash_names() {
  const std::size_t kept = random_.below(changes_.size() + 1);
  const bool journal = random_.chance(3, 4);
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    if (journal ? i < kept : random_.chance(1, 2))
      apply_name(durable_names_, changes_[i]);
    else
      ++stats_.names_lost;
  }
  changes_base_ += changes_.size();
  changes_.clear();
  names_ = durable_names_;
}

void SimDisk::crash_file(Inode& file, Crash kind, std::size_t sector) {
  if (kind == Crash::power) file.allocated = 0;
  if (file.pending.empty() && file.cache.size() == file.durable.size()) return;  // all is durable
  std::vector<Pending> writes = std::exchange(file.pending, {});
  random_.shuffle(std::span(writes));  // writes under way have no order among themselves
  std::stable_sort(writes.begin(), writes.end(), [](const Pending& a, const Pending& b) {
    return a.finished - 1 < b.finished - 1;
  });
  const std::size_t running = file.cache.size();
  const std::size_t certain = file.durable.size();
  file.cache = file.durable;
  for (Pending& write : writes) {
    const bool whole = kind == Crash::process && write.finished != 0 && !write.orphaned;
    std::vector<Pending> pieces;
    if (whole)
      pieces.push_back(std::move(write));
    else
      pieces = tear(write, sector);
    for (Pending& piece : pieces) {
      put(file.cache, piece);
      if (kind == Crash::process) file.pending.push_back(std::move(piece));
    }
  }
  if (kind == Crash::process) {
    // The running system keeps its size of the file, and its next flush makes that size durable.
    if (const std::size_t end = file.cache.size(); end < running) {
      file.cache.resize(running);
      ++counter_;
      file.pending.push_back(
          pending_of(counter_, counter_, end, std::vector<std::byte>(running - end)));
    }
    return;
  }
  // The size of the file is separate metadata: it may be behind the data, or ahead of it.
  if (file.cache.size() > certain && random_.chance(1, 4)) file.cache.resize(certain);
  if (running > file.cache.size() && random_.chance(1, 4)) file.cache.resize(running);
  file.durable = file.cache;
}

// Returns some of the sectors of a write: none, all, the first ones, the last ones, or any.
std::vector<SimDisk::Pending> SimDisk::tear(const Pending& write, std::size_t sector) {
  const std::uint64_t first = write.offset / sector;
  const std::uint64_t sectors = (write.end() + sector - 1) / sector - first;
  const std::uint64_t shape = random_.below(5);
  const std::uint64_t border = random_.below(sectors + 1);
  std::vector<Pending> pieces;
  for (std::uint64_t i = 0; i < sectors; ++i) {
    const bool kept = shape == 1 || (shape == 2 && i < border) || (shape == 3 && i >= border) ||
                      (shape == 4 && random_.chance(1, 2));
    if (!kept) {
      ++stats_.sectors_lost;
      continue;
    }
    const std::uint64_t from = std::max(write.offset, (first + i) * sector);
    const std::uint64_t to = std::min(write.end(), (first + i + 1) * sector);
    pieces.push_back(piece_of(write, ++counter_, from, to));
  }
  return pieces;
}

std::unique_ptr<SimDisk> SimDisk::copy_after_crash(Crash kind, std::uint64_t seed) const {
  SimDiskOptions options = options_;
  options.seed = seed;
  auto copy = std::make_unique<SimDisk>(options);
  copy->now_ = now_;
  copy->counter_ = counter_;
  std::map<const Inode*, InodePtr> copies;
  const auto twin = [&copies](const InodePtr& file) -> InodePtr {
    if (!file) return nullptr;
    InodePtr& made = copies[file.get()];
    if (!made) made = std::make_shared<Inode>(*file);
    return made;
  };
  for (const auto& [name, file] : names_) copy->names_[name] = twin(file);
  for (const auto& [name, file] : durable_names_) copy->durable_names_[name] = twin(file);
  for (const NameChange& change : changes_)
    copy->changes_.push_back({change.kind, change.name, change.to, twin(change.inode)});
  copy->changes_base_ = changes_base_;
  copy->crash(kind);
  return copy;
}

// --- the medium ---

SimDisk::Inode& SimDisk::named(std::string_view name) {
  const auto found = names_.find(name);
  CHECK(found != names_.end(), "no file {}", name);
  return *found->second;
}

void SimDisk::flip_bit(std::string_view name, std::uint64_t offset, unsigned bit) {
  Inode& file = named(name);
  CHECK(offset < file.cache.size() && bit < 8);
  const std::byte mask{static_cast<unsigned char>(1u << bit)};
  const auto flip = [&](Pages& pages, std::uint64_t at) {
    if (at >= pages.size()) return;
    std::byte flipped{};
    pages.read(at, {&flipped, 1});
    flipped ^= mask;
    pages.write(at, {&flipped, 1});
  };
  flip(file.cache, offset);
  flip(file.durable, offset);
  for (Pending& write : file.pending)  // a flush or a crash takes the bytes from here
    if (write.offset <= offset && offset < write.end()) flip(write.data, offset - write.base());
}

void SimDisk::overwrite(std::string_view name, std::uint64_t offset,
                        std::span<const std::byte> with) {
  Inode& file = named(name);
  file.cache.write(offset, with);
  file.durable.write(offset, with);
}

void SimDisk::truncate(std::string_view name, std::uint64_t bytes) {
  Inode& file = named(name);
  CHECK(bytes <= file.cache.size());
  file.cache.resize(bytes);
  file.durable.resize(std::min(file.durable.size(), bytes));
}

std::vector<std::byte> SimDisk::content(std::string_view name) const {
  const auto found = names_.find(name);
  CHECK(found != names_.end(), "no file {}", name);
  std::vector<std::byte> bytes(found->second->cache.size());
  found->second->cache.read(0, bytes);
  return bytes;
}

void SimDisk::peek(std::string_view name, std::uint64_t offset, std::span<std::byte> into) const {
  const auto found = names_.find(name);
  CHECK(found != names_.end(), "no file {}", name);
  const std::uint64_t size = found->second->cache.size();
  const std::size_t bytes = offset < size ? std::min<std::size_t>(into.size(), size - offset) : 0;
  if (bytes > 0) found->second->cache.read(offset, into.first(bytes));
}

}  // namespace pawl::sim

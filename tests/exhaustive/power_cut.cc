// SPDX-License-Identifier: Apache-2.0
#include "tests/exhaustive/power_cut.h"

#include <xxhash.h>

#include <algorithm>
#include <array>

#include "core/base/check.h"

namespace pawl::sim {
namespace {

using Sector = std::array<std::byte, PowerCut::sector_bytes>;
constexpr Sector zeros{};

Sector sector_at(const Pages& pages, std::uint64_t at) {
  Sector sector{};
  if (at < pages.size())
    pages.read(at,
               std::span(sector).first(std::min<std::uint64_t>(sector.size(), pages.size() - at)));
  return sector;
}

// A sector of zeros has hash 0, so that the end of a file does not matter.
std::uint64_t hash_of(const Sector& sector, std::uint64_t at) {
  return sector == zeros ? 0 : XXH3_64bits_withSeed(sector.data(), sector.size(), at + 1);
}

std::uint64_t sum_of(const Pages& pages) {
  std::uint64_t sum = 0;
  for (std::uint64_t at = 0; at < pages.size(); at += PowerCut::sector_bytes)
    sum += hash_of(sector_at(pages, at), at);
  return sum;
}

std::uint64_t hash_of(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

}  // namespace

PowerCut::PowerCut(const SimDisk& disk) : disk_(disk) {
  for (const auto& [name, inode] : disk.durable_names_)
    hash_ = mix(hash_ ^ hash_of(name) ^ files_[file_of(inode)].sum);
  for (std::size_t i = 0; i < disk.changes_.size(); ++i) {
    const SimDisk::NameChange& change = disk.changes_[i];
    if (change.inode) file_of(change.inode);
    pieces_.push_back({.kind = Kind::name, .block = blocks_++, .change = i});
    hash_ = mix(hash_ ^ hash_of(change.name) ^ static_cast<std::uint64_t>(change.kind));
  }
  for (std::size_t file = 0; file < files_.size(); ++file) {
    std::vector<const SimDisk::Pending*> writes;
    for (const SimDisk::Pending& write : files_[file].inode->pending) writes.push_back(&write);
    std::ranges::stable_sort(writes, {}, [](const auto* write) { return write->finished - 1; });
    for (const SimDisk::Pending* write : writes) add_sectors(file, *write);
    add_sizes(file);
  }
  for (const Piece& piece : pieces_) hash_ = mix(hash_ ^ piece.hash ^ piece.file ^ piece.to);
}

std::size_t PowerCut::file_of(const SimDisk::InodePtr& inode) {
  const auto found = std::ranges::find(files_, inode, &File::inode);
  if (found != files_.end()) return static_cast<std::size_t>(found - files_.begin());
  files_.push_back({inode, sum_of(inode->durable)});
  return files_.size() - 1;
}

void PowerCut::add_sectors(std::size_t file, const SimDisk::Pending& write) {
  const Pages& durable = files_[file].inode->durable;
  std::uint64_t last_block = UINT64_MAX;
  for (std::uint64_t at = write.offset; at < write.end();
       at = at - at % sector_bytes + sector_bytes) {
    const std::uint64_t start = at - at % sector_bytes;
    const std::uint64_t to = std::min(start + sector_bytes, write.end());
    Sector now = sector_at(durable, start);
    const bool written_twice = std::ranges::any_of(pieces_, [&](const Piece& p) {
      return p.kind == Kind::sector && p.file == file && p.from < to && at < p.to;
    });
    const Sector before = now;
    write.data.read(at - write.base(), std::span(now).subspan(at - start, to - at));
    if (now == before && !written_twice) continue;
    if (at / block_bytes != last_block) ++blocks_;
    last_block = at / block_bytes;
    pieces_.push_back({.kind = Kind::sector,
                       .block = blocks_ - 1,
                       .file = file,
                       .write = &write,
                       .from = at,
                       .to = to,
                       .hash = hash_of(now, start)});
  }
}

// A file size is metadata of its own: the size while running or half way to it may be durable,
// whatever sectors are.
void PowerCut::add_sizes(std::size_t file) {
  const SimDisk::Inode& inode = *files_[file].inode;
  std::uint64_t running = inode.cache.size();
  for (const SimDisk::Pending& write : inode.pending) running = std::max(running, write.end());
  const std::uint64_t certain = inode.durable.size();
  if (running <= certain) return;
  const std::uint64_t half = certain + (running - certain) / 2 / sector_bytes * sector_bytes;
  if (half > certain)
    pieces_.push_back({.kind = Kind::size, .block = blocks_++, .file = file, .to = half});
  pieces_.push_back({.kind = Kind::size, .block = blocks_++, .file = file, .to = running});
}

PowerCut::Outcome PowerCut::outcome(std::span<const std::uint8_t> kept) const {
  CHECK(kept.size() == pieces_.size());
  auto left = std::make_unique<SimDisk>(disk_.options_);
  left->now_ = disk_.now_;
  left->counter_ = disk_.counter_;
  std::vector<SimDisk::InodePtr> twins;
  std::vector<std::uint64_t> sums;
  for (const File& file : files_) {
    twins.push_back(std::make_shared<SimDisk::Inode>());
    twins.back()->cache = file.inode->durable;
    sums.push_back(file.sum);
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (kept[i] == 0 || piece.kind == Kind::name) continue;
    Pages& pages = twins[piece.file]->cache;
    if (piece.kind == Kind::size) {
      if (pages.size() < piece.to) pages.resize(piece.to);
      continue;
    }
    const std::uint64_t start = piece.from - piece.from % sector_bytes;
    sums[piece.file] -= hash_of(sector_at(pages, start), start);
    pages.copy(piece.from, piece.write->data, piece.from - piece.write->base(),
               piece.to - piece.from);
    sums[piece.file] += hash_of(sector_at(pages, start), start);
  }
  const auto twin = [&](const SimDisk::InodePtr& inode) {
    const auto found = std::ranges::find(files_, inode, &File::inode);
    return twins[static_cast<std::size_t>(found - files_.begin())];
  };
  for (const auto& [name, inode] : disk_.durable_names_) left->names_[name] = twin(inode);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].kind != Kind::name || kept[i] == 0) continue;
    SimDisk::NameChange change = disk_.changes_[pieces_[i].change];
    if (change.inode) change.inode = twin(change.inode);
    left->apply_name(left->names_, change);
  }
  std::uint64_t hash = 0;
  for (const auto& [name, inode] : left->names_) {
    inode->durable = inode->cache;
    const auto at = static_cast<std::size_t>(std::ranges::find(twins, inode) - twins.begin());
    hash = mix(hash ^ hash_of(name) ^ mix(sums[at]) ^ inode->cache.size());
  }
  left->durable_names_ = left->names_;
  return {std::move(left), hash};
}

}  // namespace pawl::sim

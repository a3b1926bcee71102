// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/apply.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/check.h"

namespace pawl {
namespace {

using Done = std::expected<void, std::string>;
using Changes = std::map<Lsn, std::vector<std::byte>>;

constexpr std::size_t piece_bytes = 1 << 16;  // of a copy or of zeros

// Writes the plan to the disk, with errors as texts.
class Application {
 public:
  Application(const RepairPlan& plan, BlockingDisk& disk, const std::string& directory)
      : plan_(plan), at_(plan.content.geometry()), disk_(disk), directory_(directory) {}

  // Completes a segment: a file that is too short keeps its content. A new one, and the copy of the
  // beginning of one that is too long, has full size before its name.
  Done make_whole(std::uint64_t number) {
    const std::string name = segment_name(number), temporary = name + ".tmp";
    const auto there = plan_.content.files().find(number);
    const std::uint64_t bytes = there == plan_.content.files().end() ? 0 : there->second.bytes;
    CHECK(there == plan_.content.files().end() || !there->second.whole, "{} is whole", name);
    const bool is_new = there == plan_.content.files().end() || bytes > at_.segment_bytes;
    // An interrupted repair may have left the file.
    if (const auto removed = is_new ? disk_.remove(temporary) : Result<void>{};
        !removed && removed.error().sys != ENOENT)
      return failed("open", temporary, removed.error());
    const auto file = is_new ? disk_.create(temporary) : disk_.open(name);
    if (!file) return failed("open", is_new ? temporary : name, file.error());
    Done done = write_whole(number, *file, is_new ? temporary : name, bytes);
    disk_.close(*file);
    if (!done || !is_new) return done;
    if (auto renamed = disk_.rename(temporary, name); !renamed)
      return failed("rename to", name, renamed.error());
    return sync_directory();
  }

  Done write_changes(Changes::const_iterator from, Changes::const_iterator to) {
    while (from != to) {
      const std::uint64_t number = at_.segment_of(from->first);
      const std::string name = segment_name(number);
      const auto file = disk_.open(name);
      if (!file) return failed("open", name, file.error());
      Done done;
      for (; done && from != to && at_.segment_of(from->first) == number; ++from)
        done = write_change(*file, name, from->first, from->second);
      if (done) done = sync(*file, name);
      disk_.close(*file);
      if (!done) return done;
    }
    return {};
  }

  Done write_manifests() {
    Manifest next = *plan_.manifest;
    CHECK(next.epoch > 0, "an epoch of a log begins at 1");
    CHECK(next.checkpoint <= next.checkpoint_end, "{} {}", next.checkpoint, next.checkpoint_end);
    for (std::size_t i = 0; i < std::size(manifest_names); ++i) {
      ++next.generation;
      std::array<std::byte, block_bytes> block;
      write_manifest(block, next);
      const std::string name(manifest_names[next.generation % 2]);
      auto file = disk_.open(name);
      if (!file && file.error().sys == ENOENT) file = disk_.create(name);
      if (!file) return failed("open", name, file.error());
      Done done = write(*file, name, 0, block);
      if (done) done = sync(*file, name);
      disk_.close(*file);
      if (!done) return done;
    }
    return sync_directory();
  }

 private:
  std::unexpected<std::string> failed(std::string_view what, std::string_view name,
                                      const Error& error) const {
    return std::unexpected(
        fmt::format("cannot {} {}/{}: {}", what, directory_, name, std::strerror(error.sys)));
  }
  Done write(FileId file, const std::string& name, std::uint64_t offset,
             std::span<const std::byte> bytes) {
    const auto written = disk_.write_now(file, offset, bytes);
    return written ? Done{} : failed("write", name, written.error());
  }
  // A change lies within its segment, behind the header.
  Done write_change(FileId file, const std::string& name, Lsn lsn,
                    std::span<const std::byte> bytes) {
    const std::uint64_t offset = at_.offset_of(lsn);
    CHECK(offset >= block_bytes, "at {}", lsn);
    CHECK(offset + bytes.size() <= at_.segment_bytes, "{} bytes at {}", bytes.size(), lsn);
    return write(file, name, offset, bytes);
  }
  Done sync(FileId file, const std::string& name) {
    const auto synced = disk_.sync_now(file);
    return synced ? Done{} : failed("flush", name, synced.error());
  }
  Done sync_directory() {
    const auto synced = disk_.sync_dir_now();
    if (synced) return {};
    return std::unexpected(
        fmt::format("cannot flush {}: {}", directory_, std::strerror(synced.error().sys)));
  }

  // `bytes`: the size of the file that `number` has now.
  Done write_whole(std::uint64_t number, FileId file, const std::string& name,
                   std::uint64_t bytes) {
    if (bytes > at_.segment_bytes) {
      if (auto done = copy(segment_name(number), file, name); !done) return done;
    }
    static constexpr std::array<std::byte, piece_bytes> zeros{};
    for (std::uint64_t from = bytes; from < at_.segment_bytes; from += zeros.size()) {
      const std::size_t n = std::min<std::uint64_t>(zeros.size(), at_.segment_bytes - from);
      if (auto done = write(file, name, from, std::span(zeros).first(n)); !done) return done;
    }
    std::array<std::byte, block_bytes> header;
    const std::uint64_t usable = plan_.content.usable_bytes(number);
    CHECK(usable <= at_.segment_bytes, "{} of segment {}", usable, number);
    write_segment_header(header, {at_.stream, number, at_.segment_base(number),
                                  usable == at_.segment_bytes ? 0 : usable});
    if (auto done = write(file, name, 0, header); !done) return done;
    return sync(file, name);
  }

  // Copies the first `segment_bytes` of the file `from`.
  Done copy(const std::string& from, FileId to, const std::string& name) {
    for (std::uint64_t at = 0; at < at_.segment_bytes; at += piece_bytes) {
      const auto piece =
          read_file(disk_, from, at, std::min<std::uint64_t>(piece_bytes, at_.segment_bytes - at));
      if (!piece) return failed("read", from, piece.error());
      if (auto done = write(to, name, at, *piece); !done) return done;
    }
    return {};
  }

  const RepairPlan& plan_;
  const Geometry& at_;
  BlockingDisk& disk_;
  const std::string& directory_;
};

}  // namespace

Done apply_repair(const RepairPlan& plan, BlockingDisk& disk, const std::string& directory) {
  Application application(plan, disk, directory);
  for (const std::uint64_t number : plan.content.made_whole()) {
    if (auto done = application.make_whole(number); !done) return done;
  }
  const Changes& changes = plan.content.changes();
  const auto appended = changes.lower_bound(plan.appended);
  if (auto done = application.write_changes(appended, changes.end()); !done) return done;
  if (auto done = application.write_changes(changes.begin(), appended); !done) return done;
  return plan.manifest ? application.write_manifests() : Done{};
}

}  // namespace pawl

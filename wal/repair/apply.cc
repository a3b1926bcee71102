// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/apply.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

namespace pawl {
namespace {

namespace fs = std::filesystem;
using Done = std::expected<void, std::string>;

std::unexpected<std::string> failed(std::string_view what, const std::string& path) {
  return std::unexpected(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

Done sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  Done done;
  if (!synced) done = failed("flush", path);
  if (fd >= 0) ::close(fd);
  return done;
}

Done rename_durably(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return failed("rename to", to);
  return sync_directory(fs::path(to).parent_path().string());
}

// A file open for writing.
class Output {
 public:
  explicit Output(std::string path, int more_flags = 0)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | more_flags, 0600)) {}
  ~Output() {
    if (fd_ >= 0) ::close(fd_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Done write(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (fd_ < 0) return failed("open", path_);
    while (!bytes.empty()) {
      const ssize_t n = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n <= 0) return failed("write", path_);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }
  Done zeros(std::uint64_t from, std::uint64_t to) {
    static constexpr std::array<std::byte, 1 << 16> block{};
    for (; from < to; from += block.size()) {
      const std::size_t n = std::min<std::uint64_t>(block.size(), to - from);
      if (auto done = write(from, std::span(block).first(n)); !done) return done;
    }
    return {};
  }
  Done cut(std::uint64_t bytes) {
    if (fd_ < 0) return failed("open", path_);
    if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return failed("cut", path_);
    return {};
  }
  Done sync() {
    if (fd_ < 0) return failed("open", path_);
    if (fsync(fd_) != 0) return failed("flush", path_);
    return {};
  }

 private:
  std::string path_;
  int fd_;
};

Done copy_durably(const std::string& from, const std::string& to) {
  std::error_code error;
  if (!fs::copy_file(from, to, error))
    return std::unexpected(fmt::format("cannot copy {} to {}: {}", from, to, error.message()));
  return Output(to).sync();
}

Done write_durably(const std::string& path, std::span<const std::byte> bytes) {
  Output file(path, O_CREAT);
  if (auto done = file.write(0, bytes); !done) return done;
  return file.sync();
}

// Completes a segment. An existing file keeps its content; a new one has full size before its name.
Done make_whole(const RepairPlan& plan, std::uint64_t number) {
  const Geometry& at = plan.content.geometry();
  const std::string path = plan.content.directory() + "/" + segment_name(number);
  const auto there = plan.content.files().find(number);
  const bool is_new = there == plan.content.files().end();
  const std::string name = is_new ? path + ".tmp" : path;
  const std::uint64_t bytes = is_new ? 0 : there->second.bytes;
  std::array<std::byte, block_bytes> header;
  const std::uint64_t usable = plan.content.usable_bytes(number);
  write_segment_header(header, {at.stream, number, at.segment_base(number),
                                usable == at.segment_bytes ? 0 : usable});
  {
    Output file(name, is_new ? O_CREAT | O_TRUNC : 0);
    if (bytes > at.segment_bytes) {
      if (auto done = file.cut(at.segment_bytes); !done) return done;
    }
    if (auto done = file.zeros(bytes, at.segment_bytes); !done) return done;
    if (auto done = file.write(0, header); !done) return done;
    if (auto done = file.sync(); !done) return done;
  }
  return is_new ? rename_durably(name, path) : Done{};
}

using Changes = std::map<Lsn, std::vector<std::byte>>;

Done write_changes(const RepairPlan& plan, Changes::const_iterator from,
                   Changes::const_iterator to) {
  const Geometry& at = plan.content.geometry();
  while (from != to) {
    const std::uint64_t number = at.segment_of(from->first);
    Output file(plan.content.directory() + "/" + segment_name(number));
    for (; from != to && at.segment_of(from->first) == number; ++from) {
      if (auto done = file.write(at.offset_of(from->first), from->second); !done) return done;
    }
    if (auto done = file.sync(); !done) return done;
  }
  return {};
}

Done write_manifests(const RepairPlan& plan) {
  Manifest next = *plan.manifest;
  for (std::size_t i = 0; i < std::size(manifest_names); ++i) {
    ++next.generation;
    std::array<std::byte, block_bytes> block;
    write_manifest(block, next);
    const std::string name(manifest_names[next.generation % 2]);
    if (auto done = write_durably(plan.content.directory() + "/" + name, block); !done) return done;
  }
  return sync_directory(plan.content.directory());
}

}  // namespace

// --- the copy ---

Done RepairCopy::begin() {
  int n = 1;
  while (fs::exists(fmt::format("{}/repair-{}", data_dir_, n))) ++n;
  final_ = fmt::format("{}/repair-{}", data_dir_, n);
  temporary_ = final_ + ".tmp";
  std::error_code error;
  fs::remove_all(temporary_, error);  // left by a repair that stopped before it changed anything
  if (mkdir(temporary_.c_str(), 0700) != 0) return failed("make", temporary_);
  notes_ =
      "What `pawl wal repair --apply` has overwritten. To undo it: copy these files back, newest "
      "repair first, and remove "
      "those that it made.\n";
  return {};
}

Done RepairCopy::add(const std::string& log, const RepairPlan& plan) {
  const std::string from = plan.content.directory(), to = temporary_ + "/" + log;
  if (mkdir(to.c_str(), 0700) != 0) return failed("make", to);
  std::set<std::string> names;
  for (const auto& [lsn, bytes] : plan.content.changes())
    names.insert(segment_name(plan.content.geometry().segment_of(lsn)));
  for (const std::uint64_t number : plan.content.made_whole()) names.insert(segment_name(number));
  if (plan.manifest) names.insert(std::begin(manifest_names), std::end(manifest_names));
  for (const std::string& name : names) {
    if (!fs::exists(from + "/" + name)) {
      notes_ += fmt::format("made: {}/{}\n", log, name);
      continue;
    }
    if (auto done = copy_durably(from + "/" + name, to + "/" + name); !done) return done;
  }
  for (const std::string& line : plan.said) notes_ += fmt::format("{}: {}\n", log, line);
  return sync_directory(to);
}

Done RepairCopy::add_identity() { return copy_durably(data_dir_ + "/PAWL", temporary_ + "/PAWL"); }

std::expected<std::string, std::string> RepairCopy::finish() {
  if (auto done = write_durably(temporary_ + "/README", std::as_bytes(std::span(notes_))); !done)
    return std::unexpected(done.error());
  if (auto done = sync_directory(temporary_); !done) return std::unexpected(done.error());
  if (auto done = rename_durably(temporary_, final_); !done) return std::unexpected(done.error());
  return final_;
}

// --- the change ---

Done apply_repair(const RepairPlan& plan) {
  for (const std::uint64_t number : plan.content.made_whole()) {
    if (auto done = make_whole(plan, number); !done) return done;
  }
  const Changes& changes = plan.content.changes();
  const auto appended = changes.lower_bound(plan.appended);
  if (auto done = write_changes(plan, appended, changes.end()); !done) return done;
  if (auto done = write_changes(plan, changes.begin(), appended); !done) return done;
  return plan.manifest ? write_manifests(plan) : Done{};
}

}  // namespace pawl

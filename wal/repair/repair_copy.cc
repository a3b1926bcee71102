// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/repair_copy.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <span>
#include <string_view>

#include "core/base/check.h"
#include "wal/repair/directory_disk.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using Done = std::expected<void, std::string>;

std::unexpected<std::string> failed(std::string_view what, const std::string& path, int error) {
  return std::unexpected(fmt::format("cannot {} {}: {}", what, path, std::strerror(error)));
}

Done sync_directory(const std::string& path) {
  const auto synced = DirectoryDisk(path).sync_dir_now();
  return synced ? Done{} : failed("flush", path, synced.error().sys);
}

Done copy_durably(const std::string& from, const std::string& to) {
  std::error_code error;
  if (!fs::copy_file(from, to, error))
    return std::unexpected(fmt::format("cannot copy {} to {}: {}", from, to, error.message()));
  const int fd = ::open(to.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  Done done;
  if (fd < 0)
    done = failed("open", to, errno);
  else if (fsync(fd) != 0)
    done = failed("flush", to, errno);
  if (fd >= 0) ::close(fd);
  return done;
}

}  // namespace

Done RepairCopy::begin() {
  CHECK(final_.empty(), "the copy {} was begun before", final_);
  int n = 1;
  while (fs::exists(fmt::format("{}/repair-{}", data_dir_, n))) ++n;
  final_ = fmt::format("{}/repair-{}", data_dir_, n);
  temporary_ = final_ + ".tmp";
  std::error_code error;
  fs::remove_all(temporary_, error);  // left by a repair that stopped before it changed anything
  if (mkdir(temporary_.c_str(), 0700) != 0) return failed("make", temporary_, errno);
  notes_ =
      "What `pawl wal repair --apply` has overwritten. To undo it: copy these files back, newest "
      "repair first, and remove "
      "those that it made.\n";
  return {};
}

Done RepairCopy::add(const std::string& log, const RepairPlan& plan) {
  CHECK(!temporary_.empty(), "a copy of {} before begin()", log);
  const std::string from = data_dir_ + "/" + log, to = temporary_ + "/" + log;
  if (mkdir(to.c_str(), 0700) != 0) return failed("make", to, errno);
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

Done RepairCopy::add_identity() {
  CHECK(!temporary_.empty(), "a copy of PAWL before begin()");
  return copy_durably(data_dir_ + "/PAWL", temporary_ + "/PAWL");
}

std::expected<std::string, std::string> RepairCopy::finish() {
  CHECK(!temporary_.empty(), "the end of a copy before begin()");
  DirectoryDisk disk(temporary_, DirectoryDisk::Access::write);
  const std::string readme = temporary_ + "/README";
  const auto file = disk.create("README");
  if (!file) return failed("open", readme, file.error().sys);
  if (auto written = disk.write_now(*file, 0, std::as_bytes(std::span(notes_))); !written)
    return failed("write", readme, written.error().sys);
  if (auto synced = disk.sync_now(*file); !synced)
    return failed("flush", readme, synced.error().sys);
  if (auto done = sync_directory(temporary_); !done) return std::unexpected(done.error());
  if (std::rename(temporary_.c_str(), final_.c_str()) != 0)
    return failed("rename to", final_, errno);
  const std::string parent = fs::path(final_).parent_path().string();
  if (auto done = sync_directory(parent); !done) return std::unexpected(done.error());
  return final_;
}

}  // namespace pawl

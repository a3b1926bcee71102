// SPDX-License-Identifier: Apache-2.0
#include "net/server/data_dir.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <utility>

#include "core/base/check.h"
#include "net/events/event_log.h"
#include "net/server/remedy.h"
#include "net/server/service_manager.h"
#include "wal/format/format.h"

namespace pawl {
namespace {

// A killed process keeps the lock until its last write has ended.
constexpr int lock_pause_us = 20'000;
constexpr int lock_tries = 15;
constexpr int lock_tries_of_the_dead = 3000;  // a minute
constexpr std::chrono::seconds lock_patience{75};

using Done = std::expected<void, std::string>;

std::unexpected<std::string> failed(const std::string& what, const std::string& path) {
  const int error = errno;
  return std::unexpected(
      fmt::format("{} {}: {}.{}", what, path, std::strerror(error), remedy_for(error)));
}

// Returns an error text, or nothing.
std::string sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const std::string error =
      synced ? "" : fmt::format("cannot flush directory {}: {}", path, std::strerror(errno));
  if (fd >= 0) ::close(fd);
  return error;
}

Done random_bytes(std::span<std::uint8_t> out) {
  if (getrandom(out.data(), out.size(), 0) == static_cast<ssize_t>(out.size())) return {};
  return std::unexpected(fmt::format("cannot get random bytes: {}", std::strerror(errno)));
}

Done write_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes,
              const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n <= 0) return failed("cannot write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  if (fsync(fd) != 0) return failed("cannot flush", path);
  return {};
}

// Writes both copies, one after the other, so that a bit flip in one loses nothing.
Done write_copies(int fd, DataIdentity& identity, const std::string& path) {
  for (int i = 0; i < 2; ++i) {
    std::array<std::byte, block_bytes> block;
    const std::uint64_t offset = write_identity(block, identity);
    if (auto written = write_at(fd, offset, block, path); !written) return written;
  }
  return {};
}

std::expected<DataIdentity, std::string> make_identity(const std::string& dir, std::uint32_t shards,
                                                       std::uint64_t segment_bytes) {
  DataIdentity identity;
  identity.shards = shards;
  identity.segment_bytes = segment_bytes;
  for (const std::span<std::uint8_t> part :
       {std::span<std::uint8_t>(identity.secret), std::span<std::uint8_t>(identity.receipt_key),
        std::span(reinterpret_cast<std::uint8_t*>(&identity.data_id), sizeof identity.data_id)}) {
    if (auto random = random_bytes(part); !random) return std::unexpected(random.error());
  }
  // Atomic: writes and flushes a temporary file, renames it, then flushes the directory.
  const std::string temporary = dir + "/PAWL.tmp", final_name = dir + "/PAWL";
  const int fd =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed("cannot create", temporary);
  const Done written = write_copies(fd, identity, temporary);
  ::close(fd);
  if (!written) return std::unexpected(written.error());
  if (std::rename(temporary.c_str(), final_name.c_str()) != 0)
    return failed("cannot rename to", final_name);
  if (std::string error = sync_directory(dir); !error.empty())
    return std::unexpected(std::move(error));
  return identity;
}

// Whether a segment of this log begins with a frame of it: then requests may have been
// acknowledged.
bool holds_frame(const std::string& log, std::uint64_t stream) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(log, error)) {
    const std::int64_t number = segment_number(entry.path().filename().string());
    const int fd = number < 0 ? -1 : ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    LogFrameHeader header;
    const bool read =
        pread(fd, &header, sizeof header, block_bytes) == static_cast<ssize_t>(sizeof header);
    ::close(fd);
    if (read && header.magic == frame_magic && header.stream == stream) return true;
  }
  return false;
}

// Upgrades version 1, which did not list the made logs and had one key for ids and receipts.
Done take_over(DataIdentity& identity, const std::string& dir) {
  for (std::uint32_t shard = 0; shard < identity.shards; ++shard) {
    if (holds_frame(fmt::format("{}/s{:02}", dir, shard), identity.stream_of(shard)))
      identity.made = identity.all_shards();
  }
  identity.upgraded = never;  // Server::note_start() sets the time
  return random_bytes(identity.receipt_key);
}

std::expected<DataIdentity, StartError> read_file(const std::string& path, int fd) {
  std::array<std::byte, DataIdentity::file_bytes> bytes;
  const ssize_t n = pread(fd, bytes.data(), bytes.size(), 0);
  if (n < 0) return failed("cannot read", path);
  auto identity = read_identity(std::span(bytes).first(static_cast<std::size_t>(n)), path);
  if (!identity) return std::unexpected(StartError(identity.error(), StartFault::data));
  return *identity;
}

// Unique name of a process until the next reboot: number and start time. Empty: it has ended.
std::string name_of_process(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t behind_name = line.rfind(')');
  if (behind_name == std::string::npos) return {};
  std::istringstream fields(line.substr(behind_name + 1));
  std::string state, field;
  fields >> state;
  if (state == "Z" || state == "X") return {};
  constexpr int start_time = 22, state_field = 3;  // proc(5)
  for (int i = state_field; i < start_time; ++i) fields >> field;
  return fmt::format("{} {}", pid, field);
}

// Whether the process noted in LOCK has ended.
bool holder_has_ended(int fd) {
  std::array<char, 64> bytes{};
  const ssize_t n = pread(fd, bytes.data(), bytes.size(), 0);
  std::string noted(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(0, n)));
  noted.resize(std::min(noted.find('\n'), noted.size()));
  const std::string pid = noted.substr(0, noted.find(' '));
  const bool is_number = !pid.empty() && pid.find_first_not_of("0123456789") == std::string::npos;
  return is_number && name_of_process(pid) != noted;
}

std::expected<int, std::string> lock_directory(const std::string& path) {
  const std::string name = path + "/LOCK";
  const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed("cannot open", name);
  for (int attempt = 0;; ++attempt) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    if (attempt == lock_tries && holder_has_ended(fd)) {
      const std::string text =
          fmt::format("waits for the last writes of the previous process of {}", path);
      service_manager().progress(text, lock_patience);
      emit(Event{EventCode::data_directory_busy, text}.with("path", path));
    }
    if (attempt >= lock_tries && (attempt >= lock_tries_of_the_dead || !holder_has_ended(fd)))
      break;
    usleep(lock_pause_us);
  }
  ::close(fd);
  return std::unexpected(fmt::format(
      "{} is in use by another pawl. Stop that process, or name another directory with --data",
      path));
}

}  // namespace

std::expected<std::unique_ptr<DataDir>, StartError> DataDir::open(const std::string& path,
                                                                  std::uint32_t shards,
                                                                  std::uint64_t segment_bytes) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return failed("cannot create data directory", path);
  const auto lock = lock_directory(path);
  if (!lock) return std::unexpected(lock.error());
  std::unique_ptr<DataDir> dir(new DataDir(path, *lock));

  const std::string name = path + "/PAWL";
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno != ENOENT) return failed("cannot open", name);
  const bool is_new = fd < 0;
  struct stat info{};
  if (is_new && stat((path + "/s00").c_str(), &info) == 0) {
    return std::unexpected(StartError(
        fmt::format("{} has a log (s00) but no file PAWL, which is needed to read it. Restore PAWL "
                    "from a copy, or name another directory with --data",
                    path),
        StartFault::data));
  }
  std::expected<DataIdentity, StartError> identity =
      is_new ? make_identity(path, shards, segment_bytes) : read_file(name, fd);
  if (!is_new) ::close(fd);
  if (!identity) return std::unexpected(identity.error());
  if (identity->version == 1) {
    if (auto taken = take_over(*identity, path); !taken) return std::unexpected(taken.error());
  }
  dir->identity_ = *identity;
  // Makes the directory's name durable. Always: its maker may have been killed before this flush.
  const std::string parent = path.find('/') == std::string::npos ? "." : path + "/..";
  if (std::string error = sync_directory(parent); !error.empty())
    return std::unexpected(std::move(error));
  return dir;
}

DataDir::~DataDir() { ::close(lock_); }

// A failure is ignored: it only shortens the next process's wait for the lock.
void DataDir::note_process() const {
  const std::string text =
      fmt::format("{:63}\n", name_of_process(fmt::format("{}", getpid())) + "\n");
  if (pwrite(lock_, text.data(), text.size(), 0) < 0) return;
}

std::string DataDir::shard_path(std::uint32_t shard) const {
  CHECK(shard < identity_.shards, "shard {} of {}", shard, identity_.shards);
  return fmt::format("{}/s{:02}", path_, shard);
}

Done DataDir::write(DataIdentity next) {
  CHECK(next.data_id == identity_.data_id, "the identity of another data directory");
  CHECK(next.shards == identity_.shards, "{} shards instead of {}", next.shards, identity_.shards);
  const std::string name = path_ + "/PAWL";
  const int fd = ::open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return failed("cannot open", name);
  const Done written = write_copies(fd, next, name);
  ::close(fd);
  if (written) identity_ = next;
  return written;
}

std::expected<DataIdentity, std::string> read_identity_of(const std::string& directory) {
  const std::string name = directory + "/PAWL";
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return failed("cannot open", name);
  auto identity = read_file(name, fd);
  ::close(fd);
  if (identity && identity->version == 1) {
    if (auto taken = take_over(*identity, directory); !taken) return std::unexpected(taken.error());
  }
  if (!identity) return std::unexpected(identity.error().text);
  return *identity;
}

}  // namespace pawl

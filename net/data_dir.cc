#include "net/data_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/check.h"
#include "net/remedy.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pawl {
namespace {

constexpr std::array<char, 8> magic{'P', 'A', 'W', 'L', 'D', 'A', 'T', 'A'};
constexpr std::size_t file_bytes = 4096;
// A killed process has the directory until its last write has ended.
constexpr int lock_pause_us = 20'000;
constexpr int lock_tries = 15;
constexpr int lock_tries_of_the_dead = 3000;  // a minute

struct IdentityFile {  // little endian
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t shards;
  std::uint64_t segment_bytes;
  std::uint64_t data_id;
  std::array<std::uint8_t, 192> secret;
  std::uint64_t checksum;  // XXH3-64 of all before it
};
static_assert(sizeof(IdentityFile) == 232);

std::uint64_t checksum_of(const IdentityFile& file) {
  return XXH3_64bits(&file, offsetof(IdentityFile, checksum));
}

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

std::expected<IdentityFile, std::string> make_identity(const std::string& dir, std::uint32_t shards,
                                                       std::uint64_t segment_bytes) {
  IdentityFile file{.magic = magic,
                    .version = DataIdentity::version,
                    .shards = shards,
                    .segment_bytes = segment_bytes};
  if (getrandom(file.secret.data(), file.secret.size(), 0) !=
          static_cast<ssize_t>(file.secret.size()) ||
      getrandom(&file.data_id, sizeof file.data_id, 0) !=
          static_cast<ssize_t>(sizeof file.data_id)) {
    return std::unexpected(fmt::format("cannot get random bytes: {}", std::strerror(errno)));
  }
  file.checksum = checksum_of(file);
  std::array<char, file_bytes> bytes{};
  std::memcpy(bytes.data(), &file, sizeof file);
  // Whole or not at all: a name of its own, flushed, then renamed, then the directory flushed.
  const std::string temporary = dir + "/PAWL.tmp", final_name = dir + "/PAWL";
  const int fd =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed("cannot create", temporary);
  const bool written =
      ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      fsync(fd) == 0;
  if (!written) {
    auto error = failed("cannot write", temporary);
    ::close(fd);
    return error;
  }
  ::close(fd);
  if (std::rename(temporary.c_str(), final_name.c_str()) != 0)
    return failed("cannot rename to", final_name);
  if (std::string error = sync_directory(dir); !error.empty())
    return std::unexpected(std::move(error));
  return file;
}

std::expected<IdentityFile, std::string> read_identity(const std::string& path, int fd) {
  IdentityFile file{};
  const ssize_t n = ::read(fd, &file, sizeof file);
  if (n != static_cast<ssize_t>(sizeof file) || file.magic != magic) {
    return std::unexpected(fmt::format(
        "{} is not the identity of a pawl data directory ({} bytes read); restore it, or "
        "name another directory with --data",
        path, n));
  }
  if (file.version > DataIdentity::version) {
    return std::unexpected(fmt::format(
        "{} has format version {}, and this pawl knows up to {}; use the pawl that wrote it "
        "or a newer one",
        path, file.version, DataIdentity::version));
  }
  if (file.checksum != checksum_of(file) || file.shards < 1 || file.shards > shards_max) {
    return std::unexpected(
        fmt::format("{} is damaged (its checksum does not match); restore it from a copy", path));
  }
  return file;
}

// Names a process as long as the machine runs: its number and when it began. Empty: it has ended.
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

// Whether the process that noted itself has ended.
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
    if (attempt == lock_tries && holder_has_ended(fd))
      fmt::print(stderr, "pawl: waits for the last writes of the process that had {}\n", path);
    if (attempt >= lock_tries && (attempt >= lock_tries_of_the_dead || !holder_has_ended(fd)))
      break;
    usleep(lock_pause_us);
  }
  ::close(fd);
  return std::unexpected(fmt::format(
      "{} is in use by another pawl; stop that one, or name another directory with --data", path));
}

}  // namespace

std::expected<std::unique_ptr<DataDir>, std::string> DataDir::open(const std::string& path,
                                                                   std::uint32_t shards,
                                                                   std::uint64_t segment_bytes) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return failed("cannot make data directory", path);
  const auto lock = lock_directory(path);
  if (!lock) return std::unexpected(lock.error());
  std::unique_ptr<DataDir> dir(new DataDir(path, *lock));

  const std::string name = path + "/PAWL";
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno != ENOENT) return failed("cannot open", name);
  const bool is_new = fd < 0;
  struct stat info{};
  if (is_new && stat((path + "/s00").c_str(), &info) == 0) {
    return std::unexpected(fmt::format(
        "{} has a log (s00) but no file PAWL, without which it cannot be read; restore PAWL "
        "from a copy, or name another directory with --data",
        path));
  }
  const auto file = is_new ? make_identity(path, shards, segment_bytes) : read_identity(name, fd);
  if (!is_new) ::close(fd);
  if (!file) return std::unexpected(file.error());
  dir->identity_ = {file->shards, file->segment_bytes, file->data_id, file->secret};
  // Its name has to be durable. Always: whoever made it may have been killed before this.
  const std::string parent = path.find('/') == std::string::npos ? "." : path + "/..";
  if (std::string error = sync_directory(parent); !error.empty())
    return std::unexpected(std::move(error));
  return dir;
}

DataDir::~DataDir() { ::close(lock_); }

// For the patience of the next alone, which does without.
void DataDir::note_process() const {
  const std::string text =
      fmt::format("{:63}\n", name_of_process(fmt::format("{}", getpid())) + "\n");
  if (pwrite(lock_, text.data(), text.size(), 0) < 0) return;
}

std::string DataDir::shard_path(std::uint32_t shard) const {
  return fmt::format("{}/s{:02}", path_, shard);
}

std::uint64_t DataDir::stream_of(std::uint32_t shard) const {
  return XXH3_64bits_withSeed(&identity_.data_id, sizeof identity_.data_id, shard + 1);
}

}  // namespace pawl

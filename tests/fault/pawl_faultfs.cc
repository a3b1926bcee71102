// SPDX-License-Identifier: Apache-2.0
// pawl_faultfs: mounts a directory as a disk that loses unflushed data, and that fails on command.
//
//   pawl_faultfs [--lie] BACKING MOUNT      runs in the foreground until unmounted or orphaned
//
// Commands are lines written to the file .faultfs of the mount, which no listing shows. Reading it
// returns figures.
//   cut SEED                       cuts the power (volatile_tree.h); then everything fails with EIO
//   fail write|fsync|read ERRNO AFTER TIMES    AFTER succeed, then TIMES fail; EIO or ENOSPC
//   capacity BYTES                 limit of all files together; 0: no limit
//   delay MILLISECONDS             of every fsync
// With --lie an fsync succeeds and makes nothing durable: the power-cut test must then fail.
//
// The kernel caches nothing (direct_io, timeouts of 0), so all volatile data is in this process. A
// write with O_DSYNC or RWF_DSYNC has that flag and no fsync follows, so on_write flushes it.
#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fmt/core.h>
#include <fuse3/fuse.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "tests/fault/volatile_tree.h"

namespace pawl::fault {
namespace {

constexpr std::string_view control_path = "/.faultfs";

struct Fault {
  int error = 0;
  std::uint64_t after = 0;
  std::uint64_t times = 0;

  // Returns the error of the next operation, or 0 if it succeeds.
  int next() {
    if (times == 0) return 0;
    if (after > 0) return --after, 0;
    return --times, error;
  }
};

enum class Kind : std::uint8_t { write, fsync, read };
constexpr std::array<std::string_view, 3> kind_names{"write", "fsync", "read"};

struct FaultFs {
  FaultFs(const std::string& backing, bool its_fsyncs_lie) : tree(backing), lies(its_fsyncs_lie) {}

  std::mutex mutex;  // protects all members below
  VolatileTree tree;
  const bool lies;
  bool is_cut = false;
  std::chrono::milliseconds delay{0};
  std::array<Fault, kind_names.size()> faults{};
  std::array<std::uint64_t, kind_names.size()> done{};
  std::uint64_t failed = 0;
  CutReport report;

  int begin(Kind kind) {
    const auto index = static_cast<std::size_t>(kind);
    if (is_cut) return -EIO;
    const int error = -faults[index].next();
    ++(error == 0 ? done[index] : failed);
    return error;
  }
  bool command(const std::string& line);
  std::string figures() const;
};

bool FaultFs::command(const std::string& line) {
  std::istringstream words(line);
  std::string verb, kind, error;
  std::uint64_t number = 0;
  words >> verb;
  if (verb == "fail") {
    Fault fault;
    if (!(words >> kind >> error >> fault.after >> fault.times)) return false;
    const auto index =
        static_cast<std::size_t>(std::ranges::find(kind_names, kind) - kind_names.begin());
    fault.error = error == "EIO" ? EIO : error == "ENOSPC" ? ENOSPC : 0;
    if (index == kind_names.size() || fault.error == 0) return false;
    faults[index] = fault;
    return true;
  }
  if (!(words >> number)) return false;
  if (verb == "cut") {
    if (!is_cut) report = tree.cut(number);
    is_cut = true;
  } else if (verb == "capacity") {
    tree.set_capacity(number);
  } else if (verb == "delay") {
    delay = std::chrono::milliseconds(number);
  } else {
    return false;
  }
  return true;
}

std::string FaultFs::figures() const {
  return fmt::format(
      "{{\"writes\": {}, \"fsyncs\": {}, \"reads\": {}, \"failed\": {}, \"used\": {}, "
      "\"pending_writes\": {}, \"pending_names\": {}, \"sectors_kept\": {}, \"sectors_lost\": {}, "
      "\"names_kept\": {}, \"names_lost\": {}}}\n",
      done[0], done[1], done[2], failed, tree.used(), tree.pending_writes(), tree.pending_names(),
      report.sectors_kept, report.sectors_lost, report.names_kept, report.names_lost);
}

FaultFs& fs() { return *static_cast<FaultFs*>(fuse_get_context()->private_data); }

// The node of an open file or directory; null for the control file.
const NodePtr* handle(const fuse_file_info* info) {
  return reinterpret_cast<const NodePtr*>(info->fh);
}
void set_handle(fuse_file_info* info, const NodePtr& node) {
  info->fh = reinterpret_cast<std::uint64_t>(new NodePtr(node));
}

// --- names ---

void* on_init(fuse_conn_info*, fuse_config* config) {
  config->direct_io = 1;
  config->nullpath_ok = 1;
  config->hard_remove = 1;
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  return &fs();
}

int on_getattr(const char* path, struct stat* into, fuse_file_info* info) {
  FaultFs& self = fs();
  const std::lock_guard lock(self.mutex);
  *into = {};
  into->st_uid = getuid();
  into->st_gid = getgid();
  into->st_nlink = 1;
  into->st_mode = S_IFREG | 0600;
  if (path != nullptr && path == control_path) return 0;
  if (self.is_cut) return -EIO;
  const NodePtr node = info != nullptr ? *handle(info) : self.tree.find(path);
  if (node == nullptr) return -ENOENT;
  into->st_mode = node->mode | (node->directory ? S_IFDIR : S_IFREG);
  into->st_size = static_cast<off_t>(node->bytes);
  into->st_blocks = static_cast<blkcnt_t>((node->bytes + 511) / 512);
  return 0;
}

int create(const char* path, bool directory, mode_t mode, fuse_file_info* info) {
  FaultFs& self = fs();
  const std::lock_guard lock(self.mutex);
  if (self.is_cut) return -EIO;
  const auto node = self.tree.create(path, directory, mode & 0777);
  if (!node) return node.error();
  if (info != nullptr) set_handle(info, *node);
  return 0;
}

int on_create(const char* path, mode_t mode, fuse_file_info* info) {
  return create(path, false, mode, info);
}
int on_mkdir(const char* path, mode_t mode) { return create(path, true, mode, nullptr); }

int remove(const char* path, bool directory) {
  FaultFs& self = fs();
  const std::lock_guard lock(self.mutex);
  return self.is_cut ? -EIO : self.tree.remove(path, directory);
}

int on_unlink(const char* path) { return remove(path, false); }
int on_rmdir(const char* path) { return remove(path, true); }

int on_rename(const char* from, const char* to, unsigned flags) {
  FaultFs& self = fs();
  const std::lock_guard lock(self.mutex);
  if (flags != 0) return -EINVAL;
  return self.is_cut ? -EIO : self.tree.rename(from, to);
}

int on_open(const char* path, fuse_file_info* info) {
  FaultFs& self = fs();
  const std::lock_guard lock(self.mutex);
  info->fh = 0;
  if (path == control_path) return 0;
  if (self.is_cut) return -EIO;
  const NodePtr node = self.tree.find(path);
  if (node == nullptr) return -ENOENT;
  set_handle(info, node);
  return 0;
}

int on_release(const char*, fuse_file_info* info) {
  const std::lock_guard lock(fs().mutex);
  delete handle(info);
  return 0;
}

int on_readdir(const char*, void* into, fuse_fill_dir_t fill, off_t, fuse_file_info* info,
               fuse_readdir_flags) {
  FaultFs& self = fs();
  const std::lock_guard lock(self.mutex);
  if (self.is_cut) return -EIO;
  for (const char* name : {".", ".."}) fill(into, name, nullptr, 0, fuse_fill_dir_flags{});
  for (const auto& [name, node] : (*handle(info))->names)
    fill(into, name.c_str(), nullptr, 0, fuse_fill_dir_flags{});
  return 0;
}

int on_chmod(const char*, mode_t, fuse_file_info*) { return 0; }
int on_utimens(const char*, const timespec*, fuse_file_info*) { return 0; }

// --- bytes ---

int on_read(const char*, char* into, std::size_t size, off_t offset, fuse_file_info* info) {
  FaultFs& self = fs();
  const std::lock_guard lock(self.mutex);
  const std::span buffer(reinterpret_cast<std::byte*>(into), size);
  if (info->fh == 0) {
    const std::string text = self.figures();
    const std::string_view rest =
        std::string_view(text).substr(std::min(text.size(), static_cast<std::size_t>(offset)));
    return static_cast<int>(rest.copy(into, size));
  }
  if (const int error = self.begin(Kind::read); error != 0) return error;
  return static_cast<int>(
      self.tree.read(**handle(info), static_cast<std::uint64_t>(offset), buffer));
}

int on_write(const char*, const char* from, std::size_t size, off_t offset, fuse_file_info* info) {
  FaultFs& self = fs();
  const std::lock_guard lock(self.mutex);
  if (info->fh == 0)
    return self.command(std::string(from, size)) ? static_cast<int>(size) : -EINVAL;
  if (const int error = self.begin(Kind::write); error != 0) return error;
  const NodePtr& file = *handle(info);
  const int written = self.tree.write(file, static_cast<std::uint64_t>(offset),
                                      {reinterpret_cast<const std::byte*>(from), size});
  if ((info->flags & O_DSYNC) != 0 && !self.lies) self.tree.sync(file, self.tree.now());
  return written;
}

int on_truncate(const char* path, off_t size, fuse_file_info* info) {
  FaultFs& self = fs();
  const std::lock_guard lock(self.mutex);
  if (path != nullptr && path == control_path) return 0;
  if (self.is_cut) return -EIO;
  const NodePtr node = info != nullptr ? *handle(info) : self.tree.find(path);
  if (node == nullptr) return -ENOENT;
  return self.tree.truncate(node, static_cast<std::uint64_t>(size));
}

// Makes the writes durable that finished before this request, and no later ones.
int on_fsync(const char*, int, fuse_file_info* info) {
  FaultFs& self = fs();
  std::unique_lock lock(self.mutex);
  if (info->fh == 0) return 0;
  const std::uint64_t until = self.tree.now();
  const auto delay = self.delay;
  if (delay.count() != 0) {
    lock.unlock();
    std::this_thread::sleep_for(delay);
    lock.lock();
  }
  if (const int error = self.begin(Kind::fsync); error != 0) return error;
  if (!self.lies) self.tree.sync(*handle(info), until);
  return 0;
}

constexpr fuse_operations operations{
    .getattr = on_getattr,
    .mkdir = on_mkdir,
    .unlink = on_unlink,
    .rmdir = on_rmdir,
    .rename = on_rename,
    .chmod = on_chmod,
    .truncate = on_truncate,
    .open = on_open,
    .read = on_read,
    .write = on_write,
    .release = on_release,
    .fsync = on_fsync,
    .opendir = on_open,
    .readdir = on_readdir,
    .releasedir = on_release,
    .fsyncdir = on_fsync,
    .init = on_init,
    .create = on_create,
    .utimens = on_utimens,
};

int run(const std::string& backing, char* mount, bool lies) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // a killed test leaves nothing mounted
  FaultFs self(backing, lies);
  char name[] = "pawl_faultfs", foreground[] = "-f", threads[] = "-omax_idle_threads=16";
  std::array<char*, 4> words{name, foreground, threads, mount};
  return fuse_main(static_cast<int>(words.size()), words.data(), &operations, &self);
}

}  // namespace
}  // namespace pawl::fault

int main(int count, char** words) {
  const bool lies = count == 4 && std::strcmp(words[1], "--lie") == 0;
  if (count != (lies ? 4 : 3)) {
    fmt::print(stderr, "usage: pawl_faultfs [--lie] BACKING MOUNT\n");
    return 2;
  }
  return pawl::fault::run(words[count - 2], words[count - 1], lies);
}

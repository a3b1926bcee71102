// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/volatile_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/base/check.h"

namespace pawl::fault {
namespace {

constexpr const char* limbo_name = ".limbo";

int open_directory(int in, const char* name) {
  const int fd = openat(in, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CHECK(fd >= 0, "directory {}: {}", name, std::strerror(errno));
  return fd;
}

void write_all(int fd, std::span<const std::byte> from, std::uint64_t offset) {
  while (!from.empty()) {
    const ssize_t n = pwrite(fd, from.data(), from.size(), static_cast<off_t>(offset));
    CHECK(n > 0, "the backing file: {}", std::strerror(errno));
    from = from.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

void resize(int fd, std::uint64_t bytes) {
  CHECK(ftruncate(fd, static_cast<off_t>(bytes)) == 0, "the backing file: {}",
        std::strerror(errno));
}

std::uint64_t size_of(int fd) {
  struct stat info{};
  CHECK(fstat(fd, &info) == 0);
  return static_cast<std::uint64_t>(info.st_size);
}

void make_durable(const Node& file, const Write& write) {
  if (write.truncates) {
    resize(file.fd, write.offset);
  } else {
    write_all(file.fd, write.bytes, write.offset);
  }
}

// Applies one pending write to `into`, the bytes of the file from `offset` on.
void overlay(const Write& write, std::uint64_t offset, std::span<std::byte> into) {
  const std::uint64_t end = offset + into.size();
  const std::uint64_t from = std::max(offset, write.offset);
  const std::uint64_t to = write.truncates ? end : std::min(end, write.offset + write.bytes.size());
  if (from >= to) return;
  std::byte* const target = into.data() + (from - offset);
  if (write.truncates) {
    std::memset(target, 0, to - from);
  } else {
    std::memcpy(target, write.bytes.data() + (from - write.offset), to - from);
  }
}

}  // namespace

Node::~Node() { ::close(fd); }

VolatileTree::VolatileTree(const std::string& directory)
    : root_(std::make_shared<Node>(open_directory(AT_FDCWD, directory.c_str()), true, 0700)) {
  mkdirat(root_->fd, limbo_name, 0700);
  limbo_ = std::make_shared<Node>(open_directory(root_->fd, limbo_name), true, 0700);
  empty_limbo();  // left by a process that ended without a cut
  load(*root_);
}

void VolatileTree::load(Node& directory) {
  DIR* const stream = fdopendir(open_directory(directory.fd, "."));
  CHECK(stream != nullptr);
  while (const dirent* const found = readdir(stream)) {
    const std::string name = found->d_name;
    struct stat info{};
    if (name == "." || name == ".." || name == limbo_name) continue;
    CHECK(fstatat(directory.fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0);
    const bool is_directory = S_ISDIR(info.st_mode);
    if (!is_directory && !S_ISREG(info.st_mode)) continue;
    const int fd = is_directory ? open_directory(directory.fd, name.c_str())
                                : openat(directory.fd, name.c_str(), O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0, "{}: {}", name, std::strerror(errno));
    const auto node = std::make_shared<Node>(fd, is_directory, info.st_mode & 0777);
    if (is_directory) {
      load(*node);
    } else {
      used_ += node->bytes = static_cast<std::uint64_t>(info.st_size);
    }
    directory.names.emplace(name, node);
  }
  closedir(stream);
}

// --- names ---

NodePtr VolatileTree::find(std::string_view path) const {
  NodePtr node = root_;
  while (node != nullptr && !path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    if (name.empty()) continue;
    const auto found = node->names.find(name);
    node = found == node->names.end() ? nullptr : found->second;
  }
  return node;
}

std::expected<VolatileTree::Place, int> VolatileTree::place(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  const NodePtr directory = find(path.substr(0, slash));
  if (directory == nullptr) return std::unexpected(-ENOENT);
  if (!directory->directory) return std::unexpected(-ENOTDIR);
  return Place{directory, std::string(path.substr(slash + 1))};
}

std::expected<NodePtr, int> VolatileTree::create(std::string_view path, bool directory,
                                                 mode_t mode) {
  const auto at = place(path);
  if (!at) return std::unexpected(at.error());
  if (at->directory->names.contains(at->name)) return std::unexpected(-EEXIST);
  const std::string name = std::to_string(++created_);
  int fd = -1;
  if (directory) {
    CHECK(mkdirat(limbo_->fd, name.c_str(), 0700) == 0, "mkdir: {}", std::strerror(errno));
    fd = open_directory(limbo_->fd, name.c_str());
  } else {
    fd = openat(limbo_->fd, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0, "create: {}", std::strerror(errno));
  }
  const auto node = std::make_shared<Node>(fd, directory, mode);
  at->directory->names.emplace(at->name, node);
  operations_.push_back({
      .from = {limbo_, name},
        .to = *at, .node = node
  });
  return node;
}

int VolatileTree::remove(std::string_view path, bool directory) {
  const auto at = place(path);
  if (!at) return at.error();
  const auto found = at->directory->names.find(at->name);
  if (found == at->directory->names.end()) return -ENOENT;
  const NodePtr node = found->second;
  if (node->directory != directory) return directory ? -ENOTDIR : -EISDIR;
  if (!node->names.empty()) return -ENOTEMPTY;
  used_ -= node->bytes;
  at->directory->names.erase(found);
  operations_.push_back({.from = *at, .to = {}, .node = node});
  return 0;
}

int VolatileTree::rename(std::string_view from, std::string_view to) {
  const auto source = place(from), target = place(to);
  if (!source) return source.error();
  if (!target) return target.error();
  const auto found = source->directory->names.find(source->name);
  if (found == source->directory->names.end()) return -ENOENT;
  const NodePtr node = found->second;
  if (node->directory) return -EINVAL;
  if (const NodePtr replaced = find(to); replaced != nullptr) {
    if (replaced->directory) return -EISDIR;
    if (replaced == node) return 0;
    used_ -= replaced->bytes;
  }
  source->directory->names.erase(found);
  target->directory->names.insert_or_assign(target->name, node);
  operations_.push_back({.from = *source, .to = *target, .node = node});
  return 0;
}

// Failures are ignored: they depend on an operation that a cut has lost, such as the deletion of a
// file before that of its directory.
void VolatileTree::apply(const NameOperation& operation) {
  const auto& [from, to, node] = operation;
  if (to.directory != nullptr) {
    ::renameat(from.directory->fd, from.name.c_str(), to.directory->fd, to.name.c_str());
  } else {
    ::unlinkat(from.directory->fd, from.name.c_str(), node->directory ? AT_REMOVEDIR : 0);
    std::erase(dirty_, node);
  }
}

// --- bytes ---

std::size_t VolatileTree::read(const Node& file, std::uint64_t offset,
                               std::span<std::byte> into) const {
  if (offset >= file.bytes) return 0;
  into = into.first(std::min<std::uint64_t>(into.size(), file.bytes - offset));
  std::memset(into.data(), 0, into.size());
  CHECK(pread(file.fd, into.data(), into.size(), static_cast<off_t>(offset)) >= 0,
        "the backing file: {}", std::strerror(errno));
  for (const Write& write : file.pending) overlay(write, offset, into);
  return into.size();
}

int VolatileTree::grow(Node& file, std::uint64_t bytes) {
  if (bytes <= file.bytes) return 0;
  if (capacity_ != 0 && used_ + bytes - file.bytes > capacity_) return -ENOSPC;
  used_ += bytes - file.bytes;
  file.bytes = bytes;
  return 0;
}

void VolatileTree::append(const NodePtr& file, Write write) {
  if (file->pending.empty()) dirty_.push_back(file);
  write.number = ++writes_;
  file->pending.push_back(std::move(write));
}

int VolatileTree::write(const NodePtr& file, std::uint64_t offset,
                        std::span<const std::byte> from) {
  if (const int error = grow(*file, offset + from.size()); error != 0) return error;
  append(file, {
                   .offset = offset, .bytes = {from.begin(), from.end()}
  });
  return static_cast<int>(from.size());
}

int VolatileTree::truncate(const NodePtr& file, std::uint64_t bytes) {
  if (bytes == file->bytes) return 0;
  if (const int error = grow(*file, bytes); error != 0) return error;
  used_ -= file->bytes - bytes;
  file->bytes = bytes;
  append(file, {.offset = bytes, .truncates = true});
  return 0;
}

// --- durability ---

void VolatileTree::sync(const NodePtr& node, std::uint64_t until) {
  if (node->directory) {
    std::erase_if(operations_, [&](const NameOperation& operation) {
      const bool here = operation.from.directory == node || operation.to.directory == node;
      if (here) apply(operation);
      return here;
    });
    return;
  }
  const auto later = std::ranges::find_if(
      node->pending, [until](const Write& write) { return write.number > until; });
  for (auto write = node->pending.begin(); write != later; ++write) make_durable(*node, *write);
  node->pending.erase(node->pending.begin(), later);
  if (node->pending.empty()) std::erase(dirty_, node);
}

std::uint64_t VolatileTree::pending_writes() const {
  std::uint64_t count = 0;
  for (const NodePtr& file : dirty_) count += file->pending.size();
  return count;
}

CutReport VolatileTree::cut(std::uint64_t seed) {
  sim::Random luck(seed);
  CutReport report;
  for (const NodePtr& file : dirty_) cut_writes(*file, luck, report);
  dirty_.clear();
  cut_names(luck, report);
  empty_limbo();
  return report;
}

void VolatileTree::cut_writes(Node& file, sim::Random& luck, CutReport& report) {
  const std::uint64_t quarters_kept = luck.below(5);  // from nothing to everything
  for (const Write& write : file.pending) {
    const std::uint64_t whole = std::max<std::uint64_t>(write.bytes.size(), 1);
    const std::uint64_t sector = std::array<std::uint64_t, 3>{512, 4096, whole}[luck.below(3)];
    if (write.truncates && luck.chance(quarters_kept, 4)) make_durable(file, write);
    for (std::uint64_t at = 0; at < write.bytes.size();) {
      // Sectors are aligned to the disk, wherever the write begins.
      const std::uint64_t length = sector == whole ? whole : sector - (write.offset + at) % sector;
      const auto piece = std::span(write.bytes)
                             .subspan(at, std::min<std::uint64_t>(length, write.bytes.size() - at));
      const bool kept = luck.chance(quarters_kept, 4);
      if (kept) write_all(file.fd, piece, write.offset + at);
      ++(kept ? report.sectors_kept : report.sectors_lost);
      at += piece.size();
    }
  }
  file.pending.clear();
  if (luck.chance(1, 2) && file.bytes > size_of(file.fd)) resize(file.fd, file.bytes);
}

void VolatileTree::cut_names(sim::Random& luck, CutReport& report) {
  const std::uint64_t quarters_kept = luck.below(5);
  std::set<Place> lost;
  for (const NameOperation& operation : operations_) {
    const bool kept = luck.chance(quarters_kept, 4) && !lost.contains(operation.from) &&
                      !lost.contains(operation.to);
    if (kept) {
      apply(operation);
    } else {
      lost.insert(operation.from);
      if (operation.to.directory != nullptr) lost.insert(operation.to);
    }
    ++(kept ? report.names_kept : report.names_lost);
  }
  operations_.clear();
}

void VolatileTree::empty_limbo() {
  for (const auto& left :
       std::filesystem::directory_iterator("/proc/self/fd/" + std::to_string(limbo_->fd))) {
    std::filesystem::remove_all(left.path());
  }
}

}  // namespace pawl::fault

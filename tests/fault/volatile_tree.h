// SPDX-License-Identifier: Apache-2.0
// VolatileTree: a directory on a disk with a volatile cache, and the effect of a power cut on it.
//
//   visible to programs  =  durable data (the backing directory)  +  pending data (here, in memory)
//
//   write, truncate        --pending writes of the file--> sync(file)      --> bytes of the backing file
//   create, rename, remove --pending name operations-----> sync(directory) --> names of the backing directory
//
// The bytes of a file or directory without a durable name are in the backing directory's `.limbo`;
// its own fsync does not give it a name. cut() keeps some pending operations and drops the rest:
//   writes  in sectors of 512 or 4096 bytes, or whole. Each is kept or lost independently: a late
//           write may survive without an early one. Where two kept writes overlap, the later one
//           counts, as on one sector of a disk.
//   size    may survive without the bytes, as zeros.
//   names   each operation independently, but one on a name is lost with an earlier one on it.
//
// Units:  bytes; errors are -errno, as FUSE requires.
// Limits: pending data is in memory; no links, no rename of directories.
// Owner:  the user's lock protects it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/random.h"

namespace pawl::fault {

struct Write {
  std::uint64_t number = 0;  // ascending, over all writes
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
  bool truncates = false;  // to `offset`, which may be beyond the end
};

// A file or a directory.
struct Node {
  Node(int durable, bool is_directory, mode_t its_mode)
      : fd(durable), directory(is_directory), mode(its_mode) {}
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const int fd;  // the backing file or directory
  const bool directory;
  const mode_t mode;
  std::uint64_t bytes = 0;     // size visible to programs
  std::vector<Write> pending;  // of a file, oldest first
  std::map<std::string, std::shared_ptr<Node>, std::less<>>
      names;  // entries of a directory, visible to programs
};
using NodePtr = std::shared_ptr<Node>;

struct CutReport {
  std::uint64_t sectors_kept = 0;
  std::uint64_t sectors_lost = 0;
  std::uint64_t names_kept = 0;
  std::uint64_t names_lost = 0;
};

class VolatileTree {
 public:
  // Loads the files of the directory. CHECKs that it is usable.
  explicit VolatileTree(const std::string& directory);

  // --- names; paths begin with a slash ---
  NodePtr find(std::string_view path) const;
  std::expected<NodePtr, int> create(std::string_view path, bool directory, mode_t mode);
  int remove(std::string_view path, bool directory);
  int rename(std::string_view from, std::string_view to);

  // --- bytes ---
  std::size_t read(const Node& file, std::uint64_t offset, std::span<std::byte> into) const;
  int write(const NodePtr& file, std::uint64_t offset, std::span<const std::byte> from);
  int truncate(const NodePtr& file, std::uint64_t bytes);

  // --- durability ---
  std::uint64_t now() const { return writes_; }
  // Makes a file's pending writes up to number `until` durable, or a directory's pending names.
  void sync(const NodePtr& node, std::uint64_t until);
  CutReport cut(std::uint64_t seed);

  // Limits the bytes of all files together: growth beyond it fails with ENOSPC. 0: no limit.
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  std::uint64_t used() const { return used_; }
  std::uint64_t pending_writes() const;
  std::uint64_t pending_names() const { return operations_.size(); }

 private:
  struct Place {
    NodePtr directory;
    std::string name;
    auto operator<=>(const Place&) const = default;
  };
  // `from` is in limbo if the node is new; `to` has no directory if the name is deleted.
  struct NameOperation {
    Place from, to;
    NodePtr node;
  };

  std::expected<Place, int> place(std::string_view path) const;
  void load(Node& directory);
  int grow(Node& file, std::uint64_t bytes);
  void append(const NodePtr& file, Write write);
  void apply(const NameOperation& operation);
  void cut_writes(Node& file, sim::Random& luck, CutReport& report);
  void cut_names(sim::Random& luck, CutReport& report);
  void empty_limbo();

  NodePtr root_;
  NodePtr limbo_;
  std::uint64_t created_ = 0;  // nodes so far; the number is the name in limbo
  std::uint64_t writes_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t capacity_ = 0;
  std::vector<NodePtr> dirty_;             // files with pending writes
  std::vector<NameOperation> operations_;  // oldest first
};

}  // namespace pawl::fault

// VolatileTree: a directory as a disk with a volatile cache shows it, and what a power cut leaves of it.
//
//   what programs see  =  what is durable (the backing directory)  +  what is pending (here, in memory)
//
//   write, truncate        --pending writes of the file--> sync(file)      --> bytes of the backing file
//   create, rename, remove --pending name operations-----> sync(directory) --> names of the backing directory
//
// A file or directory that has no durable name yet has its bytes in the backing directory's `.limbo`; its own fsync
// does not give it a name. cut() keeps some of what is pending and forgets the rest:
//   writes  in sectors of 512 or 4096 bytes, or whole. Each is kept or not by itself, so that a late write may be
//           there without an early one. Where two kept ones overlap the later one counts, as on one sector of a disk.
//   size    may be there without the bytes: zeros.
//   names   each operation by itself, but for those that build on one of the same name that was lost.
//
// Units:  bytes; errors are -errno, as FUSE wants them.
// Limits: what is pending is in memory; no links, no rename of directories.
// Owner:  its user's lock.
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
  std::uint64_t number = 0;  // of all writes, rising
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
  bool truncates = false;  // to `offset`, which may be more than there is
};

// A file or a directory.
struct Node {
  Node(int durable, bool is_directory, mode_t its_mode)
      : fd(durable), directory(is_directory), mode(its_mode) {}
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const int fd;  // of the durable side
  const bool directory;
  const mode_t mode;
  std::uint64_t bytes = 0;     // as programs see it
  std::vector<Write> pending;  // of a file, oldest first
  std::map<std::string, std::shared_ptr<Node>, std::less<>>
      names;  // of a directory, as programs see it
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
  // Loads what is in the directory. CHECKs that it can be used.
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
  // The writes up to `until` or the names that are pending become durable.
  void sync(const NodePtr& node, std::uint64_t until);
  CutReport cut(std::uint64_t seed);

  // Writes that make files longer fail with ENOSPC when all would have more; 0: no limit.
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  std::uint64_t used() const { return used_; }
  std::uint64_t pending_writes() const;
  std::uint64_t pending_names() const { return operations_.size(); }

 private:
  // `from` in limbo: the node is new. `to` nowhere: it is removed.
  struct Place {
    NodePtr directory;
    std::string name;
    auto operator<=>(const Place&) const = default;
  };
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
  std::uint64_t created_ = 0;  // the names in limbo
  std::uint64_t writes_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t capacity_ = 0;
  std::vector<NodePtr> dirty_;             // files with pending writes
  std::vector<NameOperation> operations_;  // oldest first
};

}  // namespace pawl::fault

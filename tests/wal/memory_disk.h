// SPDX-License-Identifier: Apache-2.0
// MemoryDisk: files in memory, for tests that choose when an operation finishes.
// tests/sim/sim_disk.h simulates crashes.
//
//   hold = false: an asynchronous operation is done when the call returns.
//   hold = true:  it waits until finish(i) or finish_all().
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "wal/format/disk.h"

namespace pawl {

class MemoryDisk final : public Disk {
 public:
  enum class Kind : std::uint8_t { write, read, sync, sync_dir, remove, allocate };
  struct Op {
    Kind kind{};
    FileId file = FileId::none;
    std::uint64_t offset = 0;
    std::span<std::byte> memory;
    Io* io = nullptr;
  };

  bool hold = false;
  std::uint64_t capacity = UINT64_MAX;  // bytes of all files
  int fail_write = 0, fail_sync = 0;    // errno of all later asynchronous calls
  int fail_create = 0, fail_allocate = 0;
  std::uint64_t unflushed_writes = 0;
  bool trace = false;
  std::vector<std::string>
      calls;  // while trace: "write <name> <offset> <bytes>", "rename <from> <to>", ...

  // --- operations in progress ---
  std::size_t under_way() const { return count_; }
  const Op& op(std::size_t i) const { return ops_.at(i); }
  void finish(std::size_t i, std::int32_t result = INT32_MIN) {
    CHECK(i < count_);
    const Op done = ops_[i];
    std::copy(ops_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
              ops_.begin() + static_cast<std::ptrdiff_t>(count_),
              ops_.begin() + static_cast<std::ptrdiff_t>(i));
    --count_;
    Disk::finish(*done.io, result == INT32_MIN ? perform(done) : result);
  }
  void finish_all() {
    while (count_ > 0) finish(0);
  }

  // --- the files ---
  std::map<std::string, std::shared_ptr<std::vector<std::byte>>> files;
  std::vector<std::byte>& content(const std::string& name) { return *files.at(name); }
  std::unique_ptr<MemoryDisk> copy() const {
    auto twin = std::make_unique<MemoryDisk>();
    for (const auto& [name, bytes] : files)
      twin->files[name] = std::make_shared<std::vector<std::byte>>(*bytes);
    return twin;
  }

  // --- Disk ---
  Result<std::vector<FileInfo>> list() override {
    std::vector<FileInfo> listed;
    for (const auto& [name, bytes] : files) listed.push_back({name, bytes->size()});
    return listed;
  }
  Result<FileId> open(std::string_view name) override {
    const auto it = files.find(std::string(name));
    if (it == files.end()) return fail(Errc::io, "open", ENOENT);
    return handle(it->first, it->second);
  }
  Result<FileId> create(std::string_view name) override {
    if (files.contains(std::string(name))) return fail(Errc::io, "create", EEXIST);
    if (fail_create != 0) return fail_for_space("create", fail_create);
    if (full(1)) return fail_for_space("create", ENOSPC);
    if (trace) note("create " + std::string(name));
    return handle(std::string(name),
                  files[std::string(name)] = std::make_shared<std::vector<std::byte>>());
  }
  void close(FileId file) override { open_.at(static_cast<std::size_t>(file)).bytes = nullptr; }
  Result<void> rename(std::string_view from, std::string_view to) override {
    const auto it = files.find(std::string(from));
    if (it == files.end()) return fail(Errc::io, "rename", ENOENT);
    if (trace) note("rename " + std::string(from) + " " + std::string(to));
    const auto bytes = it->second;
    files.erase(it);
    files[std::string(to)] = bytes;
    for (Handle& h : open_) {
      if (h.bytes == bytes) h.name = to;
    }
    return {};
  }
  Result<void> remove(std::string_view name) override {
    if (trace) note("remove " + std::string(name));
    if (files.erase(std::string(name)) == 0) return fail(Errc::io, "remove", ENOENT);
    return {};
  }
  Result<std::size_t> read_now(FileId file, std::uint64_t offset,
                               std::span<std::byte> into) override {
    const auto& bytes = *at(file).bytes;
    if (offset >= bytes.size()) return 0;
    const std::size_t n = std::min<std::size_t>(into.size(), bytes.size() - offset);
    std::memcpy(into.data(), bytes.data() + offset, n);
    return n;
  }
  Result<void> write_now(FileId file, std::uint64_t offset,
                         std::span<const std::byte> from) override {
    if (trace) note("write_now " + at(file).name);
    const std::int32_t result = put(file, offset, from);
    if (result < 0) return fail_for_space("write_now", -result);
    return {};
  }
  Result<void> sync_now(FileId) override { return {}; }
  Result<void> sync_dir_now() override { return {}; }
  void write(FileId file, std::uint64_t offset, std::span<const std::byte> from, Flush flush,
             Io& io) override {
    unflushed_writes += flush == Flush::no ? 1 : 0;
    CHECK(offset % block_bytes == 0 && from.size() % block_bytes == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(from.data()) % block_bytes == 0);
    if (trace)
      note("write " + at(file).name + " " + std::to_string(offset) + " " +
           std::to_string(from.size()));
    submit({
        Kind::write, file, offset, {const_cast<std::byte*>(from.data()), from.size()},
           &io
    });
  }
  void read(FileId file, std::uint64_t offset, std::span<std::byte> into, Io& io) override {
    submit({Kind::read, file, offset, into, &io});
  }
  void sync(FileId file, Io& io) override {
    if (trace) note("sync " + at(file).name);
    submit({Kind::sync, file, 0, {}, &io});
  }
  void sync_dir(Io& io) override {
    if (trace) note("sync_dir");
    submit({Kind::sync_dir, FileId::none, 0, {}, &io});
  }
  // Checks the space, but does not reserve it.
  void allocate(FileId file, std::uint64_t bytes, Io& io) override {
    if (trace) note("allocate " + at(file).name + " " + std::to_string(bytes));
    submit({Kind::allocate, file, bytes, {}, &io});
  }
  void remove(std::string_view name, Io& io) override {
    removing_ = name;
    submit({Kind::remove, FileId::none, 0, {}, &io});
  }

 private:
  struct Handle {
    std::string name;
    std::shared_ptr<std::vector<std::byte>> bytes;
  };

  Handle& at(FileId file) {
    Handle& h = open_.at(static_cast<std::size_t>(file));
    CHECK(h.bytes, "file is closed");
    return h;
  }
  FileId handle(std::string name, std::shared_ptr<std::vector<std::byte>> bytes) {
    open_.push_back({std::move(name), std::move(bytes)});
    return FileId{static_cast<std::int32_t>(open_.size() - 1)};
  }
  void note(std::string call) { calls.push_back(std::move(call)); }
  bool full(std::uint64_t more) const {
    std::uint64_t used = more;
    for (const auto& [name, bytes] : files) used += bytes->size();
    return used > capacity;
  }
  std::int32_t put(FileId file, std::uint64_t offset, std::span<const std::byte> from) {
    auto& bytes = *at(file).bytes;
    if (offset + from.size() > bytes.size()) {
      if (full(offset + from.size() - bytes.size())) return -ENOSPC;
      bytes.resize(offset + from.size());
    }
    std::memcpy(bytes.data() + offset, from.data(), from.size());
    return static_cast<std::int32_t>(from.size());
  }
  void submit(const Op& op) {
    CHECK(!op.io->armed && count_ < ops_.size());
    op.io->armed = true;
    op.io->done = false;
    ops_[count_++] = op;
    if (!hold) finish(count_ - 1);
  }
  std::int32_t perform(const Op& op) {
    switch (op.kind) {
      case Kind::write:
        return fail_write ? -fail_write : put(op.file, op.offset, op.memory);
      case Kind::read:
        return static_cast<std::int32_t>(*read_now(op.file, op.offset, op.memory));
      case Kind::sync:
      case Kind::sync_dir:
        return fail_sync ? -fail_sync : 0;
      case Kind::allocate:
        if (fail_allocate) return -fail_allocate;
        return full(op.offset - std::min<std::uint64_t>(op.offset, at(op.file).bytes->size()))
                   ? -ENOSPC
                   : 0;
      case Kind::remove:
        return remove(removing_) ? 0 : -ENOENT;
    }
    return -EINVAL;
  }

  std::string removing_;
  std::vector<Handle> open_;
  std::array<Op, ios_max> ops_;
  std::size_t count_ = 0;
};

}  // namespace pawl

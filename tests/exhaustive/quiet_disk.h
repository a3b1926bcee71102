// SPDX-License-Identifier: Apache-2.0
// QuietDisk: a wrapper of a disk whose own allocations do not count.
//
// Owner:  a test; the other disk outlives it.
#pragma once

#include <type_traits>

#include "tests/exhaustive/allocations.h"
#include "wal/format/disk.h"

namespace pawl::exhaustive {

class QuietDisk final : public Disk {
 public:
  explicit QuietDisk(Disk& disk) : disk_(disk) {}

  Result<std::vector<FileInfo>> list() override {
    return quietly([&] { return disk_.list(); });
  }
  Result<FileId> open(std::string_view name) override {
    return quietly([&] { return disk_.open(name); });
  }
  Result<FileId> create(std::string_view name) override {
    return quietly([&] { return disk_.create(name); });
  }
  void close(FileId file) override {
    quietly([&] { disk_.close(file); });
  }
  Result<void> rename(std::string_view from, std::string_view to) override {
    return quietly([&] { return disk_.rename(from, to); });
  }
  Result<void> remove(std::string_view name) override {
    return quietly([&] { return disk_.remove(name); });
  }
  Result<std::size_t> read_now(FileId file, std::uint64_t offset,
                               std::span<std::byte> into) override {
    return quietly([&] { return disk_.read_now(file, offset, into); });
  }
  Result<void> write_now(FileId file, std::uint64_t offset,
                         std::span<const std::byte> from) override {
    return quietly([&] { return disk_.write_now(file, offset, from); });
  }
  Result<void> sync_now(FileId file) override {
    return quietly([&] { return disk_.sync_now(file); });
  }
  Result<void> sync_dir_now() override {
    return quietly([&] { return disk_.sync_dir_now(); });
  }
  void write(FileId file, std::uint64_t offset, std::span<const std::byte> from, Flush flush,
             Io& io) override {
    quietly([&] { disk_.write(file, offset, from, flush, io); });
  }
  void read(FileId file, std::uint64_t offset, std::span<std::byte> into, Io& io) override {
    quietly([&] { disk_.read(file, offset, into, io); });
  }
  void sync(FileId file, Io& io) override {
    quietly([&] { disk_.sync(file, io); });
  }
  void sync_dir(Io& io) override {
    quietly([&] { disk_.sync_dir(io); });
  }
  void allocate(FileId file, std::uint64_t bytes, Io& io) override {
    quietly([&] { disk_.allocate(file, bytes, io); });
  }
  void remove(std::string_view name, Io& io) override {
    quietly([&] { disk_.remove(name, io); });
  }
  std::uint64_t finished() const override { return disk_.finished(); }

 private:
  template <typename Call>
  static std::invoke_result_t<Call> quietly(Call call) {
    const Uncounted uncounted;
    return call();
  }
  Disk& disk_;
};

}  // namespace pawl::exhaustive

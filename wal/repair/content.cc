// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/content.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace pawl {
namespace {

std::vector<FileInfo> files_of(BlockingDisk& disk) {
  return disk.list().value_or(std::vector<FileInfo>());
}

}  // namespace

Result<std::vector<std::byte>> read_file(BlockingDisk& disk, std::string_view name,
                                         std::uint64_t offset, std::size_t bytes) {
  const auto file = disk.open(name);
  if (!file) return std::unexpected(file.error());
  std::vector<std::byte> content(bytes);
  const auto read = disk.read_now(*file, offset, content);
  disk.close(*file);
  if (!read) return std::unexpected(read.error());
  CHECK(*read <= bytes, "{} of {} bytes of {}", *read, bytes, name);
  content.resize(*read);
  return content;
}

std::string describe(const Geometry& at, Lsn lsn) {
  return fmt::format("{} at byte {} (lsn {})", segment_name(at.segment_of(lsn)), at.offset_of(lsn),
                     lsn);
}

std::vector<std::uint64_t> segments_in(BlockingDisk& disk) {
  std::vector<std::uint64_t> numbers;
  for (const FileInfo& file : files_of(disk)) {
    const std::int64_t number = segment_number(file.name);
    if (number >= 0) numbers.push_back(static_cast<std::uint64_t>(number));
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::uint64_t files_set_aside_in(BlockingDisk& disk) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      files_of(disk), [](const FileInfo& file) { return set_aside_number(file.name) >= 0; }));
}

Result<void> LogContent::open() {
  CHECK(files_.empty() && changes_.empty(), "the content of {} files was read before",
        files_.size());
  for (const FileInfo& info : files_of(*disk_)) {
    if (segment_number(info.name) < 0) continue;
    const auto number = static_cast<std::uint64_t>(segment_number(info.name));
    File file{.bytes = info.bytes};
    const auto block = read_file(*disk_, info.name, 0, block_bytes);
    if (!block) return std::unexpected(block.error());
    if (block->size() == block_bytes) {
      const auto header = read_segment_header(ConstBlock(block->data(), block_bytes));
      const bool ours = header && header->stream == at_.stream;
      if (ours && header->number != number)
        file.is_another = static_cast<std::int64_t>(header->number);
      file.header = ours && header->number == number;
      file.whole = file.header && file.bytes == at_.segment_bytes;
      if (file.header) usable_[number] = pawl::usable_bytes(*header, at_);
      CHECK(!file.header || file.is_another < 0, "segment {} is {} too", number, file.is_another);
    }
    CHECK(file.header || !file.whole, "segment {} is whole without a header", number);
    files_[number] = file;
  }
  return {};
}

Lsn LogContent::frame_position(Lsn lsn) const {
  const std::uint64_t number = at_.segment_of(lsn);
  const bool fits = usable_bytes(number) == 0 || at_.offset_of(lsn) < usable_bytes(number);
  const Lsn position = at_.frame_position(fits ? lsn : at_.segment_base(number + 1));
  CHECK(position >= lsn, "a frame at {}, looked for from {} on", position, lsn);
  return position;
}

std::uint64_t LogContent::usable_bytes(std::uint64_t number) const {
  const auto found = usable_.find(number);
  return found == usable_.end() ? 0 : found->second;
}

// Segments end at an extent, and the first block of one is its header.
void LogContent::set_usable_bytes(std::uint64_t number, std::uint64_t bytes) {
  CHECK(bytes > 0 && bytes % at_.extent_bytes == 0, "{} bytes of segment {}", bytes, number);
  CHECK(bytes < at_.segment_bytes, "{} bytes of segment {}", bytes, number);
  usable_[number] = bytes;
}

Result<std::span<const std::byte>> LogContent::from(Lsn lsn) {
  if (number_ != at_.segment_of(lsn)) {
    if (auto loaded = load(at_.segment_of(lsn)); !loaded) return std::unexpected(loaded.error());
  }
  CHECK(number_ == at_.segment_of(lsn), "segment {} is loaded for {}", number_, lsn);
  CHECK(segment_.size() == at_.segment_bytes, "{}", segment_.size());
  CHECK(at_.offset_of(lsn) + (at_.extent_end(lsn) - lsn) <= segment_.size(),
        "the extent of {} crosses the end of its segment", lsn);
  return std::span<const std::byte>(segment_).subspan(at_.offset_of(lsn),
                                                      at_.extent_end(lsn) - lsn);
}

Result<void> LogContent::load(std::uint64_t number) {
  number_ = UINT64_MAX;
  segment_.clear();
  if (there(number)) {
    auto content = read_file(*disk_, segment_name(number), 0, at_.segment_bytes);
    if (!content) return std::unexpected(content.error());
    segment_ = std::move(*content);
  }
  segment_.resize(at_.segment_bytes);
  number_ = number;
  const Lsn base = at_.segment_base(number);
  for (auto it = changes_.lower_bound(base);
       it != changes_.end() && it->first < base + at_.segment_bytes; ++it) {
    lay_over(it->first, it->second);
  }
  return {};
}

void LogContent::lay_over(Lsn lsn, std::span<const std::byte> bytes) {
  CHECK(number_ == at_.segment_of(lsn), "segment {} is loaded for {}", number_, lsn);
  CHECK(at_.offset_of(lsn) + bytes.size() <= segment_.size(), "{} bytes at {}", bytes.size(), lsn);
  std::ranges::copy(bytes, segment_.begin() + static_cast<std::ptrdiff_t>(at_.offset_of(lsn)));
}

void LogContent::put(Lsn lsn, std::vector<std::byte> bytes) {
  CHECK(at_.offset_of(lsn) + bytes.size() <= at_.segment_bytes, "{} bytes at {}", bytes.size(),
        lsn);
  CHECK(!bytes.empty(), "a change of no bytes at {}", lsn);
  CHECK(lsn % block_bytes == 0, "at {}", lsn);
  CHECK(at_.offset_of(lsn) >= block_bytes, "at {}: the header", lsn);
  if (number_ == at_.segment_of(lsn)) lay_over(lsn, bytes);
  changes_[lsn] = std::move(bytes);
}

void LogContent::make_whole(std::uint64_t number) {
  const auto file = files_.find(number);
  if (file == files_.end() || !file->second.whole) made_whole_.insert(number);
}

}  // namespace pawl

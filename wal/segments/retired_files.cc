// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/retired_files.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl {

void RetiredFiles::add(const RetiredFile& file) {
  CHECK(file.file != FileId::none, "segment {} has no file", file.number);
  files_.push_back(file);
  filled_ += file.filled ? 1 : 0;
}

RetiredFile RetiredFiles::take(std::size_t i) {
  CHECK(i < files_.size(), "{} of {}", i, files_.size());
  const RetiredFile taken = files_[i];
  files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(i));
  CHECK(filled_ >= (taken.filled ? 1u : 0u), "{} filled files", filled_);
  filled_ -= taken.filled ? 1 : 0;
  CHECK(filled_ <= files_.size(), "{} of {}", filled_, files_.size());
  return taken;
}

std::size_t RetiredFiles::choose(std::uint64_t number) const {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].number == number) return i;
  }
  const auto filled = std::ranges::find(files_, true, &RetiredFile::filled);
  return filled == files_.end() ? 0 : static_cast<std::size_t>(filled - files_.begin());
}

std::uint64_t RetiredFiles::bytes() const {
  std::uint64_t bytes = 0;
  for (const RetiredFile& file : files_) bytes += file.bytes;
  return bytes;
}

}  // namespace pawl

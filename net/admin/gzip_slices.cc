// SPDX-License-Identifier: Apache-2.0
#include "net/admin/gzip_slices.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace pawl {
namespace {

// Lines repeat the line before, so a small window finds as much as a large one.
constexpr int fastest = 1, window_bits = 13, with_gzip_head = 16, memory_level = 6;
static_assert((1 << (window_bits + 2)) + (1 << (memory_level + 9)) <= GzipSlices::state_bytes);

}  // namespace

struct GzipSlices::Stream {
  Stream() {
    const int done = deflateInit2(&z, fastest, Z_DEFLATED, window_bits + with_gzip_head,
                                  memory_level, Z_DEFAULT_STRATEGY);
    CHECK(done == Z_OK, "zlib answers {}", done);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { deflateEnd(&z); }

  void append(std::string& out, std::string_view plain, bool last) {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
    z.avail_in = static_cast<uInt>(plain.size());
    char bytes[4096];
    do {
      z.next_out = reinterpret_cast<Bytef*>(bytes);
      z.avail_out = sizeof bytes;
      const int done = deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
      CHECK(done == Z_OK || done == Z_STREAM_END || done == Z_BUF_ERROR, "zlib answers {}", done);
      out.append(bytes, sizeof bytes - z.avail_out);
    } while (z.avail_out == 0);
    CHECK(z.avail_in == 0, "zlib has left {} bytes", z.avail_in);
  }

  z_stream z{};
};

GzipSlices::GzipSlices(std::unique_ptr<ShardSlices> plain)
    : plain_(std::move(plain)), stream_(std::make_unique<Stream>()) {
  pause_.op = Op::none;
}

GzipSlices::~GzipSlices() = default;

ShardSlices::Next GzipSlices::next() {
  return taken_ < slice_.size() ? Next{&pause_, control_shard} : plain_->next();
}

void GzipSlices::append(std::string& body) {
  CHECK(taken_ <= slice_.size(), "{} of {} bytes", taken_, slice_.size());
  if (taken_ == slice_.size()) {
    slice_.clear();
    taken_ = 0;
    plain_->append(slice_);
    if (plain_->refusal() != nullptr) return;
  }
  const std::string_view piece = std::string_view(slice_).substr(taken_, piece_max);
  taken_ += piece.size();
  const bool last = next().request == nullptr;
  if (!piece.empty() || last) stream_->append(body, piece, last);
}

std::size_t GzipSlices::memory() const {
  return sizeof *this + state_bytes + slice_.capacity() + plain_->memory();
}

}  // namespace pawl

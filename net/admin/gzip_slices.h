// SPDX-License-Identifier: Apache-2.0
// Compresses a body from the shards with gzip while it is sent.
//
// A large slice is compressed in pieces. Between two pieces a shard is asked for nothing
// (Op::none), so that it serves others in between.
//
// Units:  bytes.
// Limits: piece_max a piece, which takes about 0.1 ms; state_bytes of memory, and one slice.
// Owner:  see admin_page.h.
// Source: RFC 1952.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/admin/admin_page.h"

namespace pawl {

class GzipSlices final : public ShardSlices {
 public:
  static constexpr std::size_t piece_max = 32 << 10;    // of the plain body
  static constexpr std::size_t state_bytes = 72 << 10;  // of zlib

  explicit GzipSlices(std::unique_ptr<ShardSlices> plain);
  GzipSlices(const GzipSlices&) = delete;
  GzipSlices& operator=(const GzipSlices&) = delete;
  ~GzipSlices() override;

  std::string_view content_type() const override { return plain_->content_type(); }
  std::string_view content_encoding() const override { return "gzip"; }
  const AdminAnswer* refusal() const override { return plain_->refusal(); }
  Next next() override;
  void append(std::string& body) override;
  std::size_t memory() const override;

 private:
  struct Stream;

  std::unique_ptr<ShardSlices> plain_;
  std::unique_ptr<Stream> stream_;
  Request pause_;
  std::string slice_;      // plain
  std::size_t taken_ = 0;  // of `slice_`
};

}  // namespace pawl

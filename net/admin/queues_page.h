// SPDX-License-Identifier: Apache-2.0
// GET /queues: one JSON object a line for each queue of each shard, with its counts.
//
//   {"account":"000000000000","name":"q.fifo","fifo":true,"visible":3,"in_flight":0,"delayed":0}
//
// The lines have no order. A queue that exists from the first slice to the last is listed exactly
// once, whatever else is created or deleted meanwhile. The counts of one line are of one moment;
// those of different lines are not.
//
// Limits: QueueSlice::rows_max rows a slice, with as many lines at most: 60 KB, written in 0.12 ms.
// Owner:  see admin_page.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/admin/admin_page.h"

namespace pawl {

class QueueLines final : public ShardSlices {
 public:
  explicit QueueLines(std::uint32_t shards);
  QueueLines(const QueueLines&) = delete;
  QueueLines& operator=(const QueueLines&) = delete;

  std::string_view content_type() const override { return "application/x-ndjson"; }
  Next next() override;
  void append(std::string& body) override;
  std::size_t memory() const override;

 private:
  std::uint32_t shards_;
  std::uint32_t shard_ = 0;  // of the next slice
  Request request_;
  QueueSlice slice_;
};

std::unique_ptr<ShardSlices> queues_page(const AdminRequest& request, const AdminFacts& facts);

}  // namespace pawl

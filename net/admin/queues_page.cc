// SPDX-License-Identifier: Apache-2.0
#include "net/admin/queues_page.h"

#include "core/base/check.h"
#include "proto/text/json.h"

namespace pawl {
namespace {

void append_line(std::string& body, const ListedQueue& queue) {
  JsonWriter json(body);
  json.begin_object();
  json.member("account", std::string_view(queue.config->account));
  json.member("name", std::string_view(queue.config->name));
  json.member("fifo", queue.config->is_fifo());
  json.member("visible", queue.counts.visible);
  json.member("in_flight", queue.counts.in_flight);
  json.member("delayed", queue.counts.delayed);
  json.end_object();
  body += '\n';
}

}  // namespace

QueueLines::QueueLines(std::uint32_t shards) : shards_(shards) {
  CHECK(shards > 0 && shards <= shards_max, "{} shards", shards);
  slice_.queues.reserve(QueueSlice::rows_max);  // the shard that fills it allocates nothing
  request_.op = Op::list_queues;
  request_.slice = &slice_;
}

ShardSlices::Next QueueLines::next() {
  if (shard_ == shards_) return {};
  return {&request_, ShardId{static_cast<std::uint8_t>(shard_)}};
}

void QueueLines::append(std::string& body) {
  CHECK(shard_ < shards_, "a slice behind the last shard");
  for (const ListedQueue& queue : slice_.queues) append_line(body, queue);
  slice_.queues.clear();
  request_.queue = slice_.next;
  if (slice_.next == QueueId::none) ++shard_;
}

std::size_t QueueLines::memory() const {
  return sizeof *this + slice_.queues.capacity() * sizeof(ListedQueue);
}

std::unique_ptr<ShardSlices> queues_page(const AdminRequest&, const AdminFacts& facts) {
  return std::make_unique<QueueLines>(facts.shards());
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/admin/metrics_page.h"

#include "core/base/check.h"
#include "net/admin/metrics.h"
#include "net/admin/server_metrics.h"

namespace pawl {

MetricsPage::MetricsPage(const AdminFacts& facts) : facts_(&facts) {
  CHECK(facts.shards() > 0 && facts.shards() <= shards_max, "{} shards", facts.shards());
  slice_.wants_figures = true;
  request_.op = Op::list_queues;
  request_.slice = &slice_;
}

ShardSlices::Next MetricsPage::next() {
  if (complete_) return {};
  if (shard_ < facts_->shards()) return {&request_, ShardId{static_cast<std::uint8_t>(shard_)}};
  request_.op = Op::none;
  return {&request_, control_shard};
}

void MetricsPage::collect() {
  metrics_.take(slice_);
  request_.queue = slice_.next;
  if (slice_.next != QueueId::none) return;
  ++shard_;
  slice_.others = {};
  slice_.others_oldest = never;
}

void MetricsPage::append(std::string& body) {
  CHECK(!complete_, "a piece behind the last");
  if (shard_ < facts_->shards()) {
    collect();
    if (shard_ == facts_->shards()) metrics_.end();
    return;
  }
  if (!begun_) {
    body += metrics_text(facts_->numbers, facts_->backend, !facts_->serving());
    append_server_metrics(body, *facts_);
    begun_ = true;
  }
  complete_ = !text_.write(body);
}

std::size_t MetricsPage::memory() const {
  return sizeof *this + metrics_.memory() + slice_.queues.capacity() * sizeof(ListedQueue) +
         slice_.figures.capacity() * sizeof(QueueFigures);
}

std::unique_ptr<ShardSlices> metrics_page(const AdminRequest&, const AdminFacts& facts) {
  return std::make_unique<MetricsPage>(facts);
}

}  // namespace pawl

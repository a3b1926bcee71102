// SPDX-License-Identifier: Apache-2.0
#include "net/admin/queue_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/queue/queue_figures.h"
#include "net/admin/chosen_families.h"
#include "net/admin/family_text.h"

namespace pawl {
namespace {

// Appends the samples of one family for one queue.
class Samples {
 public:
  Samples(std::string& text, std::string_view family, const QueueMetrics& queue)
      : text_(text), family_(family), queue_(queue) {}

  template <typename Number>
  void add(Number value, std::string_view label = {}, std::string_view ending = {}) {
    text_ += fmt::format("{}{}{{queue=\"{}\"", family_, ending, queue_.label());
    if (!queue_.is_other()) text_ += fmt::format(",account=\"{}\"", queue_.account);
    if (!label.empty()) text_ += fmt::format(",{}", label);
    if (value == std::numeric_limits<Number>::infinity() &&
        std::numeric_limits<Number>::has_infinity)
      text_ += "} +Inf\n";
    else
      text_ += fmt::format("}} {}\n", value);
  }

 private:
  std::string& text_;
  std::string_view family_;
  const QueueMetrics& queue_;
};

double to_seconds(std::uint64_t ms) { return static_cast<double>(ms) / 1000.0; }

void states(Samples& samples, const QueueMetrics& queue) {
  samples.add(queue.counts.visible, "state=\"visible\"");
  samples.add(queue.counts.in_flight, "state=\"in_flight\"");
  samples.add(queue.counts.delayed, "state=\"delayed\"");
}

void oldest_age(Samples& samples, const QueueMetrics& queue) {
  samples.add(queue.oldest_age_seconds());
}

void message_seconds(Samples& samples, const QueueMetrics& queue) {
  samples.add(to_seconds(queue.figures.message_ms));
}

void lease_seconds(Samples& samples, const QueueMetrics& queue) {
  const LeaseTimes& leases = queue.figures.leases;
  const auto percentile = [&](double share) {
    return to_seconds(static_cast<std::uint64_t>(leases.percentile(share).ms));
  };
  samples.add(percentile(0.5), "quantile=\"0.5\"");
  samples.add(percentile(0.99), "quantile=\"0.99\"");
  samples.add(to_seconds(leases.sum_ms()), {}, "_sum");
  samples.add(leases.count(), {}, "_count");
}

void drain_rate(Samples& samples, const QueueMetrics& queue) {
  samples.add(queue.figures.deleted_per_second);
}

void drain_seconds(Samples& samples, const QueueMetrics& queue) {
  samples.add(queue.drain_seconds());
}

void workers_wanted(Samples& samples, const QueueMetrics& queue) {
  samples.add(queue.workers_wanted());
}

using Write = void (*)(Samples&, const QueueMetrics&);

struct OwnFamily {
  std::string_view name, type, help, labels;
  std::size_t series;
  Write write;
  bool of_other;  // also of all queues without a label together
};

// clang-format off
constexpr OwnFamily own_families[] = {
    {"pawl_queue_messages", "gauge", "Messages by state.",
     "queue, account, state", 3, states, true},
    {"pawl_queue_oldest_message_age_seconds", "gauge",
     "Time since the message with the lowest number was sent; 0 without messages. Of __other__ and "
     "of messages that are only on the disk to within a 4096th of the retention.",
     "queue, account", 1, oldest_age, true},
    {"pawl_message_seconds_total", "counter",
     "Time that all messages together have spent in the queue. Divided by the messages that left "
     "in the same time it is how long a message stays.",
     "queue, account", 1, message_seconds, true},
    {"pawl_lease_seconds", "summary",
     "Time from the last receive of a message to its delete, of the last 4096 to 8192 deletes.",
     "queue, account, quantile", 4, lease_seconds, false},
    {"pawl_queue_drain_rate", "gauge", "Messages deleted per second, over about the last minute.",
     "queue, account", 1, drain_rate, false},
    {"pawl_queue_drain_seconds", "gauge",
     "Time until the queue is empty at pawl_queue_drain_rate, if nothing is sent.",
     "queue, account", 1, drain_seconds, false},
    {"pawl_queue_workers_wanted", "gauge",
     "Consumers that keep up with the sends of the last minute, each with one message at a time, "
     "and bring the visible messages within x-lag-target.",
     "queue, account", 1, workers_wanted, false},
};
// clang-format on

struct CountedFamily {
  QueueCounter counter;
  std::string_view name, global_name;  // no name: only of all queues together
  std::string_view help;
};

#define PAWL_COUNTED(name) "pawl_" name "_total", "pawl_global_" name "_total"
constexpr CountedFamily counted_families[] = {
    {QueueCounter::sent, PAWL_COUNTED("messages_sent"),
     "Messages sent by clients, topics and replays."},
    {QueueCounter::received, PAWL_COUNTED("messages_received"),
     "Deliveries; a message counts as often as it is delivered."},
    {QueueCounter::first_received, PAWL_COUNTED("messages_delivered"),
     "Messages delivered for the first time."},
    {QueueCounter::late, PAWL_COUNTED("messages_delivered_late"),
     "Messages delivered for the first time later than x-lag-target after they could be."},
    {QueueCounter::deleted, PAWL_COUNTED("messages_deleted"), "Messages deleted by consumers."},
    {QueueCounter::done_receives, PAWL_COUNTED("message_receives"),
     "Deliveries that the deleted messages had needed."},
    {QueueCounter::returned, PAWL_COUNTED("messages_returned"),
     "Messages that a consumer made visible again."},
    {QueueCounter::lease_expired, PAWL_COUNTED("leases_expired"),
     "Messages visible again because their visibility timeout ended."},
    {QueueCounter::late_deletes, PAWL_COUNTED("deletes_late"),
     "Messages deleted by a handle whose visibility timeout had ended."},
    {QueueCounter::expired, PAWL_COUNTED("messages_expired"),
     "Messages deleted because they were past the retention or their time to live."},
    {QueueCounter::dead_lettered, PAWL_COUNTED("messages_dead_lettered"),
     "Messages moved from here to the dead-letter queue."},
    {QueueCounter::redriven, PAWL_COUNTED("messages_redriven"),
     "Messages moved from here by a message move task."},
    {QueueCounter::deduplicated, PAWL_COUNTED("messages_deduplicated"),
     "Sends that were duplicates of an earlier message."},
    {QueueCounter::backed_off,
     {},
     "pawl_global_messages_backed_off_total", "Messages that came back and waited by x-retry-backoff."},
    {QueueCounter::cancelled,
     {},
     "pawl_global_messages_cancelled_total", "Messages deleted by their ids."},
    {QueueCounter::arrived,
     {},
     "pawl_global_messages_arrived_total", "Messages that came from another queue."},
    {QueueCounter::purged,
     {},
     "pawl_global_messages_purged_total", "Messages deleted by PurgeQueue or with their queue."},
    {QueueCounter::set_aside,
     {},
     "pawl_global_messages_set_aside_total", "Messages set aside because their bodies cannot be read."},
};
#undef PAWL_COUNTED

constexpr std::size_t own_count = std::size(own_families);
constexpr auto labelled_counters = static_cast<std::size_t>(std::ranges::count_if(
    counted_families, [](const auto& family) { return !family.name.empty(); }));
constexpr std::size_t own_series = [] {
  std::size_t series = 0;
  for (const OwnFamily& family : own_families) series += family.series;
  return series;
}();
static_assert(own_series + labelled_counters <= QueueMetricsText::series_max);

void add(QueueFigures& sum, const QueueFigures& part) {
  for (std::size_t i = 0; i < queue_counters; ++i) sum.sums.counters[i] += part.sums.counters[i];
  sum.sums.messages += part.sums.messages;
  sum.message_ms += part.message_ms;
}

void add(DeliveryTimes& sum, const DeliveryTimes& part) {
  std::ranges::transform(sum.counts, part.counts, sum.counts.begin(), std::plus());
  sum.sum_ms += part.sum_ms;
}

void append_times(std::string& text, std::string_view name, std::string_view help,
                  const DeliveryTimes& times) {
  append_head(text, name, "histogram", help);
  std::array<double, DeliveryTimes::ends_ms.size()> ends{};
  std::ranges::transform(DeliveryTimes::ends_ms, ends.begin(), [](std::int64_t ms) {
    return to_seconds(static_cast<std::uint64_t>(ms));
  });
  append_histogram(
      text, name, {},
      Histogram{.ends = ends, .counts = times.counts, .sum = to_seconds(times.sum_ms)});
}

}  // namespace

double QueueMetrics::oldest_age_seconds() const {
  return pawl::oldest_age_seconds(oldest_sent, now);
}

double QueueMetrics::drain_seconds() const { return pawl::drain_seconds(figures); }

double QueueMetrics::workers_wanted() const {
  return pawl::workers_wanted(figures, counts.visible, lag_target);
}

void CollectedMetrics::take(const QueueSlice& slice, const MetricsQuery& query) {
  CHECK(slice.figures.size() == slice.queues.size(), "{} figures of {} queues",
        slice.figures.size(), slice.queues.size());
  for (std::size_t i = 0; i < slice.queues.size(); ++i) {
    const ListedQueue& listed = slice.queues[i];
    if (!query.wants_queue(listed.config->name)) continue;
    queues.push_back({.account = listed.config->account,
                      .name = listed.config->name,
                      .counts = listed.counts,
                      .figures = slice.figures[i],
                      .oldest_sent = listed.oldest_sent,
                      .now = slice.now,
                      .lag_target = listed.config->lag_target()});
  }
  if (slice.next != QueueId::none) return;
  other_.counts.visible += slice.others.visible;
  other_.counts.in_flight += slice.others.in_flight;
  other_.counts.delayed += slice.others.delayed;
  other_.oldest_sent = std::min(other_.oldest_sent, slice.others_oldest);
  other_.now = slice.now;
  add(other_.figures, slice.shard.others);
  add(all, slice.shard.all);
  add(delivery_times, slice.shard.delivery_times);
  add(done_times, slice.shard.done_times);
}

void CollectedMetrics::end(const MetricsQuery& query) {
  CHECK(queues.empty() || !queues.back().is_other(), "the metrics end twice");
  if (query.wants_queue(QueueMetrics::other_name)) queues.push_back(std::move(other_));
}

std::vector<QueueMetricsText::Family> QueueMetricsText::families() {
  std::vector<Family> all;
  for (const OwnFamily& family : own_families)
    all.push_back({family.name, family.type, family.help, family.labels, family.series});
  for (const CountedFamily& family : counted_families)
    if (!family.name.empty())
      all.push_back({family.name, "counter", family.help, "queue, account"});
  return all;
}

bool QueueMetricsText::write(std::string& text) {
  CHECK(!metrics_->queues.empty(), "a text before the end of the metrics");
  constexpr std::size_t families = own_count + labelled_counters;
  const auto wanted = [&] {
    return query_->wants_family(family_ < own_count ? own_families[family_].name
                                                    : counted_families[family_ - own_count].name);
  };
  if (queue_ == 0)
    while (family_ < families && !wanted()) ++family_;
  if (family_ < families) write_family(text);
  if (family_ < families) return true;
  if (query_->queues.empty()) write_globals(text);
  return false;
}

// Writes the next queues of a family.
void QueueMetricsText::write_family(std::string& text) {
  const bool own = family_ < own_count;
  const CountedFamily& counted = counted_families[own ? 0 : family_ - own_count];
  const std::string_view name = own ? own_families[family_].name : counted.name;
  if (queue_ == 0)
    append_head(text, name, own ? own_families[family_].type : "counter",
                own ? own_families[family_].help : counted.help, query_->format);
  const std::size_t end =
      std::min<std::size_t>(queue_ + QueueSlice::rows_max, metrics_->queues.size());
  for (; queue_ < end; ++queue_) {
    const QueueMetrics& queue = metrics_->queues[queue_];
    Samples samples(text, name, queue);
    if (!own) {
      samples.add(queue.figures.sums[counted.counter]);
    } else if (own_families[family_].of_other || !queue.is_other()) {
      own_families[family_].write(samples, queue);
    }
  }
  if (queue_ < metrics_->queues.size()) return;
  queue_ = 0;
  ++family_;
}

void QueueMetricsText::write_globals(std::string& out) const {
  std::string text;
  for (const CountedFamily& family : counted_families) {
    append_head(text, family.global_name, "counter", family.help);
    text += fmt::format("{} {}\n", family.global_name, metrics_->all.sums[family.counter]);
  }
  constexpr std::string_view seconds_name = "pawl_global_message_seconds_total";
  append_head(text, seconds_name, "counter",
              "Time that all messages together have spent in the queues.");
  text += fmt::format("{} {}\n", seconds_name, to_seconds(metrics_->all.message_ms));
  append_times(text, "pawl_delivery_seconds",
               "Time from when a message could be delivered to its first delivery.",
               metrics_->delivery_times);
  append_times(text, "pawl_message_done_seconds",
               "Time from the send of a message, or from its arrival from another queue, to its "
               "delete, to within a quarter. Of queues with a label, since the server started.",
               metrics_->done_times);
  append_chosen(out, text, *query_);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/queue/labelled_queues.h"
#include "net/admin/queue_metrics.h"
#include "tools/commands.h"
#include "tools/metrics_text.h"
#include "tools/printer.h"
#include "tools/verbs/admin_port.h"

namespace pawl {
namespace {

using QueueFamily = QueueMetricsText::Family;

struct MetricsOptions {
  std::string admin;  // empty: no server is asked
  std::uint64_t queues = LabelledQueues::most_default;
  std::string filter;
  OutputOptions output;
};

struct ListedFamily {
  std::string name, type, labels, help;
  std::optional<std::uint64_t> series, series_max;  // none: unknown
};

// Each queue with a label, and all others together.
std::uint64_t most_series(const QueueFamily& family, const MetricsOptions& asked) {
  CHECK(family.series > 0 && family.series <= QueueMetricsText::series_max, "{} has {} series",
        family.name, family.series);
  return family.series * (asked.queues + 1);
}

std::vector<ListedFamily> families_of_queues(const MetricsOptions& asked) {
  std::vector<ListedFamily> listed;
  for (const QueueFamily& family : QueueMetricsText::families())
    listed.push_back({std::string(family.name), std::string(family.type),
                      std::string(family.labels), std::string(family.help), std::nullopt,
                      most_series(family, asked)});
  return listed;
}

// A server has all series of these from its start on.
bool is_constant(std::string_view labels) {
  constexpr std::string_view constant[] = {
      "", "shard", "le", "shard, kind", "shard, phase", "shard, reason"};
  return std::ranges::find(constant, labels) != std::end(constant);
}

std::vector<ListedFamily> families_of_server(std::string_view text, const MetricsOptions& asked) {
  const std::vector<QueueFamily> of_queues = QueueMetricsText::families();
  std::vector<ListedFamily> listed;
  for (const MetricFamily& family : families_of(text)) {
    ListedFamily row{std::string(family.name), std::string(family.type), family.label_names(),
                     std::string(family.help), family.samples.size(),    std::nullopt};
    const auto known = std::ranges::find(of_queues, family.name, &QueueFamily::name);
    if (known != of_queues.end()) {
      row.labels = known->labels;
      row.series_max = most_series(*known, asked);
    } else if (is_constant(row.labels)) {
      row.series_max = row.series;
    }
    listed.push_back(std::move(row));
  }
  return listed;
}

Printer::Cell count_cell(const char* name, const std::optional<std::uint64_t>& count) {
  Printer::Cell cell{name, count.value_or(0)};
  if (!count) cell.text = "";
  return cell;
}

int list_metrics(const MetricsOptions& asked) {
  std::vector<ListedFamily> listed;
  if (asked.admin.empty()) {
    listed = families_of_queues(asked);
  } else {
    const auto text = get_metrics(asked.admin);
    if (!text)
      return fail_with(
          exit_failure,
          fmt::format("{}. --admin is the admin port of a running server.", text.error()));
    listed = families_of_server(*text, asked);
    if (listed.empty())
      return fail_with(exit_failure,
                       fmt::format("/metrics of {} has no metric. --admin is the admin port of a "
                                   "running server.",
                                   asked.admin));
  }
  std::erase_if(listed, [&](const ListedFamily& row) { return !row.name.contains(asked.filter); });
  Printer printer(stdout, asked.output.format(),
                  {"name", "type", "labels", "series", "series_max"});
  for (const ListedFamily& row : listed) {
    printer.add({
        .cells = {{"name", row.name},
                  {"type", row.type},
                  {"labels", row.labels},
                  count_cell("series", row.series),
                  count_cell("series_max", row.series_max),
                  {"help", row.help}}
    });
  }
  return printer.end();
}

}  // namespace

void add_metrics_command(CommandLine& line) {
  Verb verb = line.add_verb("metrics", "Lists the metrics of /metrics");
  verb.require_verb();
  Verb listed = verb.add_verb("ls", "Lists the metrics with their labels and numbers of series");
  const auto asked = std::make_shared<MetricsOptions>();
  listed
      .option("--admin", asked->admin,
              "Admin port of a running server: lists all its metrics and the series that they "
              "have now. Without it only those of queues are listed")
      .value_name("[https://]ADDR:PORT");
  listed
      .option("--metrics-queues", asked->queues,
              "The server's --metrics-queues, for the largest number of series")
      .value_name("N")
      .check(whole_number(0, 100'000))
      .show_default();
  listed.option("--filter", asked->filter, "Only metrics whose names contain this text")
      .value_name("TEXT");
  add_output(listed, asked->output, "{name, type, labels, series, series_max, help}");
  listed.on_given([asked] { return list_metrics(*asked); });
}

}  // namespace pawl

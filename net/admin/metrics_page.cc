// SPDX-License-Identifier: Apache-2.0
#include "net/admin/metrics_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "net/admin/chosen_families.h"
#include "net/admin/metrics.h"
#include "net/admin/server_metrics.h"

namespace pawl {
namespace {

// The names of the families with figures of queues.
std::vector<std::string> figure_families() {
  CollectedMetrics none;
  none.end();
  std::string text;
  for (QueueMetricsText writer(none); writer.write(text);) {
  }
  const std::vector<std::string_view> names = family_names(text);
  return {names.begin(), names.end()};
}

// The name that the asked one means; empty: none.
template <typename Names>
std::string_view named_by(const Names& names, const std::string& asked) {
  const auto found = std::ranges::find_if(
      names, [&](std::string_view name) { return name == asked || without_total(name) == asked; });
  return found == names.end() ? std::string_view() : std::string_view(*found);
}

template <typename Names>
std::string listed(const Names& names) {
  std::string text;
  for (const std::string_view name : names) text.append(" ").append(name);
  return text;
}

}  // namespace

MetricsPage::MetricsPage(const AdminRequest& request, const AdminFacts& facts)
    : facts_(&facts), figures_(facts.shards(), query_) {
  auto query = read_metrics_query(request, QueryAllows::queues_and_families);
  if (!query) {
    refusal_ = std::move(query.error());
    return;
  }
  query_ = std::move(*query);
  if (!query_.families.empty()) look_at_families();
}

// All are known, and have the label `queue` if queues are chosen.
void MetricsPage::look_at_families() {
  CHECK(!query_.families.empty(), "no family is asked for");
  const std::string server = server_text();
  const std::vector<std::string_view> of_server = family_names(server);
  const std::vector<std::string> of_figures = figure_families();
  std::vector<std::string_view> of_queues;
  for (const QueueMetricsText::Family& family : QueueMetricsText::families())
    of_queues.push_back(family.name);
  wants_figures_ = false;
  for (const std::string& asked : query_.families) {
    const bool has_figures = !named_by(of_figures, asked).empty();
    wants_figures_ = wants_figures_ || has_figures;
    if (!has_figures && named_by(of_server, asked).empty()) {
      refusal_ =
          AdminAnswer{.status = 404,
                      .body = fmt::format("no family `{}`; there are{}{}\n", shown_name(asked),
                                          listed(of_figures), listed(of_server))};
    } else if (!query_.queues.empty() && named_by(of_queues, asked).empty()) {
      refusal_ = AdminAnswer{
          .status = 400,
          .body = fmt::format("the family `{}` has no label queue; ask for it without a queue, or "
                              "for{}\n",
                              asked, listed(of_queues))};
    }
    if (refusal_) return;
  }
  if (!wants_figures_) figures_.leave_out();
}

std::string MetricsPage::server_text() const {
  std::string text = metrics_text(facts_->numbers, facts_->backend, !facts_->serving());
  append_server_metrics(text, *facts_);
  return text;
}

ShardSlices::Next MetricsPage::next() { return complete_ ? Next() : figures_.next(); }

void MetricsPage::append(std::string& body) {
  CHECK(!complete_ && !refusal_, "a piece behind the last");
  if (!figures_.complete()) {
    figures_.take();
    if (figures_.complete()) refusal_ = figures_.missing_queue();
    return;
  }
  if (!begun_ && query_.queues.empty()) append_chosen(body, server_text(), query_);
  begun_ = true;
  complete_ = !wants_figures_ || !text_.write(body);
  if (complete_ && query_.format == MetricsFormat::open_metrics) body += "# EOF\n";
}

std::unique_ptr<ShardSlices> metrics_page(const AdminRequest& request, const AdminFacts& facts) {
  return std::make_unique<MetricsPage>(request, facts);
}

}  // namespace pawl

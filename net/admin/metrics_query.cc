// SPDX-License-Identifier: Apache-2.0
#include "net/admin/metrics_query.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "proto/http/accept.h"
#include "proto/text/form.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

bool is_named(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::binary_search(names, name, {},
                                    [](const auto& text) { return std::string_view(text); });
}

void sort_once(std::vector<std::string>& names) {
  std::ranges::sort(names);
  const auto twins = std::ranges::unique(names);
  names.erase(twins.begin(), twins.end());
}

std::unexpected<AdminAnswer> bad_query(std::string text) {
  return std::unexpected(AdminAnswer{.status = 400, .body = std::move(text) + '\n'});
}

}  // namespace

std::string shown_name(std::string_view name) {
  constexpr std::size_t shown_max = 80;  // bytes, as the longest name of a queue
  std::string shown(name.substr(0, shown_max));
  make_printable(shown);
  std::ranges::replace(shown, '\n', '?');
  std::ranges::replace(shown, '\r', '?');
  if (name.size() > shown_max) shown += "...";
  return shown;
}

bool MetricsQuery::wants_queue(std::string_view name) const {
  return queues.empty() || is_named(queues, name);
}

bool MetricsQuery::wants_family(std::string_view name) const {
  return families.empty() || is_named(families, name) || is_named(families, without_total(name));
}

const MetricsQuery& MetricsQuery::everything() {
  static const MetricsQuery all;
  return all;
}

std::expected<MetricsQuery, AdminAnswer> read_metrics_query(const AdminRequest& request,
                                                            QueryAllows allowed) {
  MetricsQuery query;
  const bool families = allowed == QueryAllows::queues_and_families;
  const std::string_view wanted = families ? "queue=NAME and family=NAME, each repeated as needed"
                                           : "queue=NAME, repeated as needed";
  if (families && accepts_open_metrics(request.accept)) query.format = MetricsFormat::open_metrics;
  Form form;
  const Form::Fault fault = form.parse(request.query, Form::Repeats::allowed);
  if (fault == Form::Fault::bad_escape)
    return bad_query("the query string has a % without two hexadecimal digits behind it");
  if (fault == Form::Fault::too_many || form.params().size() > MetricsQuery::parameters_max)
    return bad_query(
        fmt::format("the query string has more than {} parameters", MetricsQuery::parameters_max));
  CHECK(fault == Form::Fault::none, "fault {} of a query string", static_cast<int>(fault));
  for (const auto& [key, value] : form.params()) {
    const bool is_family = key == "family" && families;
    if (!is_family && key != "queue")
      return bad_query(fmt::format("unknown parameter `{}`; {} allows {}", shown_name(key),
                                   shown_name(request.path), wanted));
    if (value.empty())
      return bad_query(fmt::format("the parameter `{0}` has no name; write {0}=NAME", key));
    (is_family ? query.families : query.queues).emplace_back(value);
  }
  sort_once(query.queues);
  sort_once(query.families);
  return query;
}

}  // namespace pawl

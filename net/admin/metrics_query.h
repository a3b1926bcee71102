// SPDX-License-Identifier: Apache-2.0
// The wish of a reader of metrics: queues and families by the query string, the format by Accept.
//
//   /metrics?queue=orders&queue=dead&family=pawl_queue_messages
//
// Limits: parameters_max parameters; the parser of HTTP bounds the query string.
// Errors: 400: another parameter, too many, a name without text, a wrong escape.
// Owner:  a connection's page. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "net/admin/admin_page.h"
#include "net/admin/family_text.h"

namespace pawl {

struct MetricsQuery {
  static constexpr std::size_t parameters_max = 100;

  // In order; empty: all.
  std::vector<std::string> queues, families;
  MetricsFormat format = MetricsFormat::prometheus;

  bool wants_queue(std::string_view name) const;
  // A counter's family is wanted by its name with or without `_total`.
  bool wants_family(std::string_view name) const;

  static const MetricsQuery& everything();
};

// A page may allow queues alone.
enum class QueryAllows : std::uint8_t { queues, queues_and_families };
std::expected<MetricsQuery, AdminAnswer> read_metrics_query(const AdminRequest& request,
                                                            QueryAllows allowed);

// A name of the client, fit for an error text: short and printable.
std::string shown_name(std::string_view name);

}  // namespace pawl

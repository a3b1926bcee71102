// SPDX-License-Identifier: Apache-2.0
// Chooses families from a text of metrics, and writes them in the format of a query.
//
// OpenMetrics differs from text 0.0.4 in few lines: the heads of counters lack `_total`, and an end
// of a bucket is no whole number (1.0).
//
// Limits: it reads the whole text at once: about 10 KB a shard.
// Errors: none. The text is this program's own.
// Owner:  free functions.
// Source: OpenMetrics 1.0.0, "Counter", "Numbers".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/admin/metrics_query.h"

namespace pawl {

// Appends the families of `families`, which is text 0.0.4, that the query wants.
void append_chosen(std::string& text, std::string_view families, const MetricsQuery& query);

// The names of the families of a text 0.0.4, in its order; they point into it.
std::vector<std::string_view> family_names(std::string_view text);

}  // namespace pawl

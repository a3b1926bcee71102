// SPDX-License-Identifier: Apache-2.0
#include "net/admin/health_pages.h"

#include "net/admin/health.h"
#include "net/io/kernel_clocks.h"

namespace pawl {

AdminAnswer live_page(const AdminRequest&, const AdminFacts&) { return {.body = "ok\n"}; }

AdminAnswer ready_page(const AdminRequest&, const AdminFacts& facts) {
  if (facts.serving()) return {.body = "ok\n"};
  return {.status = 503, .body = "draining: new connections are refused\n"};
}

AdminAnswer health_page(const AdminRequest& request, const AdminFacts& facts) {
  AdminAnswer answer{.body = health_text(facts.numbers)};
  if (answer.body != health_ok) answer.status = 503;
  if (request.query == "verbose") {
    const std::int64_t now_us = wall_now().ms * 1000;
    answer.body = health_lines(facts, now_us);
    answer.content_type = "application/x-ndjson";
  }
  return answer;
}

}  // namespace pawl

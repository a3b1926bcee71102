// SPDX-License-Identifier: Apache-2.0
#include "net/admin/page_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "net/admin/cloudwatch_page.h"
#include "net/admin/health_pages.h"
#include "net/admin/metrics_page.h"
#include "net/admin/queues_page.h"
#include "net/admin/settings_page.h"

namespace pawl {
namespace {

// Probes have always been answered whatever their method; POST stays.
constexpr std::string_view read = "GET, HEAD", probe = "GET, HEAD, POST";

constexpr AdminPage pages[] = {
    {.path = "/livez",           .methods = probe, .answer = live_page    },
    {.path = "/readyz",          .methods = probe, .answer = ready_page   },
    {.path = "/healthz",         .methods = probe, .answer = health_page  },
    {.path = "/metrics",         .methods = probe, .ask = metrics_page    },
    {.path = "/queues",          .methods = read,  .ask = queues_page     },
    {.path = "/cloudwatch.json", .methods = read,  .ask = cloudwatch_page },
    {.path = "/config",          .methods = read,  .answer = settings_page},
};

}  // namespace

std::span<const AdminPage> admin_pages() { return pages; }

const AdminPage* find_admin_page(std::string_view path) {
  const auto* const found = std::ranges::find(pages, path, &AdminPage::path);
  return found == std::end(pages) ? nullptr : found;
}

AdminAnswer no_such_page() {
  AdminAnswer answer{.status = 404, .body = "not found; there are"};
  for (const AdminPage& page : pages) answer.body += fmt::format(" {}", page.path);
  answer.body += '\n';
  return answer;
}

AdminAnswer no_such_method(const AdminPage& page) {
  return {.status = 405, .body = fmt::format("{} allows {}\n", page.path, page.methods)};
}

}  // namespace pawl

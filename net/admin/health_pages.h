// SPDX-License-Identifier: Apache-2.0
// The pages for probes: /livez, /readyz and /healthz. They need facts of the server only, so the
// connection's own shard answers at once.
//
// Errors: status 503: not ready, or a fault that needs an operator; the body names it.
// Owner:  any shard's thread; no state.
#pragma once

#include "net/admin/admin_page.h"

namespace pawl {

AdminAnswer live_page(const AdminRequest& request, const AdminFacts& facts);
AdminAnswer ready_page(const AdminRequest& request, const AdminFacts& facts);
// The query `verbose` answers a row for each check (net/admin/health.h), with the same status.
AdminAnswer health_page(const AdminRequest& request, const AdminFacts& facts);

}  // namespace pawl

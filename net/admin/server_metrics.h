// SPDX-License-Identifier: Apache-2.0
// Metrics of the server as a whole, without a label `shard`: requests, process, disk, certificate.
//
// Units:  in the names, as Prometheus wants them.
// Limits: a series for each protocol, operation and error code that has occurred; 17 series of
//         times for each protocol and operation.
// Source: Prometheus, "Text-based format" and "Writing client libraries" (process metrics).
#pragma once

#include <string>

#include "net/admin/admin_page.h"

namespace pawl {

void append_server_metrics(std::string& text, const AdminFacts& facts);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The [[queue]], [[topic]], [[subscription]], [[schedule]] and [[message]] tables of a file, as
// rows of proto/declared/declared_rows.h. tools/DECLARED.md describes the keys.
//
// Two tables of one queue, topic, subscription or schedule must be equal; then they are one row.
//
// Errors: "FILE:LINE:COLUMN: ...": the key, the value, the allowed values, and for an unknown key
//         the nearest known one. A table with a fault gives no row, and the next one is read.
//         Values of attributes are checked later, by plan_declared().
// Owner:  values.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/declared/declared_rows.h"

namespace pawl {

struct DeclaredDefaults {
  std::string account;    // of rows without one
  std::string region;     // of ARNs
  bool messages = false;  // [[message]] is allowed: --dev
  bool schedules = true;  // [[schedule]] is allowed: no --strict-sqs
};

// The names of the tables.
std::span<const std::string_view> declared_tables();

struct DeclaredRead {
  DeclaredRows rows;
  std::vector<std::string> faults;
};
DeclaredRead read_declared_rows(std::string_view text, const std::string& path,
                                const DeclaredDefaults& defaults);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Finding: one line of `pawl doctor`.
//
// Units:  figures carry theirs in their name: p50_us, bytes_per_second.
// Owner:  values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace pawl {

struct Finding {
  enum class Status : std::uint8_t { ok, warn, fail };
  std::string name;
  Status status = Status::ok;
  std::string what;                  // the observation with its value
  std::string remedy;                // the advice; empty when ok
  std::optional<bool> allowed = {};  // of a condition of a shard; false and ok: not needed
  std::vector<std::pair<const char*, std::uint64_t>> figures = {};  // of a measurement
};

// The text before `what`, if the finding is of a condition.
constexpr std::string_view prefix_of(const Finding& finding) {
  if (!finding.allowed) return "";
  if (*finding.allowed) return "allowed: ";
  return finding.status == Finding::Status::ok ? "" : "not allowed: ";
}

constexpr std::string_view name_of(Finding::Status status) {
  constexpr std::string_view names[] = {"ok", "warn", "fail"};
  const auto index = static_cast<std::size_t>(status);
  CHECK(index < std::size(names), "status {}", index);
  return names[index];
}

}  // namespace pawl

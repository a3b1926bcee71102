// SPDX-License-Identifier: Apache-2.0
// Applies a RepairPlan, after a copy of all files that it overwrites. Each step is durable before
// the next one begins.
//
//   copy -> complete segments -> frames after the end -> frames in the gaps -> manifests
//
// The frames after the end come before those in the gaps, because they record the losses in the
// gaps: while a gap exists, an interrupted repair can run again and finds the same losses. It skips
// the steps that are done.
//
// Errors: a text with the failed operation, the path and the reason.
// Owner:  one thread, which holds the lock of the data directory.
#pragma once

#include <expected>
#include <string>

#include "wal/repair/plan.h"

namespace pawl {

// The copies of all overwritten files in DIR/repair-<n>/<log>/..., with the report in a README. The
// directory appears complete or not at all.
class RepairCopy {
 public:
  explicit RepairCopy(std::string data_dir) : data_dir_(std::move(data_dir)) {}

  std::expected<void, std::string> begin();
  // `log`: the name of the log's directory in the data directory.
  std::expected<void, std::string> add(const std::string& log, const RepairPlan& plan);
  std::expected<void, std::string> add_identity();   // the file PAWL
  std::expected<std::string, std::string> finish();  // returns the path of the directory

 private:
  std::string data_dir_;
  std::string final_, temporary_;
  std::string notes_;
};

std::expected<void, std::string> apply_repair(const RepairPlan& plan);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// RepairCopy: the copies of all files that a repair overwrites, in DIR/repair-<n>/<log>/..., with
// the report in a README. The directory appears complete or not at all.
//
//   begin() -> add() for each log, add_identity() -> finish()
//
// Errors: a text with the failed operation, the path and the reason.
// Owner:  one thread, which holds the lock of the data directory.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "wal/repair/plan.h"

namespace pawl {

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

}  // namespace pawl

// Does what a RepairPlan says: copies first what it overwrites, then every step durable before the next.
//
//   copy -> segments whole -> frames behind the end -> frames in the gaps -> manifests
//
// The frames behind the end come first, since they say what the gaps have lost: as long as a gap is there, a repair that was
// cut short is begun again, and finds the same; nothing is done twice that is done already.
//
// Errors: a text that says what failed, with the reason.
// Owner:  one thread, which holds the lock of the data directory.
#pragma once

#include <expected>
#include <string>

#include "tools/wal/repair.h"

namespace pawl {

// Copies of all that will be overwritten, DIR/repair-<n>/<log>/..., and of what was said. It is there as a whole or not.
class RepairCopy {
 public:
  explicit RepairCopy(std::string data_dir) : data_dir_(std::move(data_dir)) {}

  std::expected<void, std::string> begin();
  // `log`: the name of the log's directory in the data directory.
  std::expected<void, std::string> add(const std::string& log, const RepairPlan& plan);
  // The directory.
  std::expected<void, std::string> add_identity();  // the file PAWL
  std::expected<std::string, std::string> finish();

 private:
  std::string data_dir_;
  std::string final_, temporary_;
  std::string notes_;
};

std::expected<void, std::string> apply_repair(const RepairPlan& plan);

}  // namespace pawl

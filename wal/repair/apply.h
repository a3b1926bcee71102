// SPDX-License-Identifier: Apache-2.0
// Applies a RepairPlan. Each step is durable before the next one begins.
//
//   complete segments -> frames after the end -> frames in the gaps -> manifests
//
// The frames after the end come before those in the gaps, because they record the losses in the
// gaps: while a gap exists, an interrupted repair can run again and finds the same losses. It skips
// the steps that are done. wal/repair/repair_copy.h copies the files before.
//
// Errors: a text with the failed operation, the path and the reason.
// Owner:  one thread, which holds the lock of the data directory.
#pragma once

#include <expected>
#include <string>

#include "wal/repair/plan.h"

namespace pawl {

// `directory`: the path of `disk`, for error texts.
std::expected<void, std::string> apply_repair(const RepairPlan& plan, BlockingDisk& disk,
                                              const std::string& directory);

}  // namespace pawl

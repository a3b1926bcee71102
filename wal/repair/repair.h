// SPDX-License-Identifier: Apache-2.0
// Repair: turns a log that recovery refuses into one that it accepts, and keeps all whole data.
//
//   scan (whole frames) -> walk (chain, gaps) -> read (as recovery) -> append (missing records)
//
// Whole frames keep their place, because messages are known by their positions. A gap that was
// durable gets frames with its readable records (salvage.h), which close the chain. A gap
// that nothing proves durable is the torn end and is left alone. Frames of a new epoch follow the
// end: deletes of unreadable messages, and numbers that must not be assigned again. Lost manifests
// are rebuilt from the segments.
//
// If a delete record is lost, its message reappears: duplicates are preferred to loss.
//
// plan_repair() does not write; apply_repair() (apply.h) writes the plan.
//
// Limits: all planned writes are in memory; about 60 bytes per message.
// Errors: Errc::io, Errc::version. If a log cannot be repaired, `refused` has the reason.
// Owner:  values.
// Source: wal/FORMAT.md.
#pragma once

#include "core/base/result.h"
#include "wal/repair/plan.h"

namespace pawl {

Result<RepairPlan> plan_repair(const RepairRequest& request);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/repair.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "wal/log.h"
#include "wal/repair/frames.h"
#include "wal/repair/manifests.h"
#include "wal/repair/planner.h"

namespace pawl {
namespace {

// Plans a repair with the given manifest.
Result<RepairPlan> plan_with(const RepairRequest& request, const Manifest& manifest, bool made_anew,
                             bool doubtful) {
  RepairPlan plan(
      LogContent(request.disk, {manifest.stream, manifest.segment_bytes, manifest.extent_bytes}));
  if (auto opened = plan.content.open(); !opened) return std::unexpected(opened.error());
  auto frames = whole_frames(plan.content);
  if (!frames) return std::unexpected(frames.error());
  if (auto done =
          RepairPlanner(request, plan, manifest, made_anew, doubtful).run(std::move(*frames));
      !done)
    return std::unexpected(done.error());
  // Recovery reads appended frames because the manifest proves them; apply_repair() counts its
  // generation.
  CHECK(plan.manifest || plan.appended == UINT64_MAX, "frames at {} without a manifest",
        plan.appended);
  CHECK(!plan.manifest || plan.manifest->generation == manifest.generation, "generation {} of {}",
        plan.manifest->generation, manifest.generation);
  return plan;
}

// The plan that loses least, of all manifests that the segments allow. `older`: the whole manifest,
// if there is one.
Result<std::optional<RepairPlan>> plan_anew(const RepairRequest& request, const Manifest& older) {
  const std::uint64_t extent = std::min<std::uint64_t>(
      LogOptions{}.extent_bytes, request.segment_bytes & (~request.segment_bytes + 1));
  const Geometry geometry{request.stream, request.segment_bytes, extent};
  LogContent content(request.disk, geometry);
  if (auto opened = content.open(); !opened) return std::unexpected(opened.error());
  auto frames = whole_frames(content);
  if (!frames) return std::unexpected(frames.error());
  drop_stale(*frames, Manifest{});
  const auto likely = likely_manifests(content, *frames);
  if (!likely) return std::unexpected(likely.error());
  std::optional<RepairPlan> best;
  for (LikelyManifest guess : *likely) {
    guess.manifest.generation = older.generation;
    guess.manifest.durable = std::max(older.durable, older.clean);  // `older` still proves this
    auto plan = plan_with(request, guess.manifest, true, !guess.whole_checkpoint);
    if (!plan) return std::unexpected(plan.error());
    if (!best || !best->refused.empty() || (plan->refused.empty() && plan->lost < best->lost))
      best = std::move(*plan);
  }
  CHECK(best.has_value() == !likely->empty(), "no plan of {} manifests", likely->size());
  if (best)
    best->said.insert(
        best->said.begin(),
        fmt::format("MANIFEST.a and MANIFEST.b: made anew, with {}",
                    best->manifest && best->manifest->checkpoint != 0
                        ? fmt::format("the checkpoint at lsn {}", best->manifest->checkpoint)
                        : "no checkpoint"));
  return best;
}

}  // namespace

Result<RepairPlan> plan_repair(const RepairRequest& request) {
  const auto manifests = read_manifests(request.disk);
  if (!manifests) return std::unexpected(manifests.error());
  RepairPlan empty(LogContent(request.disk, {request.stream, request.segment_bytes, 0}));
  const LogAbsence absence = absence_of(manifests->newest, !segments_in(request.disk).empty(),
                                        request.stream, request.membership);
  if (absence == LogAbsence::another_log) {
    empty.refused =
        "its files are those of another log. Give the directories their names back, or restore "
        "this one from a copy; `pawl wal verify` says which log it is";
    return empty;
  }
  if (absence == LogAbsence::lost) {
    empty.log_lost = empty.records_lost = true;
    return empty;
  }
  if (manifests->newest && manifests->newest->epoch == 0) return empty;  // not completely made
  std::optional<RepairPlan> plan;
  if (manifests->newest) {
    auto made = plan_with(request, *manifests->newest, false, false);
    if (!made) return made;
    plan = std::move(*made);
    // The damaged manifest may be the newer one; then segments that the other needs may be reused.
    if (manifests->whole == 2 || plan->lost == 0) return std::move(*plan);
  }
  auto anew = plan_anew(request, manifests->newest.value_or(Manifest{}));
  if (!anew) return std::unexpected(anew.error());
  const bool better = *anew && (*anew)->refused.empty() &&
                      (!plan || !plan->refused.empty() || (*anew)->lost < plan->lost);
  if (better) return std::move(**anew);
  if (plan) return std::move(*plan);
  if (!segments_in(request.disk).empty())
    empty.refused = "neither a manifest nor a frame of this log is whole";
  return empty;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Inspect: starts a broker on the disks of a crash, and compares its deliveries with a Ledger.
//
// It receives from every queue until nothing comes any more. Before that it sends FIFO messages
// again, which must be duplicates. After it every queue must accept a new message with a new
// number.
//
// Owner:  one thread. An inspection changes the disks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/exhaustive/story_client.h"

namespace pawl::exhaustive {

using Disks = std::vector<std::unique_ptr<sim::SimDisk>>;

enum class Verdict : std::uint8_t {
  good,        // all required messages are there, and no others
  refused,     // it does not start, and reports why
  unreadable,  // it reports unreadable messages; all others are there
  wrong,
};

struct Inspection {
  Verdict verdict = Verdict::good;
  Errc refused = Errc::ok;
  std::string what;
};

Inspection inspect(const Scene& scene, const Ledger& ledger, const Disks& disks);
// Adds the messages of the inspection itself to the ledger, for another inspection `later`.
Inspection inspect_and_note(const Scene& scene, Ledger& ledger, const Disks& disks,
                            Duration later = {});

std::vector<sim::SimDisk*> pointers(const Disks& disks);
Disks new_disks(const Scene& scene);
Disks after_crash(const std::vector<sim::SimDisk*>& disks, sim::Crash kind, std::uint64_t seed);

}  // namespace pawl::exhaustive

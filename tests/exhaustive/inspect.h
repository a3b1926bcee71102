// Inspect: starts a broker on what is left of its disks, and compares what it hands out with a Ledger.
//
// Every queue is asked for all it has until nothing comes any more. What was sent to a FIFO queue is sent again before
// that, and must be taken for a duplicate; every queue must take a new message after it, with a new number.
//
// Owner:  one thread. The disks are used up.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/exhaustive/client.h"

namespace pawl::exhaustive {

using Disks = std::vector<std::unique_ptr<sim::SimDisk>>;

enum class Verdict : std::uint8_t {
  good,        // all that must be there is there, and nothing else
  refused,     // it does not start, and says why
  unreadable,  // it says that it cannot read some message; all others are there
  wrong,
};

struct Inspection {
  Verdict verdict = Verdict::good;
  Errc refused = Errc::ok;
  std::string what;
};

Inspection inspect(const Scene& scene, const Ledger& ledger, const Disks& disks);
// What was sent by the inspection itself is in the ledger behind it; it can be inspected `later` again.
Inspection inspect_and_note(const Scene& scene, Ledger& ledger, const Disks& disks,
                            Duration later = {});

std::vector<sim::SimDisk*> pointers(const Disks& disks);
Disks new_disks(const Scene& scene);
Disks after_crash(const std::vector<sim::SimDisk*>& disks, sim::Crash kind, std::uint64_t seed);

}  // namespace pawl::exhaustive

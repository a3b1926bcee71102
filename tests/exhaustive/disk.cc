// SPDX-License-Identifier: Apache-2.0
// The N-th operation of a disk fails, for every kind of operation and every N until none fails.
#include <fmt/core.h>

#include <array>
#include <cerrno>

#include "tests/exhaustive/inspect.h"
#include "tests/exhaustive/part.h"
#include "tests/exhaustive/stories.h"

namespace pawl::exhaustive {
namespace {

struct Failing {
  sim::IoKind kind{};
  std::string_view name;
  int error = 0;
  bool forever = false;
};

constexpr std::array failings{
    Failing{sim::IoKind::create, "create", EIO},
    Failing{sim::IoKind::create, "create-full", ENOSPC},
    Failing{sim::IoKind::create, "create-stays-full", ENOSPC, true},
    Failing{sim::IoKind::write, "write", EIO},
    Failing{sim::IoKind::write, "write-full", ENOSPC},
    Failing{sim::IoKind::write, "write-stays-full", ENOSPC, true},
    Failing{sim::IoKind::sync, "flush", EIO},
    Failing{sim::IoKind::sync, "flush-full", ENOSPC},
    Failing{sim::IoKind::sync_dir, "flush-names", EIO},
    Failing{sim::IoKind::rename, "rename", EIO},
    Failing{sim::IoKind::rename, "rename-full", ENOSPC},
    Failing{sim::IoKind::remove, "remove", EIO},
    Failing{sim::IoKind::read, "read", EIO},
    Failing{sim::IoKind::read, "read-stays", EIO, true},
    Failing{sim::IoKind::open, "open", EIO},
};

class Teller {
 public:
  Teller(Part& part, const Story& story, std::uint32_t shard, const Failing& failing)
      : part_(part), story_(story), shard_(shard), failing_(failing), scene_(scene_of(story, 1)) {}

  // False: no operation failed, because the story has at most `skip` of this kind.
  bool tell(std::uint64_t skip) {
    again_ = fmt::format("--story {} --seed {} --point {} --state {}", story_.name, shard_, skip,
                         failing_.name);
    part_.looking_at(again_);
    disks_ = new_disks(scene_);
    disks_[shard_]->fail(failing_.kind, failing_.error, skip, failing_.forever);
    Ledger ledger;
    std::string complaint;
    {
      StoryClient client(scene_, ledger, pointers(disks_), seen());
      if (client.start()) {
        story_.tell(client);
        client.wait();
      }
      complaint = client.complaint;
    }
    if (disks_[shard_]->stats().faults == 0) return false;
    part_.count();
    if (!complaint.empty()) part_.fail(again_, complaint);
    look(ledger, sim::Crash::process, 0);
    for (std::uint64_t luck = 1; luck <= 4; ++luck) look(ledger, sim::Crash::power, luck);
    return true;
  }

  // The same while a broker starts on the disks that the whole story left.
  bool start(std::uint64_t skip) {
    again_ = fmt::format("--story {} --seed {} --point {} --state start-{}", story_.name, shard_,
                         skip, failing_.name);
    part_.looking_at(again_);
    if (!told_) tell_whole();
    const Disks disks = after_crash(pointers(*told_), sim::Crash::power, skip + 1);
    disks[shard_]->fail(failing_.kind, failing_.error, skip, failing_.forever);
    Ledger ledger = ledger_;
    const Inspection first = inspect_and_note(scene_, ledger, disks);
    if (disks[shard_]->stats().faults == 0) return false;
    part_.count();
    if (first.verdict == Verdict::wrong && !is_clear(first.what)) part_.fail(again_, first.what);
    const Inspection second = inspect_and_note(
        scene_, ledger, healed(after_crash(pointers(disks), sim::Crash::power, skip)),
        seconds(100));
    if (second.verdict != Verdict::good) part_.fail(again_, second.what);
    return true;
  }

 private:
  std::vector<Disk*> seen() const {
    std::vector<Disk*> all;
    for (const auto& disk : disks_) all.push_back(disk.get());
    return all;
  }
  static Disks healed(Disks disks) {
    for (auto& disk : disks) disk->heal();
    return disks;
  }
  // True: the error is allowed: the log failed, or a full disk refuses messages.
  static bool is_clear(const std::string& what) {
    return what == "the log failed" || what.ends_with("takes no new message");
  }

  void tell_whole() {
    disks_ = new_disks(scene_);
    StoryClient client(scene_, ledger_, pointers(disks_), seen());
    if (client.start()) story_.tell(client);
    client.wait();
    told_ = &disks_;
  }

  void look(const Ledger& ledger, sim::Crash kind, std::uint64_t luck) {
    const Inspection found =
        inspect(scene_, ledger, healed(after_crash(pointers(disks_), kind, luck)));
    if (found.verdict != Verdict::good)
      part_.fail(again_, fmt::format("luck {}: {}", luck, found.what));
  }

  Part& part_;
  const Story& story_;
  std::uint32_t shard_;
  const Failing& failing_;
  Scene scene_;
  Disks disks_;
  Ledger ledger_;
  const Disks* told_ = nullptr;
  std::string again_;
};

bool wanted(const Settings& settings, const Story& story, std::uint32_t shard,
            const Failing& failing) {
  if (!settings.story.empty() && settings.story != story.name) return false;
  return !settings.one() || (settings.seed == shard && settings.state.ends_with(failing.name) &&
                             (settings.state == failing.name ||
                              settings.state == fmt::format("start-{}", failing.name)));
}

}  // namespace

void run_disk(Part& part) {
  const Settings& settings = part.settings();
  for (const Story& story : stories()) {
    for (std::uint32_t shard = 0; shard < story.shards; ++shard) {
      for (const Failing& failing : failings) {
        if (!wanted(settings, story, shard, failing)) continue;
        Teller running(part, story, shard, failing), starting(part, story, shard, failing);
        if (settings.one()) {
          if (settings.state == failing.name)
            running.tell(settings.point);
          else
            starting.start(settings.point);
          continue;
        }
        for (std::uint64_t skip = 0; !part.full() && running.tell(skip); skip += settings.stride) {
        }
        for (std::uint64_t skip = 0; !part.full() && starting.start(skip);
             skip += settings.stride) {
        }
      }
    }
  }
}

}  // namespace pawl::exhaustive

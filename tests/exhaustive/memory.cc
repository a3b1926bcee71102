// SPDX-License-Identifier: Apache-2.0
// The N-th allocation of the broker fails, for every N until none fails. Each N has its own
// process, which may end, but must leave disks on which nothing is missing.
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/exhaustive/allocations.h"
#include "tests/exhaustive/inspect.h"
#include "tests/exhaustive/part.h"
#include "tests/exhaustive/quiet_disk.h"
#include "tests/exhaustive/stories.h"

namespace pawl::exhaustive {
namespace {

constexpr unsigned seconds_max = 60;

enum Exit : int {
  exit_whole = 0,       // it continued as if no allocation had failed
  exit_none_fails = 1,  // no allocation failed: there are at most `skip`
  exit_ended = 2,       // std::terminate or a CHECK ended it, and the disks are good
  exit_wrong = 3,
};

// The test's state in the process that runs out of memory; disks and ledger allocate freely.
struct Told {
  Scene scene;
  Disks disks;
  Ledger ledger;
};
Told* told = nullptr;

void look_and_exit(int code) {
  allocations.counted = false;
  for (std::uint64_t luck = 0; luck < 3; ++luck) {
    const auto kind = luck == 0 ? sim::Crash::process : sim::Crash::power;
    const Inspection found =
        inspect(told->scene, told->ledger, after_crash(pointers(told->disks), kind, luck));
    if (found.verdict == Verdict::good) continue;
    fmt::print("  {}\n", found.what);
    code = exit_wrong;
  }
  std::fflush(stdout);
  std::_Exit(code);
}

void on_end(int) {
  signal(SIGABRT, SIG_DFL);
  look_and_exit(exit_ended);
}

// noexcept: callers must not catch exceptions of the broker.
[[noreturn]] void tell(const Story& story, std::uint64_t skip) noexcept {
  alarm(seconds_max);
  if (freopen("/dev/null", "w", stderr) == nullptr) std::_Exit(exit_wrong);
  Told here{.scene = scene_of(story, 1), .disks = {}, .ledger = {}};
  told = &here;
  here.disks = new_disks(here.scene);
  std::vector<std::unique_ptr<QuietDisk>> quiet;
  std::vector<Disk*> seen;
  for (auto& disk : here.disks)
    seen.push_back(quiet.emplace_back(std::make_unique<QuietDisk>(*disk)).get());
  signal(SIGABRT, on_end);
  allocations = {.counted = false, .left = skip, .seen = 0, .failed = false};
  StoryClient client(here.scene, here.ledger, pointers(here.disks), seen);
  if (client.start()) {
    story.tell(client);
    client.wait();
  }
  if (!client.complaint.empty()) {
    fmt::print("  {}\n", client.complaint);
    std::fflush(stdout);
    std::_Exit(exit_wrong);
  }
  if (!allocations.failed) std::_Exit(exit_none_fails);
  look_and_exit(exit_whole);
  std::_Exit(exit_wrong);
}

// False: no allocation failed.
bool tell_in_a_process(Part& part, const Story& story, std::uint64_t skip, std::uint64_t* ends) {
  const std::string again = fmt::format("--story {} --point {} --state m", story.name, skip);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) tell(story, skip);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == exit_none_fails) return false;
  part.count();
  if (WIFEXITED(status) && WEXITSTATUS(status) < exit_wrong) {
    ++ends[WEXITSTATUS(status)];
    return true;
  }
  part.fail(again, WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                       : fmt::format("exit {}", WEXITSTATUS(status)));
  return true;
}

}  // namespace

void run_memory(Part& part) {
  const Settings& settings = part.settings();
  std::uint64_t ends[exit_wrong] = {};
  for (const Story& story : stories()) {
    if (!settings.story.empty() && settings.story != story.name) continue;
    if (settings.one()) {
      tell_in_a_process(part, story, settings.point, ends);
      continue;
    }
    std::uint64_t skip = 0;
    while (!part.full() && tell_in_a_process(part, story, skip, ends)) skip += settings.stride;
  }
  part.detail = fmt::format("{} ended, {} went on", ends[exit_ended], ends[exit_whole]);
}

}  // namespace pawl::exhaustive

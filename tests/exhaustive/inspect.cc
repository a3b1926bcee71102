// SPDX-License-Identifier: Apache-2.0
#include "tests/exhaustive/inspect.h"

#include <fmt/core.h>

#include <utility>

namespace pawl::exhaustive {
namespace {

constexpr std::uint32_t receive_max = 256;
constexpr int rounds_max = 12;
constexpr Duration hidden_by = seconds(50);       // longer than an inspection
constexpr Duration after_crash_by = seconds(60);  // every visibility timeout of a story is over

class Inspector {
 public:
  Inspector(const Scene& scene, Ledger& ledger, const Disks& disks, Duration later)
      : ledger_(ledger),
        client_(scene, ledger_, pointers(disks), disks_of(disks),
                story_begin + after_crash_by + later) {}

  Inspection run() {
    if (!client_.start()) return {Verdict::refused, client_.refused, client_.refusal};
    std::string what = look();
    if (what.empty()) what = client_.complaint;
    if (what.empty() && client_.dead()) what = "the log failed";
    if (!what.empty()) return {Verdict::wrong, Errc::ok, std::move(what)};
    const bool damaged = client_.unreadable() > 0 || client_.broker().damaged() > 0;
    return {damaged ? Verdict::unreadable : Verdict::good, Errc::ok, {}};
  }

 private:
  static std::vector<Disk*> disks_of(const Disks& disks) {
    std::vector<Disk*> seen;
    for (const auto& disk : disks) seen.push_back(disk.get());
    return seen;
  }

  bool there(std::size_t queue) {
    return client_.broker().directory().find(account, ledger_.queues[queue].name) != nullptr;
  }

  std::string look() {
    for (std::size_t q = 0; q < ledger_.queues.size(); ++q) {
      const Ledger::Queue& queue = ledger_.queues[q];
      if (queue.made == Said::yes && queue.gone == Said::nothing && !there(q))
        return fmt::format("queue {} is lost", queue.name);
      if (queue.gone == Said::yes && there(q))
        return fmt::format("queue {} is gone and came back", queue.name);
    }
    send_again();
    drain();
    if (client_.dead()) return {};
    if (std::string wrong = ledger_.check(found_, client_.unreadable()); !wrong.empty())
      return wrong;
    return send_new();
  }

  void send_again() {
    const std::size_t sent = ledger_.messages.size();
    for (std::size_t i = 0; i < sent; ++i) {
      const Ledger::SentMessage& message = ledger_.messages[i];
      if (ledger_.queues[message.queue].fifo && there(message.queue) && !message.forgotten &&
          message.sent != Said::no)
        client_.send_again(i);
    }
    client_.wait();
  }

  void drain() {
    for (int round = 0; round < rounds_max; ++round) {
      const std::size_t before = found_.size();
      for (std::size_t q = 0; q < ledger_.queues.size(); ++q) {
        if (there(q)) client_.receive(q, receive_max, hidden_by);
      }
      client_.wait();
      for (const StoryClient::Held& held : client_.take())
        found_.push_back({held.queue, held.message});
      client_.rest();
      bool moves = false;  // a dead letter may have moved to a queue that was already drained
      for (const Ledger::Queue& queue : ledger_.queues) moves |= queue.goes_to != 0;
      if (found_.size() == before && (round > 0 || !moves)) return;
      if (!moves && round == 0 && found_.size() - before < receive_max) return;
    }
  }

  std::string send_new() {
    for (std::size_t q = 0; q < ledger_.queues.size(); ++q) {
      if (!there(q)) continue;
      const Seq before = std::exchange(ledger_.queues[q].newest, 0);
      client_.send(q, 1, 10, ledger_.queues[q].fifo ? "new" : "");
      client_.wait();
      if (client_.dead()) return {};
      if (ledger_.messages.back().sent != Said::yes)
        return fmt::format("queue {} takes no new message", ledger_.queues[q].name);
      if (ledger_.queues[q].newest <= before)
        return fmt::format("queue {} gives number {} again", ledger_.queues[q].name,
                           ledger_.queues[q].newest);
    }
    return {};
  }

  Ledger& ledger_;
  StoryClient client_;
  std::vector<Found> found_;
};

}  // namespace

Inspection inspect(const Scene& scene, const Ledger& ledger, const Disks& disks) {
  Ledger copy = ledger;
  return Inspector(scene, copy, disks, {}).run();
}

Inspection inspect_and_note(const Scene& scene, Ledger& ledger, const Disks& disks,
                            Duration later) {
  return Inspector(scene, ledger, disks, later).run();
}

std::vector<sim::SimDisk*> pointers(const Disks& disks) {
  std::vector<sim::SimDisk*> all;
  for (const auto& disk : disks) all.push_back(disk.get());
  return all;
}

Disks new_disks(const Scene& scene) {
  Disks disks;
  for (std::uint32_t i = 0; i < scene.shards; ++i) {
    disks.push_back(
        std::make_unique<sim::SimDisk>(sim::SimDiskOptions{.seed = sim::mix(scene.seed * 64 + i)}));
  }
  return disks;
}

Disks after_crash(const std::vector<sim::SimDisk*>& disks, sim::Crash kind, std::uint64_t seed) {
  Disks left;
  for (std::size_t i = 0; i < disks.size(); ++i)
    left.push_back(disks[i]->copy_after_crash(kind, sim::mix(seed + i)));
  return left;
}

}  // namespace pawl::exhaustive

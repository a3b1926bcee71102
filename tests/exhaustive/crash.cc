// SPDX-License-Identifier: Apache-2.0
// Every disk state that a power cut may leave, at every moment of every story.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <span>
#include <unordered_set>

#include "tests/exhaustive/inspect.h"
#include "tests/exhaustive/part.h"
#include "tests/exhaustive/power_cut.h"
#include "tests/exhaustive/stories.h"
#include "tests/sim/random.h"

namespace pawl::exhaustive {
namespace {

using Kept = sim::PowerCut::Kept;
using Visit = std::function<void(const Kept&)>;

constexpr std::size_t pieces_all_max = 10;  // up to this number, every subset is tried
constexpr int random_subsets = 32;
constexpr std::uint64_t nested_of =
    16;  // one state in so many has a second crash while it is opened
constexpr std::uint64_t nested_steps_max = 90;

// Calls `as` with subsets of `n` things: all of a few; otherwise prefixes, suffixes, single things
// and all but one.
void systematic(std::size_t n, const std::function<void(const Kept&)>& as) {
  if (n <= pieces_all_max) {
    for (std::uint64_t set = 0; set < std::uint64_t{1} << n; ++set) {
      Kept kept(n);
      for (std::size_t i = 0; i < n; ++i) kept[i] = set >> i & 1;
      as(kept);
    }
    return;
  }
  for (std::size_t i = 0; i <= n; ++i) {
    Kept first(n), last(n, 1);
    std::fill_n(first.begin(), i, std::uint8_t{1});
    std::fill_n(last.begin(), i, std::uint8_t{0});
    as(first);
    as(last);
    if (i == n) break;
    Kept alone(n), missing(n, 1);
    alone[i] = 1;
    missing[i] = 0;
    as(alone);
    as(missing);
  }
}

std::string hex(const Kept& kept) {
  std::string text = "s";
  for (std::size_t i = 0; i < kept.size(); i += 4) {
    unsigned digit = 0;
    for (std::size_t j = i; j < std::min(i + 4, kept.size()); ++j)
      digit |= static_cast<unsigned>(kept[j] != 0) << (j - i);
    text += fmt::format("{:x}", digit);
  }
  return text;
}

class Teller {
 public:
  Teller(Part& part, const Story& story, std::uint64_t seed,
         std::unordered_set<std::uint64_t>& states)
      : part_(part), story_(story), scene_(scene_of(story, seed)), states_(states) {}

  void tell() {
    disks_ = new_disks(scene_);
    std::vector<Disk*> seen;
    for (auto& disk : disks_) {
      seen.push_back(disk.get());
      disk->watch([this] { moment(); });
    }
    StoryClient client(scene_, ledger_, pointers(disks_), seen);
    client.after_turn = [this] { moment(); };
    if (!client.start()) return part_.fail(again(""), client.refusal);
    story_.tell(client);
    if (client.complaint.empty()) client.wait();
    if (!client.complaint.empty()) part_.fail(again(""), client.complaint);
    for (auto& disk : disks_) disk->watch({});
  }

 private:
  std::string again(const std::string& state) const {
    return fmt::format("--story {} --seed {} --point {} --state {}", story_.name, scene_.seed,
                       point_, state);
  }

  void moment() {
    ++point_;
    if (part_.full()) return;
    const Settings& settings = part_.settings();
    if (settings.one() && settings.point != point_) return;
    cuts_.clear();
    std::uint64_t key = sim::mix(ledger_.version);
    for (const auto& disk : disks_) key = sim::mix(key ^ cuts_.emplace_back(*disk).hash());
    if (!moments_.insert(key).second) return;
    if (settings.one()) return look_at_named();
    pieces_ = 0;
    for (const sim::PowerCut& cut : cuts_) pieces_ += cut.pieces();
    systematic(pieces_, [this](const Kept& kept) { look_at(kept); });
    if (pieces_ <= pieces_all_max) return;
    by_blocks();
    sim::Random random(key);
    for (int i = 0; i < random_subsets; ++i) {
      Kept kept(pieces_);
      for (std::uint8_t& one : kept) one = random.chance(1, 2);
      look_at(kept);
    }
  }

  // Subsets of whole blocks, as a disk with 4096-byte sectors tears writes.
  void by_blocks() {
    std::size_t blocks = 0;
    for (const sim::PowerCut& cut : cuts_) blocks += cut.blocks();
    systematic(blocks, [this](const Kept& of_blocks) {
      Kept kept;
      std::size_t before = 0;
      for (const sim::PowerCut& cut : cuts_) {
        for (std::size_t i = 0; i < cut.pieces(); ++i)
          kept.push_back(of_blocks[before + cut.block(i)]);
        before += cut.blocks();
      }
      look_at(kept);
    });
  }

  void look_at_named() {
    const std::string& text = part_.settings().state;
    const bool nested = text.ends_with("+");
    std::size_t n = 0;
    for (const sim::PowerCut& cut : cuts_) n += cut.pieces();
    Kept kept(n);
    for (std::size_t i = 0; i < n && 1 + i / 4 < text.size(); ++i) {
      const char digit = text[1 + i / 4];
      kept[i] = (digit <= '9' ? digit - '0' : digit - 'a' + 10) >> (i % 4) & 1;
    }
    pieces_ = n;
    const auto [disks, hash] = cut_power(kept);
    part_.count();
    if (nested) return crash_again(kept, hash);
    const Inspection found = inspect(scene_, ledger_, disks);
    if (found.verdict != Verdict::good) part_.fail(again(text), found.what);
  }

  struct Left {
    Disks disks;
    std::uint64_t hash = 0;
  };
  Left cut_power(std::span<const std::uint8_t> kept) const {
    Left left;
    for (const sim::PowerCut& cut : cuts_) {
      auto outcome = cut.outcome(kept.first(cut.pieces()));
      kept = kept.subspan(cut.pieces());
      left.hash = sim::mix(left.hash ^ outcome.hash);
      left.disks.push_back(std::move(outcome.disk));
    }
    return left;
  }

  void look_at(const Kept& kept) {
    if (part_.full()) return;
    const Left left = cut_power(kept);
    // A new acknowledgement makes a known disk state worth another inspection, but it counts once.
    if (!asked_.insert(sim::mix(left.hash ^ sim::mix(ledger_.version))).second) return;
    if (states_.insert(left.hash).second) part_.count();
    const std::string state = hex(kept);
    part_.looking_at(again(state));
    const Inspection found = inspect(scene_, ledger_, left.disks);
    if (found.verdict != Verdict::good) part_.fail(again(state), found.what);
    if (left.hash % nested_of == 0) crash_again(kept, left.hash);
  }

  // The power fails again while the broker starts, or in its first turns.
  void crash_again(const Kept& kept, std::uint64_t hash) {
    const std::string state = hex(kept) + "+";
    part_.looking_at(again(state));
    const Left left = cut_power(kept);
    const auto disks = pointers(left.disks);
    std::vector<Disk*> seen(disks.begin(), disks.end());
    for (sim::SimDisk* disk : disks) disk->cut_power_after(1 + (hash >> 8) % nested_steps_max);
    {
      Ledger ledger = ledger_;
      StoryClient client(scene_, ledger, disks, seen, story_begin + seconds(60));
      const bool up = client.start();
      if (!up && std::ranges::all_of(disks, [](auto* disk) { return disk->has_power(); }))
        return part_.fail(again(state), client.refusal);
      if (up) client.rest();
    }
    const Inspection found = inspect(scene_, ledger_, after_crash(disks, sim::Crash::power, hash));
    if (found.verdict != Verdict::good) part_.fail(again(state), found.what);
  }

  Part& part_;
  const Story& story_;
  Scene scene_;
  Ledger ledger_;
  Disks disks_;
  std::uint64_t point_ = 0;
  std::vector<sim::PowerCut> cuts_;
  std::size_t pieces_ = 0;
  std::unordered_set<std::uint64_t> moments_, asked_;
  std::unordered_set<std::uint64_t>& states_;
};

}  // namespace

void run_crash(Part& part) {
  const Settings& settings = part.settings();
  std::unordered_set<std::uint64_t> states;
  std::uint64_t first = settings.seed == 0 ? 1 : settings.seed;
  std::uint64_t told = 0;
  for (std::uint64_t seed = first; !part.full() && seed - first < settings.seeds; ++seed) {
    for (const Story& story : stories()) {
      if (!settings.story.empty() && settings.story != story.name) continue;
      if (part.full()) break;
      Teller(part, story, seed, states).tell();
      ++told;
    }
    if (settings.one()) break;
  }
  part.detail = fmt::format("{} stories told", told);
}

}  // namespace pawl::exhaustive

// SPDX-License-Identifier: Apache-2.0
// Every bit of segments and manifests flipped, one at a time. Segments are also cut at each 512
// bytes, and each block is zeroed, swapped with its neighbour, or replaced by the other segment's.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "tests/exhaustive/inspect.h"
#include "tests/exhaustive/part.h"
#include "tests/exhaustive/power_cut.h"
#include "tests/exhaustive/stories.h"
#include "tests/wal/memory_disk.h"
#include "wal/format/format.h"
#include "wal/repair/walk.h"

namespace pawl::exhaustive {
namespace {

constexpr ShardId zero{0};
constexpr Duration hidden = seconds(20);

// Writes records of all kinds: older ones, whose bodies alone are needed, in segment 0; a
// checkpoint and later records in segment 1.
void of_all_kinds(StoryClient& c) {
  const auto q = c.make_queue("q", zero);
  const auto gone = c.make_queue("gone", zero);
  const auto target = c.make_queue("target", zero);
  const auto dead_letters = c.make_queue("letters", zero,
                                         {
                                             {Attribute::max_receive_count,  1,  {}            },
                                             {Attribute::dead_letter_target, -1, c.text(target)}
  });
  const auto fifo = c.make_queue("f", zero,
                                 {
                                     {Attribute::fifo_queue, 1, {}}
  });
  const auto scratch = c.make_queue("scratch", zero);
  c.ledger().link(dead_letters, target);
  c.ledger().link(dead_letters, q);
  c.ledger().link(target, q);
  for (int round = 0; round < 2; ++round) {
    c.send(q, 5, 700);
    c.send(fifo, 3, 300, "a");
    c.send(fifo, 2, 300, "b");
    c.send(dead_letters, 2, 200);
    c.send(gone, 2, 100);
    c.wait();
    c.receive(fifo, 1, hidden);
    c.wait();
    c.delete_messages(c.take());
    c.receive(dead_letters, 2, seconds(0));
    c.wait();
    c.take();
    c.receive(dead_letters, 1, hidden);
    c.wait();
    c.take();
    c.rest();
    if (round == 0) {
      c.purge(gone);
      c.wait();
    } else {
      c.start_move(target, c.text(q));
      c.wait();
      c.rest();
      c.delete_queue(gone);
      c.wait();
    }
    for (int i = 0; i < (round == 0 ? 11 : 5); ++i) {
      c.send(scratch, 2, 7000);
      c.send(q, 1, 500);
      c.wait();
      c.receive(scratch, 2, hidden);
      c.wait();
      c.change(c.take(), seconds(0));
      c.receive(scratch, 2, hidden);
      c.wait();
      c.delete_messages(c.take());
      c.wait();
    }
  }
  c.pass(seconds(1));
  c.stop();
}

struct Damage {
  std::uint64_t detected = 0, harmless = 0;
};

class Judge {
 public:
  explicit Judge(Part& part) : part_(part) {
    scene_.segment_bytes = 256 << 10;
    scene_.extent_bytes = 64 << 10;
    scene_.memory_max = 1 << 20;
    disks_ = new_disks(scene_);
    StoryClient client(scene_, ledger_, pointers(disks_), {disks_[0].get()});
    CHECK(client.start());
    of_all_kinds(client);
    CHECK(client.complaint.empty(), "{}", client.complaint);
    cut_.emplace_back(*disks_[0]);
    CHECK(cut_[0].pieces() == 0, "the log was closed");
    Disks whole;
    whole.push_back(cut_[0].outcome({}).disk);
    const Inspection found = inspect(scene_, ledger_, whole);
    CHECK(found.verdict == Verdict::good, "{}", found.what);
  }

  std::uint64_t bytes(const std::string& file) const {
    return disks_[0]->exists(file) ? disks_[0]->content(file).size() : 0;
  }
  const sim::SimDisk& disk() const { return *disks_[0]; }

  template <typename Harm>
  void judge(const std::string& again, Damage& damage, Harm harm) {
    part_.looking_at(again);
    Disks disks;
    disks.push_back(cut_[0].outcome({}).disk);
    harm(*disks[0]);
    const Inspection found = inspect(scene_, ledger_, disks);
    part_.count();
    if (found.verdict == Verdict::good) {
      ++damage.harmless;
    } else if (found.verdict == Verdict::unreadable ||
               (found.verdict == Verdict::refused && found.refused == Errc::corrupt)) {
      ++damage.detected;
    } else {
      part_.fail(again, found.what);
    }
  }

 private:
  Part& part_;
  Scene scene_;
  Ledger ledger_;
  Disks disks_;
  std::vector<sim::PowerCut> cut_;
};

// A copy of the files of a disk, for the walk of `pawl wal verify`.
class Walked {
 public:
  explicit Walked(sim::SimDisk& disk) {
    const auto files = disk.list();
    CHECK(files.has_value());
    for (const FileInfo& info : files.value())
      copy_.files[info.name] = std::make_shared<std::vector<std::byte>>(disk.content(info.name));
  }
  bool finds() {
    const auto report = walk_log(copy_);
    return !report || !report->damage.empty() || !report->missed.empty();
  }
  void flip_bit(const std::string& file, std::uint64_t at, unsigned bit) {
    copy_.content(file).at(at) ^= std::byte(1u << bit);
  }

 private:
  MemoryDisk copy_;
};

std::string again(const std::string& file, std::string_view what, std::uint64_t at) {
  return fmt::format("--story {} --state {} --point {}", file, what, at);
}

class Files {
 public:
  Files(Part& part, Judge& judge, std::string file)
      : part_(part), judge_(judge), file_(std::move(file)), bytes_(judge.bytes(file_)) {}

  void flip_all() {
    each("bit", bytes_ * 8, part_.settings().stride, [&](sim::SimDisk& disk, std::uint64_t i) {
      disk.flip_bit(file_, i / 8, static_cast<unsigned>(i % 8));
    });
  }
  void cut_all() {
    each("cut", bytes_ / 512, 1,
         [&](sim::SimDisk& disk, std::uint64_t i) { disk.truncate(file_, i * 512); });
  }
  void zero_all() {
    each("zero", bytes_ / block_bytes, 1, [&](sim::SimDisk& disk, std::uint64_t i) {
      disk.overwrite(file_, i * block_bytes, std::array<std::byte, block_bytes>{});
    });
  }
  void swap_all() {
    each("swap", bytes_ / block_bytes - 1, 1, [&](sim::SimDisk& disk, std::uint64_t i) {
      const auto old = disk.content(file_);
      const std::span all(old);
      disk.overwrite(file_, i * block_bytes, all.subspan((i + 1) * block_bytes, block_bytes));
      disk.overwrite(file_, (i + 1) * block_bytes, all.subspan(i * block_bytes, block_bytes));
    });
  }
  // Replaces blocks by blocks of another segment, as if a write into a reused file was lost.
  void stale_all(const std::string& older) {
    const auto old = judge_.disk().content(older);
    each("stale", bytes_ / block_bytes, 1, [&](sim::SimDisk& disk, std::uint64_t i) {
      disk.overwrite(file_, i * block_bytes, std::span(old).subspan(i * block_bytes, block_bytes));
    });
  }
  // Flips one bit of every byte, or of every (stride / 8)-th, and reports how many `wal verify`
  // finds.
  std::string walk(sim::SimDisk& disk) {
    Walked walked(disk);
    CHECK(!walked.finds(), "damage in a log that has none");
    std::uint64_t found = 0, all = 0;
    for (std::uint64_t at = 0; at < bytes_;
         at += std::max<std::uint64_t>(part_.settings().stride / 8, 1)) {
      walked.flip_bit(file_, at, static_cast<unsigned>(at % 8));
      found += walked.finds();
      ++all;
      walked.flip_bit(file_, at, static_cast<unsigned>(at % 8));
    }
    return fmt::format("{} {}: wal verify finds {} of {}", file_, "walk", found, all);
  }
  std::string said;

 private:
  template <typename Harm>
  void each(std::string_view what, std::uint64_t number, std::uint64_t stride, Harm harm) {
    const Settings& settings = part_.settings();
    if (settings.one() && settings.state != what) return;
    Damage damage;
    const std::uint64_t failed = part_.failures();
    for (std::uint64_t i = settings.one()  ? settings.point
                           : what == "bit" ? settings.first
                                           : 0;
         i < number && !part_.full(); i += stride) {
      judge_.judge(again(file_, what, i), damage, [&](sim::SimDisk& disk) { harm(disk, i); });
      if (settings.one()) break;
    }
    said += fmt::format("\n  {} {}: {} detected, {} harmless, {} wrong", file_, what,
                        damage.detected, damage.harmless, part_.failures() - failed);
  }

  Part& part_;
  Judge& judge_;
  std::string file_;
  std::uint64_t bytes_;
};

}  // namespace

void run_bits(Part& part) {
  const Settings& settings = part.settings();
  Judge judge(part);
  const std::string older = segment_name(0), newer = segment_name(1);
  for (const std::string& file :
       {newer, older, std::string(manifest_names[0]), std::string(manifest_names[1])}) {
    if (!settings.story.empty() && settings.story != file) continue;
    Files files(part, judge, file);
    files.flip_all();
    const bool segment = file == newer || file == older;
    if (segment) {
      files.cut_all();
      files.zero_all();
      files.swap_all();
      files.stale_all(file == newer ? older : newer);
    }
    part.detail += files.said;
    if (segment && settings.walk && !settings.one())
      part.detail += "\n  " + files.walk(const_cast<sim::SimDisk&>(judge.disk()));
  }
}

}  // namespace pawl::exhaustive

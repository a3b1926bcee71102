// SPDX-License-Identifier: Apache-2.0
// A fixture for tests of wal/repair: a log on a memory disk, damage to it, and its repair.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/wal/recovery_fixture.h"
#include "wal/repair/apply.h"
#include "wal/repair/content.h"
#include "wal/repair/repair.h"

namespace pawl {

class RepairTest : public Recover {
 protected:
  Geometry geometry() const {
    return {options.stream, options.segment_bytes, options.extent_bytes};
  }
  // The content of the closed log.
  LogContent content() {
    log.reset();
    LogContent content(*disk, geometry());
    EXPECT_TRUE(content.open());
    return content;
  }
  RepairRequest request() {
    return {.disk = *disk,
            .shard = ShardId{1},
            .stream = options.stream,
            .segment_bytes = options.segment_bytes,
            .queues = std::set<QueueId>{test_queue}};
  }
  RepairPlan plan() {
    log.reset();
    auto plan = plan_repair(request());
    EXPECT_TRUE(plan);
    EXPECT_EQ(plan->refused, "");
    return std::move(*plan);
  }
  void repair() {
    const RepairPlan planned = plan();
    const auto applied = apply_repair(planned, *disk, "DIR");
    EXPECT_TRUE(applied) << applied.error();
  }
  // Whether `part` is in a line of the report.
  static bool says(const RepairPlan& plan, std::string_view part) {
    return std::ranges::any_of(
        plan.said, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }
  // Writes a checkpoint in one slice, with the next queue id as the first slice of a shard has it.
  void checkpoint_of_all() {
    auto config = std::make_shared<QueueConfig>();
    config->id = test_queue;
    config->name = "q";
    CheckpointSlice slice;
    slice.configs.push_back({config, false});
    slice.heads = {
        {QueueId::none, raw(test_queue) + 1},
        {test_queue,    1000               }
    };
    IndexEntriesRecord entries{.queue = test_queue, .entries = {}};
    for (const auto& [seq, position] : alive) entries.entries.push_back({seq, position});
    slice.records.emplace_back(std::move(entries));
    log->begin_checkpoint();
    log->append(slice, now);
    log->end_checkpoint();
  }
  // A log with a torn fourth frame, at frame(3), that no manifest proves durable.
  void fill_with_torn_end() {
    fill(3);
    const Files before = keep();
    send(4, body_of(4, 40));
    log.reset();
    for (const std::string_view name : manifest_names)
      disk->content(std::string(name)) = before.at(std::string(name));
    damage(first_segment, frame(3) + 100);
  }
  // Fills segments 0 and 1, and begins the log of a later recovery with a checkpoint in segment 2
  // or later. Returns the number of messages.
  Seq fill_segments() {
    constexpr Seq n = 30;
    fill(n, 5000);
    checkpoint_of_all();
    settle();
    for (Seq seq = n + 1; seq <= n + 3; ++seq) send(seq, body_of(seq, 5000));
    return n + 3;
  }
};

// A directory that is deleted with its content.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = std::filesystem::temp_directory_path() / "pawl-repair-test-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  void write(const std::string& name, std::string_view text) const {
    const std::filesystem::path file = path_ + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

}  // namespace pawl

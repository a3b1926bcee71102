// SPDX-License-Identifier: Apache-2.0
// The log on a disk that loses, tears and reorders writes: random turns, with a crash at any I/O
// step. Recovery must find exactly the records up to some point at or after the last
// acknowledgement.
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/random.h"
#include "tests/sim/sim_disk.h"
#include "tests/wal/log_fixture.h"

namespace pawl {
namespace {

class CrashingLog {
 public:
  explicit CrashingLog(std::uint64_t seed)
      : random_(sim::Random(seed).split("world")), seed_(seed) {
    sim::SimDiskOptions disk;
    disk.seed = seed;
    options_.small_segments = random_.chance(1, 2);
    if (random_.chance(1, 4)) disk.capacity = (4 + random_.below(6)) * options_.segment_bytes;
    disk_ = std::make_unique<sim::SimDisk>(disk);
    options_.lazy_max = Duration{static_cast<std::int64_t>(random_.below(20))};
  }

  void run() {
    reopen();
    for (int life = 0; life < 6 && !testing::Test::HasFatalFailure(); ++life) {
      const std::uint64_t turns = random_.below(150);
      if (random_.chance(1, 2)) disk_->cut_power_after(random_.below(400));
      for (std::uint64_t i = 0; i < turns && !log_->failure(); ++i) turn();
      if (random_.chance(1, 8)) close();
      crash();
      reopen();
    }
  }

  std::uint64_t recovered = 0;

 private:
  struct LoggedMessage {
    std::string body;
    LogPos position = 0;
    Lsn sent = 0;     // end of the send record
    Lsn deleted = 0;  // end of the delete record; 0: not deleted
  };

  Lsn append() {
    const Lsn end = log_->append(effects_, now_);
    for (const LogPos position : effects_.freed) log_->release(position);
    effects_.clear();
    return end;
  }

  void send() {
    const std::size_t bytes = random_.chance(1, 4) ? random_.below(9000) : random_.below(300);
    if (log_->check_free_space(bytes) != Errc::ok) return;
    Content content;
    const Seq seq = next_seq_++;
    LoggedMessage& message = messages_[seq];
    message.body =
        "message " + std::to_string(seq) + std::string(bytes, static_cast<char>('a' + seq % 26));
    content.body = message.body;
    Effects& e = effects_;
    e.sends.push_back({test_queue, seq, now_, now_, &content});
    const Lsn end = log_->append(e, now_);
    message.position = e.sends[0].position;
    message.sent = end;
    e.clear();
  }

  void delete_message() {
    const auto it = messages_.lower_bound(random_.below(next_seq_ + 1));
    if (it == messages_.end() || it->second.deleted != 0) return;
    effects_.deletes.push_back({test_queue, it->first});
    effects_.freed.push_back(it->second.position);
    it->second.deleted = append();
  }

  void receive() {
    effects_.receives.push_back({test_queue, random_.below(next_seq_ + 1), 1, 1, now_, now_, now_});
    append();
  }

  // Appends a few messages of a checkpoint, if one is due.
  void slice() {
    if (!slicing_ && !log_->wants_checkpoint()) return;
    if (!std::exchange(slicing_, true)) {
      log_->begin_checkpoint();
      next_of_slice_ = 0;
    }
    CheckpointSlice slice;
    slice.heads.push_back({test_queue, next_seq_});
    IndexEntriesRecord index_entries{.queue = test_queue, .entries = {}};
    auto it = messages_.lower_bound(next_of_slice_);
    for (; it != messages_.end() && index_entries.entries.size() < 5; ++it) {
      if (it->second.deleted == 0)
        index_entries.entries.push_back({it->first, it->second.position});
    }
    slicing_ = it != messages_.end();
    if (slicing_) next_of_slice_ = it->first;
    slice.records.emplace_back(std::move(index_entries));
    log_->append(slice, now_);
    if (!slicing_) log_->end_checkpoint();
  }

  void turn() {
    now_ = now_ + Duration{static_cast<std::int64_t>(random_.below(3))};
    for (std::uint64_t n = random_.below(4); n > 0; --n) {
      const std::uint64_t what = random_.below(10);
      what < 4 ? send() : what < 8 ? delete_message() : receive();
    }
    slice();
    log_->pump(now_, time_us_, random_.chance(1, 2));
    time_us_ += random_.below(3000);
    disk_->step(time_us_);
  }

  void close() {
    log_->flush_all();
    for (int i = 0; i < 200 && !log_->failure(); ++i) {
      if (log_->close_clean()) return;
      log_->pump(now_, time_us_, true);
      disk_->step(time_us_ += 10'000);
      now_ = now_ + Duration{10};
    }
  }

  void crash() {
    acknowledged_ = log_->durable();
    const auto kind = random_.chance(1, 3) ? sim::Crash::process : sim::Crash::power;
    auto after = disk_->copy_after_crash(kind, random_.below(UINT64_MAX));
    log_.reset();
    disk_ = std::move(after);
  }

  // Opens the log, sometimes with another crash during recovery, and compares the messages found.
  void reopen() {
    for (;;) {
      if (random_.chance(1, 3)) disk_->cut_power_after(random_.below(60));
      Recovered found;
      RecoveryReport report;
      std::string complaint;
      auto opened = open_log(*disk_, options_, found, report, complaint);
      Result<void> loaded;
      if (opened) loaded = load(**opened, found, complaint);
      if (opened && loaded) {
        log_ = std::move(*opened);
        slicing_ = false;
        compare(found);
        return;
      }
      const Error& error = opened ? loaded.error() : opened.error();
      ASSERT_TRUE(!disk_->has_power() || error.sys == ENOSPC)
          << "seed " << seed_ << ": " << complaint;
      if (opened) opened->reset();
      disk_->set_capacity(UINT64_MAX);
      disk_ = disk_->copy_after_crash(sim::Crash::power, random_.below(UINT64_MAX));
    }
  }

  Result<void> load(Log& log, Recovered& found, std::string& complaint) {
    if (auto all = log.check_segments(complaint); !all) return all;
    for (auto& [key, message] : found.messages) {
      const auto body = read_body(log, message.position, [&] {
        log.pump(now_, time_us_, true);
        disk_->step(time_us_ += 10'000);
      });
      if (!body) return fail(Errc::io, "reading a body");
      message.body = *body;
    }
    return {};
  }

  void compare(const Recovered& found) {
    const Lsn end = log_->durable();
    ASSERT_GE(end, acknowledged_) << "seed " << seed_ << ": acknowledged records are gone";
    for (auto it = messages_.begin(); it != messages_.end();) {
      LoggedMessage& message = it->second;
      if (message.deleted > end) message.deleted = 0;
      it = message.sent > end || message.deleted != 0 ? messages_.erase(it) : std::next(it);
    }
    ASSERT_EQ(found.messages.size(), messages_.size()) << "seed " << seed_;
    for (const auto& [seq, message] : messages_) {
      const auto it = found.messages.find({raw(test_queue), seq});
      ASSERT_TRUE(it != found.messages.end()) << "seed " << seed_ << ": message " << seq;
      ASSERT_EQ(it->second.body, message.body) << "seed " << seed_;
      ASSERT_EQ(it->second.position, message.position) << "seed " << seed_;
    }
    recovered += messages_.size();
    acknowledged_ = end;
  }

  sim::Random random_;
  std::uint64_t seed_;
  LogOptions options_ = small_options();
  std::unique_ptr<sim::SimDisk> disk_;
  std::unique_ptr<Log> log_;
  Effects effects_;
  std::map<Seq, LoggedMessage> messages_;
  Seq next_seq_ = 1;
  bool slicing_ = false;
  Seq next_of_slice_ = 0;
  Lsn acknowledged_ = 0;
  Instant now_{1'700'000'000'000};
  std::uint64_t time_us_ = 0;
};

TEST(Crash, WhatIsAcknowledgedComesBackAndNothingElseDoes) {
  std::uint64_t recovered = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CrashingLog world(seed);
    world.run();
    if (HasFatalFailure()) return;
    recovered += world.recovered;
  }
  EXPECT_GT(recovered, 5'000u) << "the worlds were too empty to prove anything";
}

}  // namespace
}  // namespace pawl

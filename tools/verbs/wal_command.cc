// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "core/queue/queue_config.h"
#include "net/server/absent_log.h"
#include "net/server/data_dir.h"
#include "tools/commands.h"
#include "tools/verbs/wal_repair_command.h"
#include "wal/format/records.h"
#include "wal/repair/content.h"
#include "wal/repair/directory_disk.h"
#include "wal/repair/manifests.h"
#include "wal/repair/walk.h"

namespace pawl {
namespace {

// Prints one line per record.
class Printer final : public RecordSink {
 public:
  void send(const StoredMessage& message, std::size_t) override {
    fmt::print(
        "  send    queue {} seq {} body {} B attributes {} B sent {}{}{}{}{}{}{}\n",
        raw(message.queue), message.seq, message.content.body.size(),
        message.content.attributes.size(), message.sent.ms,
        message.deliver_at == message.sent ? ""
                                           : fmt::format(" deliver at {}", message.deliver_at.ms),
        message.time_to_live.ms == 0 ? ""
                                     : fmt::format(" time to live {}", message.time_to_live.ms),
        message.carried.from.seq == 0
            ? ""
            : fmt::format(" from shard {} queue {} seq {}", raw(message.carried.from.shard),
                          raw(message.carried.from.queue), message.carried.from.seq),
        message.producer.id == 0 ? ""
                                 : fmt::format(" producer {:016x} sequence {}", message.producer.id,
                                               message.producer.sequence),
        message.fire.schedule == QueueId::none
            ? ""
            : fmt::format(" schedule {} fire {}", raw(message.fire.schedule), message.fire.at.ms),
        message.relocated ? " relocated" : "");
  }
  void receive(const ReceiveRecord& record) override {
    fmt::print("  receive queue {} seq {} count {} hidden until {}{}{}\n", raw(record.queue),
               record.seq, record.receive_count, record.deadline.ms,
               record.cancelled ? " cancelled" : "", record.expired ? " expired" : "");
  }
  void delete_message(const DeleteRecord& record) override {
    fmt::print("  delete  queue {} seq {}\n", raw(record.queue), record.seq);
  }
  void purge(const PurgeRecord& record) override {
    fmt::print("  purge   queue {} below {}\n", raw(record.queue), record.below);
  }
  void config(const ConfigRecord& record) override {
    fmt::print("  config  queue {} {}{}\n", raw(record.config->id), record.config->name,
               record.gone ? " gone" : "");
  }
  void row(const RowRecord& record) override {
    fmt::print("  row     topic {} number {}{}\n", raw(record.topic), record.number,
               record.text.empty() ? " gone" : fmt::format(" {} B", record.text.size()));
  }
  void head(const HeadRecord& record) override {
    fmt::print("  head    queue {} {} {}\n", raw(record.queue),
               record.reserved ? "reserved below" : "next", record.next_seq);
  }
  void task(const TaskRecord& record) override {
    fmt::print("  task    queue {} task {} moved {} of {} status {}\n", raw(record.task.source),
               record.task.number, record.task.moved, record.task.to_move,
               static_cast<int>(record.task.status));
  }
  void replay(const ReplayRecord& record) override {
    fmt::print(
        "  replay  queue {} task {} sent {} at {} status {}\n", raw(record.task.source),
        record.task.number, record.task.sent, record.task.position,
        record.progress ? "as before" : fmt::format("{}", static_cast<int>(record.task.status)));
  }
  void forget_transfer(const ForgetTransferRecord& record) override {
    fmt::print("  forget  shard {} queue {} seq {}\n", raw(record.from.shard),
               raw(record.from.queue), record.from.seq);
  }
  void number(const NumberRecord& record) override {
    fmt::print("  number  topic {} seq {} at {}\n", raw(record.topic), record.seq, record.sent.ms);
  }
  void checkpoint(const CheckpointRecord& record) override {
    std::visit([](const auto& part) { print(part); }, record);
  }
  void segment(const SegmentRecord& record) override {
    fmt::print("  segment {} sends {} bytes {}\n", record.number, record.sends, record.bytes);
  }

 private:
  static void print(const IndexEntriesRecord& record) {
    fmt::print("  index   queue {} messages {} from seq {}\n", raw(record.queue),
               record.entries.size(), record.entries.empty() ? 0 : record.entries.front().seq);
  }
  static void print(const TrackedMessagesRecord& record) {
    for (const TrackedMessagesRecord::Entry& entry : record.entries) {
      fmt::print("  state   queue {} seq {} count {} hidden until {}{}\n", raw(record.queue),
                 entry.seq, entry.receive_count, entry.deadline.ms,
                 entry.expired ? " expired" : "");
    }
  }
  static void print(const TimesRecord& record) {
    fmt::print("  times   queue {} buckets {} {} {}\n", raw(record.queue), record.buckets.size(),
               record.ends ? "ends of times to live" : "arrivals", record.aged.size());
  }
  static void print(const DedupRecord& record) {
    fmt::print("  dedup   queue {} sends {}\n", raw(record.queue), record.entries.size());
  }
  static void print(const ProducersRecord& record) {
    for (const Producers::Entry& entry : record.entries)
      fmt::print("  producer queue {} id {:016x} floor {} accepted {} to {} seq {} sent {}\n",
                 raw(record.queue), entry.id, entry.floor, entry.run.first, entry.run.end,
                 entry.run.seq, entry.sent.ms);
  }
  static void print(const FiresRecord& record) {
    for (const Fires::Entry& entry : record.entries)
      fmt::print("  fires   queue {} schedule {} at {} seq {}\n", raw(record.queue),
                 raw(entry.fire.schedule), entry.fire.at.ms, entry.seq);
  }
  static void print(const UnsettledTransferRecord& record) {
    fmt::print("  arrived queue {} from shard {} queue {} seq {}\n", raw(record.queue),
               raw(record.from.shard), raw(record.from.queue), record.from.seq);
  }
};

void print_frame(const Manifest& manifest, const LogFrameHeader& header,
                 std::span<const std::byte> records) {
  if (header.lsn == manifest.checkpoint)
    fmt::print("{} checkpoint: recovery begins here\n", manifest.checkpoint);
  fmt::print("{} frame {} B epoch {} at {} durable {}\n", header.lsn, header.length, header.epoch,
             header.wall_ms, header.durable);
  Printer printer;
  (void)decode_records(records, header.records, header.stream, printer);  // the walk reports errors
  if (header.lsn < manifest.checkpoint_end &&
      manifest.checkpoint_end <= align_up(header.lsn + header.length, block_bytes))
    fmt::print("{} checkpoint ends\n", manifest.checkpoint_end);
}

// Reports messages in missing or damaged segments: as damage if their queue is in `queues`, as a
// note if no queue is known. True: there is damage.
bool report_missed(const std::string& directory, const WalkReport& report,
                   const std::set<QueueId>& queues) {
  bool damaged = false;
  for (const auto& [where, messages] : report.missed) {
    const bool known = queues.contains(where.queue);
    if (!known && !queues.empty()) continue;  // the queue was deleted
    damaged |= known;
    fmt::print(
        stderr, "{}: {}: {} is missing or damaged: {} message{} of queue {} cannot be read{}\n",
        directory, known ? "damage" : "note", segment_name(where.segment), messages,
        messages == 1 ? "" : "s", raw(where.queue),
        known ? "" : ", unless the queue was deleted: name the whole data directory to find out");
  }
  return damaged;
}

// `queues`: those in the logs examined before. The first log of a data directory lists all queues.
int examine_log(const std::string& directory, bool print, std::set<QueueId>& queues) {
  DirectoryDisk disk(directory);
  const auto report = walk_log(disk, print ? print_frame : FrameVisitor{});
  if (!report) {
    const Error& error = report.error();
    fmt::print(stderr, "error: {}: {}{}{}\n", directory, error.what, error.sys != 0 ? ": " : "",
               error.sys != 0 ? std::strerror(error.sys) : "");
    return error.code == Errc::corrupt ? exit_check_failed : exit_failure;
  }
  queues.insert(report->queues.begin(), report->queues.end());
  for (const std::string& damage : report->damage)
    fmt::print(stderr, "{}: damage: {}\n", directory, damage);
  const bool sound = !report_missed(directory, *report, queues) && report->damage.empty();
  fmt::print("{}: {}: segments {}, frames {}, records {}, bytes {}, end {}{}\n", directory,
             sound ? "sound" : "damaged", report->segments, report->frames, report->records,
             report->bytes, report->end,
             report->manifest.clean != 0 && report->manifest.clean == report->end
                 ? ", closed in order"
             : report->torn ? ", a torn tail follows"
                            : "");
  if (const std::uint64_t files = files_set_aside_in(disk); files > 0)
    fmt::print(
        "{}: {} new file{} could not be written and {} set aside with names ending in .bad: the "
        "disk has bad blocks\n",
        directory, files, files == 1 ? "" : "s", files == 1 ? "is" : "are");
  return sound ? exit_ok : exit_check_failed;
}

// The reason why a shard's log is lost or not the expected one; empty: it is the expected one.
std::string misplaced(const DataIdentity& identity, std::uint32_t shard, const std::string& log) {
  DirectoryDisk disk(log);
  const auto manifests = read_manifests(disk);
  if (!manifests) return manifests.error().what;
  const std::optional<Manifest>& manifest = manifests->newest;
  switch (absence_of(manifest, !segments_in(disk).empty(), identity.stream_of(shard),
                     identity.membership_of(shard))) {
    case LogAbsence::none:
      return {};
    case LogAbsence::lost:
      return "the log was created, but none of its files is left; `pawl wal repair` shows the loss";
    case LogAbsence::another_log:
      for (std::uint32_t other = 0; other < identity.shards; ++other)
        if (identity.stream_of(other) == manifest->stream)
          return fmt::format("it contains the log of {}: rename the directories back",
                             log_name(other));
      return "it contains a log of another data directory";
    case LogAbsence::another_time:
      return fmt::format(
          "it is a copy from another time: its last start was number {}, that of the directory {}",
          manifest->start, identity.starts);
  }
  return {};
}

// Examines the logs that the file PAWL lists.
int examine_directory(const std::string& directory, bool print) {
  const auto identity = read_identity_of(directory);
  if (!identity) {
    fmt::print(stderr, "error: {}\n", identity.error());
    return exit_failure;
  }
  int code = exit_ok;
  std::set<QueueId> queues;
  for (std::uint32_t shard = 0; shard < identity->shards; ++shard) {
    const std::string log = fmt::format("{}/{}", directory, log_name(shard));
    std::string wrong = misplaced(*identity, shard, log);
    DirectoryDisk disk(log);
    if (wrong.empty() && logs_below(log).empty() && !segments_in(disk).empty())
      wrong = "MANIFEST.a and MANIFEST.b are both missing; `pawl wal repair` rebuilds them";
    if (wrong.empty() && !identity->is_made(shard) && logs_below(log).empty()) {
      fmt::print("{}: not made yet\n", log);
      continue;
    }
    if (!wrong.empty()) {
      fmt::print(stderr, "{}: damage: {}\n", log, wrong);
      code = exit_check_failed;
      if (logs_below(log).empty()) continue;
    }
    code = std::max(code, examine_log(log, print, queues));
  }
  return code;
}

int examine_logs(const std::string& directory, bool print) {
  if (std::filesystem::exists(directory + "/PAWL")) return examine_directory(directory, print);
  const std::vector<std::string> logs = logs_below(directory);
  if (logs.empty()) {
    fmt::print(
        stderr,
        "error: {}: no log in this directory or below it. Name a data directory of pawl serve.\n",
        directory);
    return exit_not_found;
  }
  int code = exit_ok;
  std::set<QueueId> queues;
  for (const std::string& log : logs) code = std::max(code, examine_log(log, print, queues));
  return code;
}

}  // namespace

void add_wal_command(CommandLine& line) {
  // Accepts both `wal verify DIR` and `wal verify --data DIR`.
  const auto add_directory = [](Verb action, std::string& directory, const char* help) {
    action.option("DIR,--data", directory, help).required();
  };
  Verb verb = line.add_verb("wal", "Reads or repairs the log of a stopped server");
  verb.require_verb();
  const auto directory = std::make_shared<std::string>();
  const auto add = [&](const char* name, const char* help, bool print) {
    Verb action = verb.add_verb(name, help);
    add_directory(action, *directory, "A data directory, or one log in it");
    action.on_given([directory, print] { return examine_logs(*directory, print); });
  };
  add("dump", "Prints every frame and record; bodies as their size", true);
  add("verify", "Checks every frame and record; exit code 4: acknowledged data is damaged", false);
  Verb repair = verb.add_verb("repair",
                              "Shows the damage that prevents a startup and the loss of a repair; "
                              "changes nothing without --apply");
  const auto apply = std::make_shared<bool>(false);
  add_directory(repair, *directory, "The data directory");
  repair.flag("--apply", *apply,
              "Repair the log; overwritten data is copied to DIR/repair-<n> first");
  repair.on_given([directory, apply] { return repair_logs(*directory, *apply); });
}

}  // namespace pawl

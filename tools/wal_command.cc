#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "core/queue_config.h"
#include "tools/commands.h"
#include "tools/wal_walk.h"
#include "wal/records.h"

namespace pawl {
namespace {

// One line per record.
class Printer final : public RecordSink {
 public:
  void send(const StoredMessage& message, std::size_t) override {
    fmt::print("  send    queue {} seq {} body {} B attributes {} B sent {}{}{}\n",
               raw(message.queue), message.seq, message.content.body.size(),
               message.content.attributes.size(), message.sent.ms,
               message.deliver_at == message.sent
                   ? ""
                   : fmt::format(" deliver at {}", message.deliver_at.ms),
               message.carried.from.seq == 0
                   ? ""
                   : fmt::format(" from shard {} queue {} seq {}", raw(message.carried.from.shard),
                                 raw(message.carried.from.queue), message.carried.from.seq));
  }
  void receive(const ReceiveRecord& record) override {
    fmt::print("  receive queue {} seq {} count {} hidden until {}\n", raw(record.queue),
               record.seq, record.receive_count, record.deadline.ms);
  }
  void remove(const RemoveRecord& record) override {
    fmt::print("  delete  queue {} seq {}\n", raw(record.queue), record.seq);
  }
  void purge(const PurgeRecord& record) override {
    fmt::print("  purge   queue {} below {}\n", raw(record.queue), record.below);
  }
  void config(const ConfigRecord& record) override {
    fmt::print("  config  queue {} {}{}\n", raw(record.config->id), record.config->name,
               record.gone ? " gone" : "");
  }
  void head(const HeadRecord& record) override {
    fmt::print("  head    queue {} next {}\n", raw(record.queue), record.next_seq);
  }
  void task(const TaskRecord& record) override {
    fmt::print("  task    queue {} task {} moved {} of {} status {}\n", raw(record.task.source),
               record.task.number, record.task.moved, record.task.to_move,
               static_cast<int>(record.task.status));
  }
  void settled(const SettledRecord& record) override {
    fmt::print("  settled shard {} queue {} seq {}\n", raw(record.from.shard),
               raw(record.from.queue), record.from.seq);
  }
};

// Reads everything and says nothing.
class Silent final : public RecordSink {
 public:
  void send(const StoredMessage&, std::size_t) override {}
  void receive(const ReceiveRecord&) override {}
  void remove(const RemoveRecord&) override {}
  void purge(const PurgeRecord&) override {}
  void config(const ConfigRecord&) override {}
  void head(const HeadRecord&) override {}
  void task(const TaskRecord&) override {}
  void settled(const SettledRecord&) override {}
};

int examine_log(const std::string& directory, bool print) {
  Printer printer;
  Silent silent;
  RecordSink& sink = print ? static_cast<RecordSink&>(printer) : silent;
  std::uint64_t undecodable = 0;
  const auto report =
      walk_log(directory, [&](const LogFrameHeader& header, std::span<const std::byte> records) {
        if (print)
          fmt::print("{} frame {} B epoch {} at {} durable {}\n", header.lsn, header.length,
                     header.epoch, header.wall_ms, header.durable);
        if (const auto decoded = decode_records(records, header.records, header.stream, sink);
            !decoded) {
          ++undecodable;
          fmt::print(stderr, "{}: damage: frame at lsn {}: {}\n", directory, header.lsn,
                     decoded.error().what);
        }
      });
  if (!report) {
    const Error& error = report.error();
    fmt::print(stderr, "error: {}: {}{}{}\n", directory, error.what, error.sys != 0 ? ": " : "",
               error.sys != 0 ? std::strerror(error.sys) : "");
    return error.code == Errc::corrupt ? exit_check_failed : exit_failure;
  }
  for (const std::string& damage : report->damage)
    fmt::print(stderr, "{}: damage: {}\n", directory, damage);
  const bool sound = report->damage.empty() && undecodable == 0;
  fmt::print("{}: {}: segments {}, frames {}, records {}, bytes {}, end {}{}\n", directory,
             sound ? "sound" : "damaged", report->segments, report->frames, report->records,
             report->bytes, report->end,
             report->manifest.clean != 0 && report->manifest.clean == report->end
                 ? ", closed in order"
             : report->torn ? ", a torn tail follows"
                            : "");
  return sound ? exit_ok : exit_check_failed;
}

int examine_logs(const std::string& directory, bool print) {
  const std::vector<std::string> logs = logs_below(directory);
  if (logs.empty()) {
    fmt::print(
        stderr,
        "error: {}: no log here or in a directory of it. Name a data directory of pawl serve.\n",
        directory);
    return exit_not_found;
  }
  int code = exit_ok;
  for (const std::string& log : logs) code = std::max(code, examine_log(log, print));
  return code;
}

}  // namespace

void add_wal_command(CLI::App& app, int& code) {
  CLI::App* verb = app.add_subcommand("wal", "Reads the log of a server that is not running");
  verb->require_subcommand(1);
  const auto directory = std::make_shared<std::string>();
  const auto add = [&](const char* name, const char* help, bool print) {
    CLI::App* action = verb->add_subcommand(name, help);
    action->add_option("DIR", *directory, "A data directory, or one log in it")->required();
    action->callback([directory, print, &code] { code = examine_logs(*directory, print); });
  };
  add("dump", "Prints every frame and record, bodies by their size", true);
  add("verify", "Checks every frame and record; exit code 4 when acknowledged data is damaged",
      false);
}

}  // namespace pawl

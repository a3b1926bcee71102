// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/format.h"
#include "tools/commands.h"
#include "tools/metrics_text.h"
#include "tools/printer.h"
#include "tools/queue_view.h"
#include "tools/verbs/admin_port.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/queue_statistics.h"
#include "tools/verbs/terminal.h"

namespace pawl {
namespace {

using TopClock = std::chrono::steady_clock;

constexpr int fifo_looks_max = 10;  // queues whose messages are looked at in one reading
constexpr int exit_interrupted = 130;

struct TopOptions {
  EndpointOptions endpoint;
  std::string admin;
  std::string sort = "state";
  std::string filter;
  std::uint64_t count = 0;  // 0: until it is ended
  double interval = 2;
  OutputOptions output;
};

struct ShardLoad {
  std::string shard;
  double turn_s = 0, flush_s = 0;  // time in its turns since the start; of a durable write
  double busy = 0;                 // share since the reading before
};

struct Shown {
  std::vector<const QueueRow*> rows;
  std::vector<ShardLoad> shards;
  std::size_t queues = 0;  // before the filter
};

// Reads the server again and again, and compares each reading with the one before.
class TopReadings {
 public:
  TopReadings(const TopOptions& asked, sqs_client::SqsClient& client)
      : asked_(&asked), client_(&client) {}

  // After an error the figures are those of the reading before.
  std::optional<sqs_client::CallError> read();
  const Shown& shown() const { return shown_; }
  // Sorts and filters what was read last.
  void arrange(const std::string& sort, const std::string& filter);

 private:
  std::optional<sqs_client::CallError> read_shards();

  const TopOptions* asked_;
  sqs_client::SqsClient* client_;
  std::vector<QueueRow> rows_;  // of the last reading
  std::map<std::string, double, std::less<>> turns_before_;
  TopClock::time_point shards_read_;
  Shown shown_;
};

std::optional<sqs_client::CallError> TopReadings::read() {
  auto readings = read_statistics(*client_);
  if (!readings) return readings.error();
  std::unordered_map<std::string_view, const QueueReading*> before;
  for (const QueueRow& row : rows_) before.emplace(row.reading.name, &row.reading);
  std::vector<QueueRow> rows;
  rows.reserve(readings->size());
  int looks = 0;
  for (QueueReading& reading : *readings) {
    const auto found = before.find(reading.name);
    const QueueReading* const earlier = found == before.end() ? nullptr : found->second;
    rows.push_back(row_of(std::move(reading), earlier));
    QueueRow& row = rows.back();
    if (!may_be_blocked(row) || looks++ >= fifo_looks_max) continue;
    const bool blocked = all_visible_wait(*client_, row.reading.url);
    row = row_of(std::move(row.reading), earlier, blocked);
  }
  CHECK(rows.size() == readings->size(), "{} rows of {} queues", rows.size(), readings->size());
  shown_.rows.clear();  // they point into rows_
  rows_ = std::move(rows);
  return asked_->admin.empty() ? std::nullopt : read_shards();
}

std::optional<sqs_client::CallError> TopReadings::read_shards() {
  const auto text = get_metrics(asked_->admin);
  if (!text)
    return sqs_client::CallError{
        .kind = sqs_client::ErrorKind::unreachable,
        .text = fmt::format("{}. --admin is the admin port of the server.", text.error())};
  const TopClock::time_point now = TopClock::now();
  const double passed = std::chrono::duration<double>(now - shards_read_).count();
  const std::vector<MetricFamily> families = families_of(*text);
  std::map<std::string, ShardLoad, std::less<>> loads;
  const auto each = [&](std::string_view family, auto&& take) {
    const MetricFamily* const found = find_family(families, family);
    if (found == nullptr) return;
    for (const MetricSample& sample : found->samples)
      take(loads[std::string(sample.label("shard"))], sample.value);
  };
  each("pawl_turn_phase_seconds_total", [](ShardLoad& load, double v) { load.turn_s += v; });
  each("pawl_wal_flush_seconds", [](ShardLoad& load, double v) { load.flush_s = v; });
  shown_.shards.clear();
  for (auto& [shard, load] : loads) {
    load.shard = shard;
    const auto before = turns_before_.find(shard);
    if (before != turns_before_.end() && passed > 0)
      load.busy = std::clamp((load.turn_s - before->second) / passed, 0.0, 1.0);
    turns_before_[shard] = load.turn_s;
    shown_.shards.push_back(load);
  }
  shards_read_ = now;
  return std::nullopt;
}

void TopReadings::arrange(const std::string& sort, const std::string& filter) {
  shown_.queues = rows_.size();
  shown_.rows.clear();
  for (const QueueRow& row : rows_)
    if (row.reading.name.contains(filter)) shown_.rows.push_back(&row);
  sort_rows(shown_.rows, sort);
  CHECK(shown_.rows.size() <= shown_.queues, "{} of {} queues", shown_.rows.size(), shown_.queues);
}

std::string shard_text(const ShardLoad& load) {
  return fmt::format("shard {}: busy {:.0f} %, flush {:.2f} ms", load.shard, load.busy * 100,
                     load.flush_s * 1000);
}

std::string check_column(const std::string& text) {
  const std::vector<std::string>& columns = sort_columns();
  if (std::ranges::find(columns, text) != columns.end()) return {};
  return fmt::format("\"{}\" is no column to sort by. The columns are {}.", text,
                     join_texts(columns, ", "));
}

// --- without a terminal ---

int print_reading(const TopOptions& asked, const Shown& shown) {
  Printer printer(stdout, asked.output.format(), printed_columns());
  printer.fit_terminal();
  for (const QueueRow* const row : shown.rows) printer.add(printed(*row));
  const bool table = asked.output.format() == OutputFormat::table;
  for (const ShardLoad& load : shown.shards) {
    if (table) continue;
    printer.add({
        .cells = {{"shard", load.shard}, {"busy", load.busy}, {"flush_seconds", load.flush_s}}
    });
  }
  if (const int code = printer.end(); code != exit_ok) return code;
  if (!table) return exit_ok;
  if (shown.rows.empty()) fmt::print("no queue\n");
  for (const ShardLoad& load : shown.shards) fmt::print("{}\n", shard_text(load));
  return std::fflush(stdout) == 0 ? static_cast<int>(exit_ok)
                                  : fail_with(exit_failure, "cannot write the output");
}

int run_plain(const TopOptions& asked, TopReadings& readings) {
  if (const auto error = readings.read()) return explain_pawl_call(*error, "");
  const auto pause =
      std::chrono::duration_cast<TopClock::duration>(std::chrono::duration<double>(asked.interval));
  auto next = TopClock::now();
  for (std::uint64_t done = 0; asked.count == 0 || done < asked.count; ++done) {
    next += pause;
    std::this_thread::sleep_until(next);
    if (const auto error = readings.read()) return explain_pawl_call(*error, "");
    readings.arrange(asked.sort, asked.filter);
    if (done > 0 && asked.output.format() == OutputFormat::table) fmt::print("\n");
    if (const int code = print_reading(asked, readings.shown()); code != exit_ok) return code;
  }
  return exit_ok;
}

// --- on a terminal ---

struct ScreenState {
  std::string sort, filter;
  bool typing = false;  // the filter
};

std::vector<std::string> screen_of(const Shown& shown, const ScreenState& state,
                                   const Terminal& terminal) {
  const auto stuck = std::ranges::count_if(
      shown.rows, [](const QueueRow* row) { return row->state < QueueState::all_in_flight; });
  std::vector<std::string> screen = {fmt::format("{} of {} queues, {} in trouble; sorted by {}",
                                                 shown.rows.size(), shown.queues, stuck,
                                                 state.sort)};
  screen.push_back(state.typing ? fmt::format("filter: {}_", state.filter)
                   : state.filter.empty()
                       ? "q quit  s sort  / filter"
                       : fmt::format("q quit  s sort  / filter: {}", state.filter));
  for (const ShardLoad& load : shown.shards) screen.push_back(shard_text(load));
  screen.emplace_back();
  const std::span<const QueueRow* const> rows(shown.rows);
  const auto seen = rows.first(std::min(rows.size(), terminal.lines()));
  for (std::string& line : lines_of(seen, terminal.columns())) screen.push_back(std::move(line));
  return screen;
}

// True: the screen ends.
bool take_key(char key, ScreenState& state) {
  if (state.typing) {
    if (key == '\n' || key == '\r') state.typing = false;
    if (key == '\x1b') state = {.sort = state.sort};
    if ((key == '\x7f' || key == '\b') && !state.filter.empty()) state.filter.pop_back();
    if (key > ' ' && key < '\x7f' && state.filter.size() < 80) state.filter += key;
    return false;
  }
  if (key == '/') state.typing = true;
  if (key == 's') {
    const std::vector<std::string>& columns = sort_columns();
    const auto now = std::ranges::find(columns, state.sort);
    CHECK(now != columns.end(), "column {}", state.sort);
    state.sort = now + 1 == columns.end() ? columns.front() : *(now + 1);
  }
  return key == 'q';
}

int run_screen(const TopOptions& asked, TopReadings& readings) {
  if (const auto error = readings.read()) return explain_pawl_call(*error, "");
  ScreenState state{.sort = asked.sort, .filter = asked.filter};
  const auto pause =
      std::chrono::duration_cast<TopClock::duration>(std::chrono::duration<double>(asked.interval));
  auto terminal = std::make_unique<Terminal>();
  auto next = TopClock::now() + pause;
  for (;;) {
    readings.arrange(state.sort, state.filter);
    terminal->draw(screen_of(readings.shown(), state, *terminal));
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - TopClock::now());
    const char key = terminal->key(std::max(left, std::chrono::milliseconds(0)));
    if (terminal->ended_by() != 0) return exit_interrupted;
    if (take_key(key, state)) return exit_ok;
    if (TopClock::now() < next) continue;
    if (const auto error = readings.read()) {
      terminal.reset();  // the error is printed on the screen that stays
      return explain_pawl_call(*error, "");
    }
    next = std::max(next + pause, TopClock::now());
  }
}

}  // namespace

void add_top_command(CommandLine& line) {
  Verb verb = line.add_verb("top", "Shows live which queues are in trouble, and why");
  const auto asked = std::make_shared<TopOptions>();
  add_endpoint(verb, asked->endpoint);
  verb.option("--admin", asked->admin, "Admin port of the same server: adds a line for each shard")
      .value_name("[https://]ADDR:PORT");
  verb.option("--sort", asked->sort, "Column to sort by")
      .value_name(join_texts(sort_columns(), "|"))
      .check(check_column)
      .show_default();
  verb.option("--filter", asked->filter, "Only queues whose names contain this text")
      .value_name("TEXT");
  verb.option("-n,--count", asked->count, "How many readings to print (default: until interrupted)")
      .check(whole_number(1, 1'000'000'000));
  verb.option("--interval", asked->interval, "Seconds between two readings")
      .check(number(0.1, 3600))
      .show_default();
  add_output(verb, asked->output, "{queue, state, why, visible, in_flight, delayed, oldest, ...}");
  verb.footer(
      "Keys on a terminal: q ends, s sorts by the next column, / filters by name. The first "
      "reading is compared with one an interval earlier.");
  verb.on_given([asked] {
    auto client = open_endpoint(asked->endpoint, sqs_client::pawl_api);
    if (!client) return static_cast<int>(exit_usage);
    TopReadings readings(*asked, *client);
    const bool screen = Terminal::is_possible() && asked->count == 0 &&
                        asked->output.format() == OutputFormat::table;
    return screen ? run_screen(*asked, readings) : run_plain(*asked, readings);
  });
}

}  // namespace pawl

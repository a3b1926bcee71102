// SPDX-License-Identifier: Apache-2.0
// A queue as `pawl top` shows it: two readings of its figures, the rates between them, and its
// state, which says why messages do or do not move.
//
// A state is said only where the numbers show it: between two readings of a queue with figures of
// its own. Of another queue the depths are known alone.
//
// Units:  seconds; rates are per second.
// Errors: none.
// Owner:  values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/printer.h"

namespace pawl {

// Numbers that the server counts for a queue with figures of its own, since its start.
struct QueueCounted {
  std::int64_t at_ms = 0;
  double oldest_s = 0, lease_p50_s = 0, lease_p99_s = 0, workers = 0;
  std::optional<double> drain_s;  // none: nothing is deleted
  std::uint64_t sent = 0, received = 0, deleted = 0, deleted_late = 0, delivered_late = 0;
  std::uint64_t leases_expired = 0, expired = 0, dead_lettered = 0, leases = 0;
};

struct QueueReading {
  std::string name, url, arn;
  bool fifo = false;
  std::uint64_t visible = 0, in_flight = 0, delayed = 0;
  std::int64_t visibility_s = 0, retention_s = 0, wait_s = 0;
  bool retains_from_move = false;  // dead letters
  std::string dead_letter_arn;     // empty: the queue has no dead-letter queue
  std::int64_t max_receives = 0;   // with a dead-letter queue
  std::optional<QueueCounted> counted;
};

// The worst first.
enum class QueueState : std::uint8_t {
  in_flight_full,
  no_consumer,
  groups_blocked,
  not_deleted,
  near_expiry,
  late,
  deletes_late,
  falling_behind,
  no_receives,
  all_in_flight,
  all_delayed,
  depths_only,
  ok,
  empty,
};
std::string_view text_of(QueueState state);

struct QueueRow {
  QueueReading reading;
  std::optional<double> sent, received, deleted;  // rates; none: there was no reading before
  QueueState state{};
  std::string why;  // the numbers behind the state
};

// `before`: the same queue earlier, or null. `blocked`: all visible messages of a FIFO queue wait
// for another one of their group.
QueueRow row_of(QueueReading reading, const QueueReading* before, bool blocked = false);
// True: nothing was received, and only a look at the messages tells whether groups hold them.
bool may_be_blocked(const QueueRow& row);

// The names of the columns to sort by; "state" is the worst first.
const std::vector<std::string>& sort_columns();
void sort_rows(std::vector<const QueueRow*>& rows, std::string_view column);

Printer::Row printed(const QueueRow& row);
const std::vector<std::string>& printed_columns();
// Lines of at most `width` characters, the first is the header. Columns that do not fit are left
// out, the least important ones first.
std::vector<std::string> lines_of(std::span<const QueueRow* const> rows, std::size_t width);

}  // namespace pawl

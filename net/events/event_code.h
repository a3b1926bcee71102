// SPDX-License-Identifier: Apache-2.0
// The events that the server reports: one code for each, with a row of constants.
//
// The name of a code is that of its enumerator. Alerts match it, so a released name never changes.
// `pawl errors` and CODES.md of this folder explain each code to operators.
//
// Limits: EventRow::lines_a_minute bounds the lines of a code (event_limit.h).
// Owner:  constants of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pawl {

enum class EventLevel : std::uint8_t {
  error,    // something does not work, or data is lost
  warning,  // the server works; an operator should change something
  info,
};
std::string_view name_of(EventLevel level);

enum class EventCode : std::uint8_t {
  // --- startup ---
  start_failed,
  unknown_variable,
  service_manager_unreachable,
  exposed_without_credentials,
  exposed_without_tls,
  admin_page_limit,
  data_directory_busy,
  recovery_progress,
  memory_above_group_limit,
  copy_on_write_disk,
  landlock_absent,
  connections_limited,
  io_uring_refused,
  disk_calibrated,
  disk_not_calibrated,
  segment_header_damaged,
  newer_parts_skipped,
  torn_write_cut_off,
  account_not_served,
  declared,
  limits,
  ready,
  // --- clock ---
  clock_hidden,
  clock_waits,
  wall_clock_set,
  time_off_counted,
  clock_advanced,
  clock_not_saved,
  clock_unsynchronised,
  // --- disk and log ---
  disk_full,
  disk_has_space,
  disk_nearly_full,
  memory_full,
  flush_slow,
  new_file_set_aside,
  message_unreadable,
  log_failed,
  log_not_closed,
  io_uring_revoked,
  // --- clients, signals ---
  auth_failed,
  wrong_protocol,
  settings_reloaded,
  settings_not_reloaded,
  settings_unchanged,
  setting_applied,
  setting_needs_restart,
  setting_overridden,
  certificate_near_end,
  check_ok,
  draining,
  stopping,
  stopped,
};
inline constexpr std::size_t event_codes = static_cast<std::size_t>(EventCode::stopped) + 1;
std::string_view name_of(EventCode code);
std::optional<EventCode> event_code_of(std::string_view name);

struct EventRow {
  EventCode code;
  EventLevel level;
  std::string_view message;  // constant, unlike the text of an event
  std::uint32_t lines_a_minute;
  std::string_view when;               // it is emitted
  std::string_view remedy;             // for an operator; with `code` in backquotes
  std::string_view prefix = "pawl: ";  // of a line of text
};
const EventRow& row_of(EventCode code);

}  // namespace pawl

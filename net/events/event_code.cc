// SPDX-License-Identifier: Apache-2.0
#include "net/events/event_code.h"

#include <array>

#include "core/base/check.h"
#include "core/base/enum_name.h"

namespace pawl {
namespace {

// A code that each shard, segment or account may report at once needs many lines.
constexpr std::uint32_t few = 60, many = 600;

// clang-format off
constexpr std::array<EventRow, event_codes> event_rows{{
    {EventCode::start_failed, EventLevel::error, "the server did not start", few, "error: "},
    {EventCode::unknown_variable, EventLevel::warning, "an environment variable is no setting", few, "warning: "},
    {EventCode::service_manager_unreachable, EventLevel::warning, "the service manager cannot be notified", few, "warning: "},
    {EventCode::exposed_without_credentials, EventLevel::warning, "other machines are served without credentials", few, "warning: "},
    {EventCode::exposed_without_tls, EventLevel::warning, "other machines are served without TLS", few, "warning: "},
    {EventCode::admin_page_limit, EventLevel::info, "the admin port answers /livez and /readyz alone", few},
    {EventCode::data_directory_busy, EventLevel::info, "the previous process still writes to the data directory", few},
    {EventCode::recovery_progress, EventLevel::info, "the log is being read", few},
    {EventCode::memory_above_group_limit, EventLevel::warning, "--memory exceeds the limit of the control group", few},
    {EventCode::copy_on_write_disk, EventLevel::warning, "the data directory is on a copy-on-write file system", few},
    {EventCode::landlock_absent, EventLevel::info, "the kernel has no Landlock, file access is not limited", few},
    {EventCode::connections_limited, EventLevel::warning, "the limit of open files lowers the limit of connections", few},
    {EventCode::io_uring_refused, EventLevel::warning, "io_uring is refused, threads are used", few},
    {EventCode::disk_calibrated, EventLevel::info, "durable writes were measured", few},
    {EventCode::disk_not_calibrated, EventLevel::warning, "the disk is full, durable writes were not measured", few},
    {EventCode::segment_header_damaged, EventLevel::error, "the header of a segment is damaged", many},
    {EventCode::newer_parts_skipped, EventLevel::warning, "optional parts of records of a newer version were skipped", many},
    {EventCode::torn_write_cut_off, EventLevel::warning, "an incomplete write at the end of the log was cut off", many},
    {EventCode::account_not_served, EventLevel::warning, "queues belong to an account that is not served", many},
    {EventCode::declared, EventLevel::info, "what the configuration file declares was made", few},
    {EventCode::clock_hidden, EventLevel::warning, "a clock of the kernel cannot be read", few},
    {EventCode::clock_waits, EventLevel::warning, "the time that the machine was off is not counted yet", few},
    {EventCode::wall_clock_set, EventLevel::info, "the wall clock was set", few},
    {EventCode::time_off_counted, EventLevel::info, "the time that the machine was off counts", few},
    {EventCode::clock_advanced, EventLevel::info, "a test advanced the clock", few},
    {EventCode::clock_not_saved, EventLevel::error, "the clock could not be saved", few},
    {EventCode::disk_full, EventLevel::error, "sends are refused for lack of disk space", many},
    {EventCode::disk_has_space, EventLevel::info, "sends are accepted again", many},
    {EventCode::new_file_set_aside, EventLevel::error, "a new file of the log could not be written", many},
    {EventCode::message_unreadable, EventLevel::error, "messages cannot be read", many},
    {EventCode::log_failed, EventLevel::error, "the log failed, the process stops", many},
    {EventCode::log_not_closed, EventLevel::warning, "the log could not be marked as closed", many},
    {EventCode::io_uring_revoked, EventLevel::error, "io_uring is refused since the start, the process stops", many},
    {EventCode::auth_failed, EventLevel::warning, "authentication failed", few},
    {EventCode::settings_reloaded, EventLevel::info, "settings were reloaded", few},
    {EventCode::settings_not_reloaded, EventLevel::error, "settings could not be reloaded", few},
    {EventCode::draining, EventLevel::info, "the server drains", few},
    {EventCode::stopping, EventLevel::info, "the server stops", few},
}};
// clang-format on

consteval bool in_order() {
  for (std::size_t i = 0; i < event_codes; ++i)
    if (static_cast<std::size_t>(event_rows[i].code) != i || event_rows[i].lines_a_minute == 0)
      return false;
  return true;
}
static_assert(in_order(), "each code has the row of its number");

constexpr auto code_names = enum_names<EventCode, event_codes>();
constexpr auto level_names = enum_names<EventLevel, 3>();

}  // namespace

std::string_view name_of(EventLevel level) {
  const auto number = static_cast<std::size_t>(level);
  CHECK(number < level_names.size(), "EventLevel {}", number);
  return level_names[number];
}

std::string_view name_of(EventCode code) {
  const auto number = static_cast<std::size_t>(code);
  CHECK(number < event_codes, "EventCode {}", number);
  return code_names[number];
}

const EventRow& row_of(EventCode code) {
  const auto number = static_cast<std::size_t>(code);
  CHECK(number < event_codes, "EventCode {}", number);
  return event_rows[number];
}

}  // namespace pawl

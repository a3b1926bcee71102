// SPDX-License-Identifier: Apache-2.0
#include "net/events/event_code.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "core/base/enum_name.h"

namespace pawl {
namespace {

// A code that each shard, segment or account may report at once needs many lines.
constexpr std::uint32_t few = 60, many = 600;

// clang-format off
constexpr std::array<EventRow, event_codes> event_rows{{
    {EventCode::start_failed, EventLevel::error, "the server did not start", few,
     "the server cannot start; the text names the cause", "as the text says", "error: "},
    {EventCode::unknown_variable, EventLevel::warning, "an environment variable is no setting", few,
     "a `PAWL_` variable looks like a setting and is none", "correct its name, or ignore it", "warning: "},
    {EventCode::service_manager_unreachable, EventLevel::warning, "the service manager cannot be notified", few,
     "`NOTIFY_SOCKET` or `WATCHDOG_USEC` is set and cannot be used", "`Type=notify` in the unit, or unset them", "warning: "},
    {EventCode::exposed_without_credentials, EventLevel::warning, "other machines are served without credentials", few,
     "`--insecure-no-auth` or `--dev` serves addresses that other machines reach", "`--auth sigv4 --keys FILE`", "warning: "},
    {EventCode::exposed_without_tls, EventLevel::warning, "other machines are served without TLS", few,
     "http or binary is reachable from other machines without TLS", "`--tls-cert`, `--tls-key`, or a proxy", "warning: "},
    {EventCode::admin_page_limit, EventLevel::info, "the admin port answers /livez and /readyz alone", few,
     "other machines can reach `--admin`", "`--admin 127.0.0.1:9325` for all pages on this machine"},
    {EventCode::data_directory_busy, EventLevel::info, "the previous process still writes to the data directory", few,
     "a process that has ended still holds the lock", "wait"},
    {EventCode::recovery_progress, EventLevel::info, "the log is being read", few,
     "recovery takes long: one line every few seconds", "wait"},
    {EventCode::memory_above_group_limit, EventLevel::warning, "--memory exceeds the limit of the control group", few,
     "`--memory` may need more than the control group allows", "raise the limit, or lower `--memory`"},
    {EventCode::copy_on_write_disk, EventLevel::warning, "the data directory is on a copy-on-write file system", few,
     "the file system copies on write (btrfs, zfs and others)", "as the text says"},
    {EventCode::landlock_absent, EventLevel::info, "the kernel has no Landlock, file access is not limited", few,
     "`--landlock auto` on a kernel without it, or in a sandbox that refuses its calls", "nothing, or allow the calls"},
    {EventCode::connections_limited, EventLevel::warning, "the limit of open files lowers the limit of connections", few,
     "`--max-connections` is more than the open files allow", "raise `ulimit -n`, `LimitNOFILE=`"},
    {EventCode::io_uring_refused, EventLevel::warning, "io_uring is refused, threads are used", few,
     "`--io auto` found io_uring refused", "allow it, or accept a slower server"},
    {EventCode::disk_calibrated, EventLevel::info, "durable writes were measured", few,
     "each start measures the kinds of flush", "nothing"},
    {EventCode::disk_not_calibrated, EventLevel::warning, "the disk is full, durable writes were not measured", few,
     "a start on a full disk", "free space"},
    {EventCode::segment_header_damaged, EventLevel::error, "the header of a segment is damaged", many,
     "recovery found a damaged segment", "`pawl wal verify`, `pawl wal repair`"},
    {EventCode::newer_parts_skipped, EventLevel::warning, "optional parts of records of a newer version were skipped", many,
     "a newer version wrote optional parts of records", "nothing, or start that version"},
    {EventCode::torn_write_cut_off, EventLevel::warning, "an incomplete write at the end of the log was cut off", many,
     "recovery found the end of the log incomplete, after a crash", "nothing"},
    {EventCode::account_not_served, EventLevel::warning, "queues belong to an account that is not served", many,
     "queues belong to an account without key, or not to `--account`", "as the text says"},
    {EventCode::declared, EventLevel::info, "what the configuration file declares was made", few,
     "a start with `[[queue]]`, `[[topic]]` or `[[subscription]]` in the file of `--config`", "nothing"},
    {EventCode::limits, EventLevel::info, "version, directory and limits", few,
     "each start", "nothing"},
    {EventCode::ready, EventLevel::info, "clients are served", few,
     "each start", "nothing"},
    {EventCode::clock_hidden, EventLevel::warning, "a clock of the kernel cannot be read", few,
     "a sandbox hides a clock of the kernel", "as the text says"},
    {EventCode::clock_waits, EventLevel::warning, "the time that the machine was off is not counted yet", few,
     "after a reboot the wall clock is not trusted yet", "synchronise the clock, or `--trust-clock yes`"},
    {EventCode::wall_clock_set, EventLevel::info, "the wall clock was set", few,
     "the wall clock stepped", "nothing: messages age by another clock"},
    {EventCode::time_off_counted, EventLevel::info, "the time that the machine was off counts", few,
     "the wall clock is trusted now", "nothing"},
    {EventCode::clock_advanced, EventLevel::info, "a test advanced the clock", few,
     "`POST /_pawl/clock` of a server with `--dev`", "nothing"},
    {EventCode::clock_not_saved, EventLevel::error, "the clock could not be saved", few,
     "the file PAWL could not be written", "check the disk"},
    {EventCode::clock_unsynchronised, EventLevel::warning, "the kernel does not call its clock synchronised", few,
     "no NTP client steers the clock, or it has lost its servers", "start an NTP client"},
    {EventCode::disk_full, EventLevel::error, "sends are refused for lack of disk space", many,
     "a send found no space for a segment", "free space, or delete messages"},
    {EventCode::disk_has_space, EventLevel::info, "sends are accepted again", many,
     "a second without refused sends has passed", "nothing"},
    {EventCode::disk_nearly_full, EventLevel::warning, "little of the disk is free", few,
     "less than a twentieth of the data directory's file system is free", "free space on that disk"},
    {EventCode::memory_full, EventLevel::error, "sends are refused for lack of memory", many,
     "queues, messages and timers need the memory of `--memory`", "receive and delete messages, or raise `--memory`"},
    {EventCode::flush_slow, EventLevel::warning, "durable writes are slow", few,
     "a durable write takes more than 100 ms on average", "look what else writes to that disk"},
    {EventCode::new_file_set_aside, EventLevel::error, "a new file of the log could not be written", many,
     "the disk has bad blocks", "replace the disk"},
    {EventCode::message_unreadable, EventLevel::error, "messages cannot be read", many,
     "a body cannot be read from the disk", "`pawl wal repair`"},
    {EventCode::log_failed, EventLevel::error, "the log failed, the process stops", many,
     "a write or flush failed; the process ends with 1", "check the disk, start again"},
    {EventCode::log_not_closed, EventLevel::warning, "the log could not be marked as closed", many,
     "the mark of a clean stop was not written", "nothing: the next start takes longer"},
    {EventCode::io_uring_revoked, EventLevel::error, "io_uring is refused since the start, the process stops", many,
     "a security profile changed; the process ends with 1", "`--io threads`, or allow the calls"},
    {EventCode::auth_failed, EventLevel::warning, "authentication failed", few,
     "a signature or key proof is wrong; see `pawl_auth_failures_total`", "check the keys and the address"},
    {EventCode::wrong_protocol, EventLevel::warning, "a client speaks another protocol", few,
     "HTTP at the binary port or at a port with TLS, or TLS at a port without it", "correct the address or the scheme of the client"},
    {EventCode::settings_reloaded, EventLevel::info, "settings were reloaded", few,
     "SIGHUP: certificate and key, access keys or the token of the admin port", "nothing"},
    {EventCode::settings_not_reloaded, EventLevel::error, "settings could not be reloaded", few,
     "SIGHUP; a file has a fault, and what it sets stays", "correct the file, SIGHUP again"},
    {EventCode::settings_unchanged, EventLevel::info, "no setting of the file differs", few,
     "SIGHUP; keys, certificate and token are reported apart", "nothing"},
    {EventCode::setting_applied, EventLevel::info, "a changed setting was applied", few,
     "SIGHUP, once for each setting of the file of `--config`", "nothing"},
    {EventCode::setting_needs_restart, EventLevel::warning, "a changed setting needs a restart", few,
     "SIGHUP, once for each setting of the file of `--config`", "restart the server"},
    {EventCode::setting_overridden, EventLevel::warning, "a setting of the file has no effect", few,
     "SIGHUP; a flag or a variable sets it too", "change the flag or variable, or remove the setting from the file"},
    {EventCode::certificate_near_end, EventLevel::warning, "the TLS certificate ends soon", few,
     "the certificate ends within 14 days, or has ended", "renew it, then SIGHUP"},
    {EventCode::check_ok, EventLevel::info, "a check of /healthz is ok again", many,
     "a check that was a warning or an error is ok", "nothing"},
    {EventCode::draining, EventLevel::info, "the server drains", few,
     "SIGUSR2", "nothing"},
    {EventCode::stopping, EventLevel::info, "the server stops", few,
     "SIGTERM, SIGINT, or the end of a drain", "nothing"},
    {EventCode::stopped, EventLevel::info, "the server has stopped", few,
     "every request is answered, and what was accepted is on disk", "nothing"},
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

std::optional<EventCode> event_code_of(std::string_view name) {
  const auto found = std::ranges::find(code_names, name);
  if (found == code_names.end()) return std::nullopt;
  return static_cast<EventCode>(found - code_names.begin());
}

const EventRow& row_of(EventCode code) {
  const auto number = static_cast<std::size_t>(code);
  CHECK(number < event_codes, "EventCode {}", number);
  return event_rows[number];
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// SettingsReload: reads the file of `pawl serve --config` again at a SIGHUP, and reports each of
// its settings that differs from the running one.
//
//   the file's value       | event
//   is the running one     | none; without any difference one that says so
//   can be applied         | setting_applied, and /config has the new value
//   is set by a flag or a  | setting_overridden
//   variable too           |
//   otherwise              | setting_needs_restart
//
// Errors: settings_not_reloaded, with the first fault of the file; then no setting changes. A pipe
//         was read at the start and is not read again.
// Owner:  the options of the server, which calls read() from one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/server/server.h"
#include "tools/config/given_values.h"
#include "tools/config/setting_differences.h"

namespace pawl {

class SettingsReload {
 public:
  // `given`: the values of flags and variables. `path`: empty without a file. `running`: as the
  // start has them.
  SettingsReload(GivenValues given, std::string path, std::vector<ToldSetting> running);

  SettingsAfterReload read();

 private:
  void compare(std::string_view text, std::vector<Event>& events);
  Event event_of(const SettingDifference& one, const ServerOptions& options);

  GivenValues given_;
  std::string path_;
  std::vector<ToldSetting> running_;
};

}  // namespace pawl

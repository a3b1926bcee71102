// SPDX-License-Identifier: Apache-2.0
#include "tools/config/settings_reload.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/check.h"
#include "tools/config/config_file.h"
#include "tools/config/configuration.h"
#include "tools/config/server_options.h"

namespace pawl {
namespace {

Event not_reloaded(const std::string& why) {
  return {EventCode::settings_not_reloaded,
          fmt::format("SIGHUP: not the settings, which stay as they were: {}", why)};
}

}  // namespace

SettingsReload::SettingsReload(GivenValues given, std::string path,
                               std::vector<ToldSetting> running)
    : given_(std::move(given)), path_(std::move(path)), running_(std::move(running)) {}

SettingsAfterReload SettingsReload::read() {
  SettingsAfterReload after;
  std::error_code unknown;
  if (path_.empty()) {
    after.events.push_back({EventCode::settings_unchanged,
                            "SIGHUP: no setting differs: they are of flags and variables, without "
                            "a file (--config)"});
  } else if (std::filesystem::exists(path_, unknown) &&
             !std::filesystem::is_regular_file(path_, unknown)) {
    after.events.push_back(not_reloaded(
        fmt::format("{} is not a regular file, and can be read at the start alone", path_)));
  } else if (const auto text = read_config_file(path_); text) {
    compare(*text, after.events);
  } else {
    after.events.push_back(not_reloaded(text.error()));
  }
  CHECK(!after.events.empty(), "a SIGHUP without a word on {}", path_);
  after.running = running_;
  return after;
}

void SettingsReload::compare(std::string_view text, std::vector<Event>& events) {
  const Configuration read = read_configuration(given_, text, path_);
  if (!read.faults.empty()) return events.push_back(not_reloaded(read.faults.front()));
  GivenValues in_file;
  const Faults faults = read_config(text, path_, in_file);
  CHECK(faults.empty(), "{}", faults.front());
  const std::vector<ToldSetting> wanted = setting_texts(in_file, read.options);
  for (const SettingDifference& one : setting_differences(running_, wanted)) {
    const bool silent = !in_file.contains(one.key->flag);
    if (silent && given_.contains(one.key->flag)) continue;  // of a flag or variable alone
    events.push_back(event_of(one, read.options));
  }
  if (events.empty())
    events.push_back({EventCode::settings_unchanged,
                      fmt::format("SIGHUP: no setting of {} differs from the running one", path_)});
}

Event SettingsReload::event_of(const SettingDifference& one, const ServerOptions& options) {
  const auto& [key, running, wanted] = one;
  const std::string file =
      fmt::format("{}.{} = {} ({})", wanted.section, wanted.key, wanted.value,
                  wanted.source == "default" ? path_ + " has none" : wanted.source);
  Event event;
  if (given_.contains(key->flag)) {
    event.code = EventCode::setting_overridden;
    event.text = fmt::format("SIGHUP: {} has no effect: {} is set by {}", file, running.value,
                             running.source);
  } else if (key->apply != nullptr) {
    event.code = EventCode::setting_applied;
    event.text = fmt::format("SIGHUP: {} is applied, before {}", file, running.value);
    key->apply(options);
    const auto told = std::ranges::find_if(running_, [&](const ToldSetting& each) {
      return each.section == wanted.section && each.key == wanted.key;
    });
    CHECK(told != running_.end(), "{}.{} does not run", wanted.section, wanted.key);
    *told = wanted;
  } else {
    event.code = EventCode::setting_needs_restart;
    event.text = fmt::format("SIGHUP: {} needs a restart; the server runs with {} ({})", file,
                             running.value, running.source);
  }
  return std::move(event)
      .with("section", wanted.section)
      .with("key", wanted.key)
      .with("running", running.value)
      .with("file", wanted.value);
}

}  // namespace pawl

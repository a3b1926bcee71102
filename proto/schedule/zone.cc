// SPDX-License-Identifier: Apache-2.0
#include "proto/schedule/zone.h"

#include <absl/time/time.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "proto/text/suggest.h"
#include "proto/text/text.h"

namespace pawl {

struct Zone::Rules {
  std::string name;
  absl::TimeZone zone;
};

namespace {

namespace fs = std::filesystem;
using std::chrono::local_days;
using std::chrono::local_seconds;

constexpr std::string_view utc_name = "UTC";

// The folder in which Abseil looks, too.
fs::path zone_folder() {
  const char* const folder = std::getenv("TZDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/usr/share/zoneinfo";
}

bool is_zone_file(const fs::path& file) {
  constexpr std::string_view magic = "TZif";
  char head[magic.size()] = {};
  std::ifstream in(file, std::ios::binary);
  return in.read(head, sizeof head) && std::string_view(head, sizeof head) == magic;
}

// The name of a zone within the folder. posix/ and right/ repeat all zones, the latter with leap
// seconds; the others are settings of a machine.
bool is_zone_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("_+-/").contains(c);
  };
  return !name.empty() && name.size() <= zone_name_max && !name.starts_with('/') &&
         std::ranges::all_of(name, is_allowed) && !name.starts_with("posix/") &&
         !name.starts_with("right/") && name != "posixrules" && name != "localtime";
}

// The folder is read once: a newer one is known after a restart, as the zones themselves.
const std::vector<std::string>& names_in(const fs::path& folder) {
  thread_local std::map<std::string, std::vector<std::string>> known;
  std::vector<std::string>& names = known[folder.string()];
  if (!names.empty()) return names;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().lexically_relative(folder).string();
    if (is_zone_name(name) && is_zone_file(at->path())) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::string unknown_zone(std::string_view name, const fs::path& folder) {
  std::string printable(name.substr(0, zone_name_max));
  make_printable(printable);
  const std::vector<std::string>& names = names_in(folder);
  if (names.empty())
    return fmt::format(
        "the time zone \"{}\" is not known: the folder {} has no zones. Install the package "
        "tzdata; without it there is UTC alone.",
        printable, folder.string());
  const std::string in_a_region = fmt::format("/{}", printable);
  const auto region = std::ranges::find_if(names, [&](std::string_view known) {
    return known.size() > in_a_region.size() &&
           equals_ignoring_case(known.substr(known.size() - in_a_region.size()), in_a_region);
  });
  const std::string hint = region != names.end() ? fmt::format(" Did you mean \"{}\"?", *region)
                                                 : suggestion(printable, names);
  return fmt::format(
      "the time zone \"{}\" is not one of the {} in {}. Write a name such as Europe/Berlin or "
      "UTC.{}",
      printable, names.size(), folder.string(), hint);
}

absl::Time time_of(Instant instant) { return absl::FromUnixMillis(instant.ms); }

Instant instant_of(absl::Time time) { return {absl::ToUnixMillis(time)}; }

absl::CivilSecond civil_time(local_seconds local) {
  return absl::CivilSecond() + local.time_since_epoch().count();
}

}  // namespace

Zone::Zone(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {
  CHECK(rules_ != nullptr);
}

Zone::Zone() : Zone(std::make_shared<const Rules>(std::string(utc_name), absl::UTCTimeZone())) {}

std::expected<Zone, std::string> Zone::find(std::string_view name) {
  if (name == utc_name) return Zone();
  const fs::path folder = zone_folder();
  Rules rules{std::string(name), {}};
  // Abseil keeps every name for which it is asked, and takes paths.
  if (!is_zone_name(name) || !is_zone_file(folder / name))
    return std::unexpected(unknown_zone(name, folder));
  if (!absl::LoadTimeZone(rules.name, &rules.zone))
    return std::unexpected(
        fmt::format("the time zone \"{}\" cannot be read: {} is damaged. Install the package "
                    "tzdata again.",
                    name, (folder / name).string()));
  return Zone(std::make_shared<const Rules>(std::move(rules)));
}

const std::string& Zone::name() const { return rules_->name; }

local_seconds Zone::local(Instant instant) const {
  const absl::CivilSecond civil = rules_->zone.At(time_of(instant)).cs;
  return local_seconds(std::chrono::seconds(civil - absl::CivilSecond()));
}

Zone::Moment Zone::moment(local_seconds local) const {
  const absl::TimeZone::TimeInfo info = rules_->zone.At(civil_time(local));
  const bool exists = info.kind != absl::TimeZone::TimeInfo::SKIPPED;
  return {instant_of(exists ? info.pre : info.trans), exists};
}

std::chrono::seconds Zone::offset(Instant instant) const {
  return std::chrono::seconds(rules_->zone.At(time_of(instant)).offset);
}

}  // namespace pawl

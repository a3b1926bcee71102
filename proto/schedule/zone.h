// SPDX-License-Identifier: Apache-2.0
// A time zone of the machine's zone database: local times of instants, and instants of local times.
//
// The database is the folder of $TZDIR, or /usr/share/zoneinfo. UTC needs none.
//
// Units:  an Instant of the wall clock; local times in seconds.
// Limits: zone_name_max; correct for the years 1970 to 2199 and the days around them.
// Errors: a text with the name, the folder and the remedy.
// Owner:  copies share a zone, which is read once and kept until the process ends.
// Source: RFC 9636 (the files), by Abseil's absl/time, which only zone.cc includes.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace pawl {

inline constexpr std::size_t zone_name_max = 64;

class Zone {
 public:
  // The instant of a local time. A time that occurs twice has the first instant, and one that does
  // not exist the end of the gap.
  struct Moment {
    Instant instant;
    bool exists = true;
  };

  Zone();  // UTC
  // By its name, such as Europe/Berlin.
  static std::expected<Zone, std::string> find(std::string_view name);

  const std::string& name() const;
  std::chrono::local_seconds local(Instant instant) const;
  Moment moment(std::chrono::local_seconds local) const;
  std::chrono::seconds offset(Instant instant) const;  // of local time from UTC

 private:
  struct Rules;

  explicit Zone(std::shared_ptr<const Rules> rules);

  std::shared_ptr<const Rules> rules_;
};

}  // namespace pawl

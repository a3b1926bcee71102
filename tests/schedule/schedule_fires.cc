// SPDX-License-Identifier: Apache-2.0
// Prints the fires of schedules, for schedule_zones_test.py.
//
// Each line of the input has, between tabs: a zone, next or skip, a time in milliseconds since
// 1970, the largest number of fires after it, an expression. Each line of the output has the
// fires, in seconds since 1970 between spaces, or a # and an error.
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "proto/schedule/fires.h"

namespace pawl {
namespace {

std::string fires_of(std::istringstream words) {
  std::string zone_name, nonexistent, expression;
  Instant after;
  int count = 0;
  std::getline(words, zone_name, '\t');
  std::getline(words, nonexistent, '\t');
  words >> after.ms >> count;
  words.ignore(1);
  std::getline(words, expression);
  const auto parsed = parse_schedule(expression);
  const auto zone = Zone::find(zone_name);
  if (!words || !parsed || !zone)
    return "# " + (!parsed ? parsed.error() : !zone ? zone.error() : "a line of another form");
  const ScheduleTimes schedule{
      *parsed, *zone, after, nonexistent == "skip" ? NonexistentTime::skip : NonexistentTime::next};
  std::string text;
  std::optional<Instant> fire = after;
  while (count-- > 0 && (fire = next_fire(schedule, *fire)))
    text += (text.empty() ? "" : " ") + std::to_string(fire->ms / 1000);
  return text;
}

}  // namespace
}  // namespace pawl

int main() {
  std::string line;
  while (std::getline(std::cin, line))
    std::cout << pawl::fires_of(std::istringstream(line)) << '\n';
  return EXIT_SUCCESS;
}

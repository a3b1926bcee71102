// SPDX-License-Identifier: Apache-2.0
// Schedules: a text is an expression, or is refused with a printable reason; the fires of an
// expression are in order, within its years and, by cron, at times that its fields name.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "proto/schedule/fires.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr int fires_max = 20;
constexpr Instant years_begin{-86'400'000}, years_end{7'258'204'800'000};  // with a zone's offset

const Zone& zone_of(bool other) {
  static const Zone utc, berlin = Zone::find("Europe/Berlin").value_or(utc);
  return other ? berlin : utc;
}

void check_fire(const ScheduleTimes& schedule, Instant after, Instant fire) {
  CHECK(fire > after, "{} is not after {}", fire.ms, after.ms);
  CHECK(fire >= years_begin && fire < years_end, "a fire at {}", fire.ms);
  const auto* const cron = std::get_if<CronFields>(&schedule.expression);
  if (cron == nullptr || schedule.nonexistent == NonexistentTime::next) return;
  const auto local = std::chrono::floor<std::chrono::minutes>(schedule.zone.local(fire));
  CHECK(cron->next(local) == local, "a fire at {}, which the fields do not name", fire.ms);
}

void run(std::string_view text) {
  Instant after;
  if (text.size() > 8) {
    std::int64_t ms = 0;
    for (const char c : text.substr(0, 8)) ms = ms << 7 | (c & 0x7f);
    after.ms = ms % years_end.ms;
    text.remove_prefix(8);
  }
  const auto parsed = parse_schedule(text);
  if (!parsed) {
    CHECK(!parsed.error().empty() && check_text(parsed.error()) == TextFault::none);
    return;
  }
  CHECK(text.size() <= expression_max, "{} characters", text.size());
  for (const bool other : {false, true})
    for (const auto nonexistent : {NonexistentTime::next, NonexistentTime::skip}) {
      const ScheduleTimes schedule{*parsed, zone_of(other), Instant{}, nonexistent};
      std::optional<Instant> fire = after;
      for (int i = 0; i < fires_max; ++i) {
        const Instant before = *fire;
        fire = next_fire(schedule, before);
        if (!fire) break;
        check_fire(schedule, before, *fire);
      }
    }
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pawl::run({reinterpret_cast<const char*>(data), size});
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/own_attributes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include "core/base/check.h"
#include "core/base/format.h"
#include "proto/text/duration.h"
#include "proto/text/suggest.h"
#include "proto/text/timestamp.h"

namespace pawl {
namespace {

using F = SqsFault;

bool refuse_own_value(const MessageAttribute& given, std::string_view reason, Refusal& refusal) {
  return refusal.because(
      F::invalid_parameter_value, "Value {} for the attribute {} is invalid. Reason: {}",
      given.kind == AttributeKind::text ? shown(given.value) : "(binary)", given.name, reason);
}

// As milliseconds since 1970 these are days of 1970 to 1973, as seconds those of today.
bool counts_seconds(std::int64_t number) {
  return number >= 1'000'000'000 && number < 100'000'000'000;
}

bool refuse_second(const MessageAttribute& given, Refusal& refusal) {
  return refuse_own_value(given, "The message has this attribute already.", refusal);
}

bool read_not_before(const MessageAttribute& given, OwnAttributes& out, Refusal& refusal) {
  if (out.not_before) return refuse_second(given, refusal);
  const std::string_view text = given.value;
  GivenTime time{.text = text, .time = {}};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, time.time.ms);
  const bool number = error == std::errc() && stop == end && time.time.ms >= 0;
  if (number && counts_seconds(time.time.ms))
    return refuse_own_value(given, "A number counts milliseconds since 1970, not seconds.",
                            refusal);
  const std::optional<Instant> read = number ? time.time : parse_timestamp(text);
  if (!read || given.kind != AttributeKind::text)
    return refuse_own_value(
        given,
        fmt::format("It must be a time with an offset, as {}, or milliseconds since 1970.",
                    timestamp_form),
        refusal);
  time.time = *read;
  out.not_before = time;
  return true;
}

bool read_time_to_live(const MessageAttribute& given, OwnAttributes& out, Refusal& refusal) {
  if (out.time_to_live) return refuse_second(given, refusal);
  const std::optional<Duration> read =
      given.kind == AttributeKind::text ? parse_duration(given.value) : std::nullopt;
  if (read && read->ms > 0 && *read <= time_to_live_max) {
    out.time_to_live = read;
    return true;
  }
  constexpr std::int64_t days = time_to_live_max.ms / 86'400'000;
  const std::string allowed = fmt::format(
      "It must be 1 ms to {} days, as {}; a number alone counts seconds.", days, duration_forms);
  const std::string_view why =
      !read           ? ""
      : read->ms == 0 ? "A message that expires as soon as it is visible reaches nobody. "
                      : "It is too long. ";
  return refuse_own_value(given, std::string(why) + allowed, refusal);
}

struct OwnAttributeRow {
  std::string_view name;
  bool (*read)(const MessageAttribute& given, OwnAttributes& out, Refusal& refusal);
};
constexpr OwnAttributeRow own_rows[] = {
    {not_before_name,   read_not_before  },
    {time_to_live_name, read_time_to_live},
};
// Among as many attributes as are kept, a duplicate is then seen.
static_assert(std::size(own_rows) + 1 < message_attributes_max);

const OwnAttributeRow* own_row(std::string_view name) {
  const auto row = std::ranges::find(own_rows, name, &OwnAttributeRow::name);
  return row == std::end(own_rows) ? nullptr : row;
}

}  // namespace

bool is_own_attribute(std::string_view name) {
  return name.starts_with("x-") && own_row(name) != nullptr;
}

std::string own_attribute_hint(std::string_view name) {
  if (!name.starts_with("x-")) return {};
  std::vector<std::string> names;
  for (const OwnAttributeRow& row : own_rows) names.emplace_back(row.name);
  const std::string nearest = suggestion(name, names);
  return nearest.empty()
             ? " There are " + std::string(trace_header_name) + ", " + join_texts(names, ", ") + "."
             : nearest;
}

bool read_own_attribute(const MessageAttribute& given, std::optional<OwnAttributes>& out,
                        Refusal& refusal) {
  const OwnAttributeRow* const row = own_row(given.name);
  CHECK(row != nullptr, "{} is no attribute of pawl", given.name);
  if (!out) out.emplace();
  return row->read(given, *out, refusal);
}

bool delay_until(const GivenTime& not_before, Instant now, const QueueConfig& queue, Duration& out,
                 Refusal& refusal) {
  CHECK(now.ms >= 0, "the time is {}", now.ms);
  out = Duration{0};
  if (not_before.time <= now) return true;
  const Duration left = not_before.time - now;
  const bool waits_apart = queue.ages_from_delivery();  // x-max-delay is set
  const MessageAttribute given{not_before_name, "String", AttributeKind::text, not_before.text};
  if (queue.is_fifo() && !waits_apart)
    return refuse_own_value(
        given, "A message of a FIFO queue has a delay of its own only where x-max-delay is set.",
        refusal);
  if (left > queue.delay_limit())
    return refuse_own_value(
        given,
        fmt::format("It is {} s from now; a message of this queue waits at most {} s{}. Choose an "
                    "earlier time, or {} x-max-delay, at most {} s.",
                    left.ms / 1000 + (left.ms % 1000 == 0 ? 0 : 1), queue.delay_limit().ms / 1000,
                    waits_apart ? ", its x-max-delay" : "",
                    waits_apart ? "raise" : "set the queue's", delay_max.ms / 1000),
        refusal);
  // Engine time and wall clock differ by parts of a millisecond: rounded up.
  out = std::min(left + Duration{1}, queue.delay_limit());
  return true;
}

}  // namespace pawl

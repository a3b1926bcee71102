// SPDX-License-Identifier: Apache-2.0
// PeekMessages: the messages of a queue in every state, without receiving them.
#include <fmt/core.h>

#include "core/base/check.h"
#include "proto/pawl/actions.h"
#include "proto/pawl/peeked_writer.h"
#include "proto/pawl/replay_check.h"

namespace pawl {
namespace {

using F = SqsFault;

constexpr std::uint64_t messages_max = 1000, messages_default = 20;
// The response ends with the message that reaches this size.
constexpr std::size_t response_bytes_max = 1 << 20;

bool read_states(PawlState& s, std::uint32_t& states) {
  std::span<const std::string> names;
  if (!s.members.list("States", names, s.refusal())) return false;
  if (names.empty()) return true;
  states = 0;
  for (const std::string& name : names) {
    const std::uint32_t bit = state_bit(name);
    if (bit == 0)
      return s.refusal().because(F::invalid_parameter_value, "States has {}; the states are {}.",
                                 shown(name), state_names_text);
    states |= bit;
  }
  return true;
}

bool read_filter(PawlState& s, std::string_view filter) {
  std::string why;
  const ReplayFault fault = replay_filter_fault(filter, why);
  if (fault == ReplayFault::filter_size)
    return s.refusal().because(F::invalid_parameter_value,
                               "FilterPolicy has {} bytes; at most {} are allowed.", filter.size(),
                               replay_filter_bytes_max);
  if (fault != ReplayFault::none)
    return s.refusal().because(F::invalid_parameter_value, "FilterPolicy is no filter policy: {}.",
                               why);
  s.match.filter = FilterPolicy::parse(filter, FilterPolicy::Scope::attributes, why);
  CHECK(s.match.filter != nullptr, "a valid filter policy: {}", why);
  return true;
}

bool read_match(PawlState& s) {
  std::string_view group, name, value, filter;
  Refusal& refusal = s.refusal();
  if (!s.members.text("MessageGroupId", group, refusal) ||
      !s.members.text("AttributeName", name, refusal) ||
      !s.members.text("AttributeValue", value, refusal) ||
      !s.members.text("FilterPolicy", filter, refusal))
    return false;
  if (name.empty() && !value.empty())
    return refusal.because(F::missing_parameter, "AttributeValue needs AttributeName beside it.");
  s.match = {.group = std::string(group),
             .attribute_name = std::string(name),
             .attribute_value = std::string(value)};
  return filter.empty() || read_filter(s, filter);
}

}  // namespace

CallStep peek_messages(PawlState& s) {
  std::uint32_t states = PeekSlice::all_states;
  std::uint64_t from = 0;
  s.limit = messages_default;
  if (!read_states(s, states) || !read_match(s) ||
      !s.members.number("From", 0, seq_max, from, s.refusal()) ||
      !s.members.number("MaxMessages", 1, messages_max, s.limit, s.refusal()))
    return CallStep::respond;
  return s.series.begin(s.queue, from, states, PeekSeries::call_slices_max);
}

CallStep peek_messages_result(PawlState& s) {
  const CallStep step =
      s.series.resume([&](const PeekedMessage& message, const Delivery* delivery) {
        if (!s.match.takes(delivery)) return true;
        if (s.count == s.limit || s.items.size() >= response_bytes_max) return false;
        if (s.count++ > 0) s.items += ',';
        PeekedWriter(*s.queue, *s.call->config, SqsForm::json, s.items, s.scratch)
            .write(message, delivery);
        return true;
      });
  if (s.series.error() != Errc::ok) return refuse_peek(s, s.series.error());
  if (step == CallStep::route) return step;
  CHECK(s.count == 0 || !s.items.empty(), "{} messages without text", s.count);
  CHECK(s.count <= s.limit, "{} messages of {}", s.count, s.limit);
  s.body = fmt::format(R"({{"Messages":[{}])", s.items);
  if (s.series.next() != 0) s.body += fmt::format(R"(,"Next":{})", s.series.next());
  s.body += '}';
  return CallStep::respond;
}

}  // namespace pawl

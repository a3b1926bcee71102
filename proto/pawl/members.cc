// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/members.h"

#include <algorithm>
#include <utility>

#include "proto/text/text.h"

namespace pawl {
namespace {

using F = SqsFault;
using Kind = JsonMember::Kind;

}  // namespace

std::string with_commas(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

bool Members::read(std::string_view body, std::string_view action,
                   std::span<const std::string_view> known, Refusal& refusal) {
  members_.clear();
  auto found = json_members(body.empty() ? "{}" : body);
  if (!found)
    return refusal.because(F::invalid_parameter_value,
                           "The body of {} is not a JSON object with each member once.", action);
  members_ = std::move(*found);
  for (const JsonMember& member : members_) {
    if (std::ranges::find(known, member.key) == known.end())
      return refusal.because(F::invalid_parameter_value, "{} has no member {}. It has {}.", action,
                             shown(member.key), with_commas(known));
  }
  return true;
}

const JsonMember* Members::find(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &JsonMember::key);
  return found == members_.end() ? nullptr : &*found;
}

bool Members::text(std::string_view name, std::string_view& value, Refusal& refusal) const {
  const JsonMember* const member = find(name);
  if (member == nullptr) return true;
  if (member->kind != Kind::text)
    return refusal.because(F::invalid_parameter_value, "{} is not a text.", name);
  value = member->text;
  return true;
}

bool Members::number(std::string_view name, std::uint64_t least, std::uint64_t most,
                     std::uint64_t& value, Refusal& refusal) const {
  const JsonMember* const member = find(name);
  if (member == nullptr) return true;
  const auto given = member->kind == Kind::number ? decimal_number(member->text) : std::nullopt;
  if (!given || *given < least || *given > most)
    return refusal.because(
        F::invalid_parameter_value, "{} is {}; it must be a whole number from {} to {}.", name,
        member->kind == Kind::number ? shown(member->text) : "no number", least, most);
  value = *given;
  return true;
}

bool Members::list(std::string_view name, std::span<const std::string>& value,
                   Refusal& refusal) const {
  const JsonMember* const member = find(name);
  if (member == nullptr) return true;
  if (member->kind != Kind::list)
    return refusal.because(F::invalid_parameter_value, "{} is not a list of texts.", name);
  value = member->list;
  return true;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/message_rules.h"

#include <algorithm>

#include "proto/text/text.h"

namespace pawl {
namespace {

using F = SqsFault;

bool refuse_attribute(AttributeFault fault, const MessageAttribute& a, Refusal& refusal) {
  const std::string_view name = shown(a.name);
  switch (fault) {
    case AttributeFault::none:
      return true;
    case AttributeFault::name_empty:
      return refusal.because(F::invalid_parameter_value,
                             "The request must contain non-empty message (user) attribute names.");
    case AttributeFault::name_long:
      return refusal.because(F::invalid_parameter_value,
                             "Message (user) attribute name must be shorter than 256 bytes.");
    case AttributeFault::name_reserved:
      return refusal.because(
          F::invalid_parameter_value,
          "You can't use message attribute names beginning with 'AWS.' or 'Amazon'. These strings "
          "are reserved for internal use.");
    case AttributeFault::name_characters:
      return refusal.because(
          F::invalid_parameter_value,
          "The message attribute name '{}' is invalid. Attribute name can contain A-Z, a-z, 0-9, "
          "underscore (_), hyphen (-), and period (.) characters.",
          name);
    case AttributeFault::type_empty:
      return refusal.because(
          F::invalid_parameter_value,
          "The message (user) attribute '{}' must contain a non-empty message attribute type.",
          name);
    case AttributeFault::type_long:
      return refusal.because(F::invalid_parameter_value,
                             "Message (user) attribute type must be shorter than 256 bytes.");
    case AttributeFault::type_unknown:
      return refusal.because(
          F::invalid_parameter_value,
          "The type of message (user) attribute '{}' is invalid. You must use only the following "
          "supported type prefixes: Binary, Number, String.",
          name);
    case AttributeFault::value_empty:
      return refusal.because(
          F::invalid_parameter_value,
          "Message (user) attribute '{}' must contain a non-empty value of type '{}'.", name,
          a.type.substr(0, a.type.find('.')));
    case AttributeFault::value_characters:
      return refusal.because(F::invalid_parameter_value,
                             "Invalid characters found in the value of message (user) attribute "
                             "'{}'. Valid unicode characters are {}",
                             name, allowed_characters);
    case AttributeFault::not_a_number:
      return refusal.because(F::invalid_parameter_value,
                             "Can't cast the value of message (user) attribute '{}' to a number.",
                             name);
  }
  return true;
}

// Sets `out` to the value that the type selects; a missing value is refused before other rules.
bool resolve(const AttributeInput& given, MessageAttribute& out, Refusal& refusal) {
  if (given.has_list) {
    return refusal.because(
        F::invalid_parameter_value,
        "Message attribute list values in SendMessage operation are not supported.");
  }
  out.name = given.name;
  out.type = given.type.value_or("");
  const bool bytes = out.type.substr(0, out.type.find('.')) == "Binary";
  const auto& value = bytes ? given.bytes : given.text;
  const bool missing = out.type.empty() ? !given.text && !given.bytes : !value;
  if (missing && !given.name.empty()) {
    return refusal.because(
        F::invalid_parameter_value,
        "The message (user) attribute '{}' must contain a non-empty message attribute value.",
        shown(given.name));
  }
  out.kind = bytes ? AttributeKind::bytes : AttributeKind::text;
  out.value = value.value_or("");
  return true;
}

}  // namespace

bool check_message_attribute(const AttributeInput& given, MessageAttribute& out, Refusal& refusal) {
  return resolve(given, out, refusal) && refuse_attribute(check_attribute(out), out, refusal);
}

bool good_message_id(std::string_view id) {
  return !id.empty() && id.size() <= message_id_max &&
         std::ranges::all_of(id, [](char c) { return c >= 0x21 && c <= 0x7E; });
}

bool good_resource_name(std::string_view name, std::size_t max) {
  constexpr std::string_view fifo = ".fifo";
  if (name.size() > max) return false;
  if (name.ends_with(fifo)) name.remove_suffix(fifo.size());
  return is_plain_name(name);
}

bool good_entry_id(std::string_view id) { return id.size() <= entry_id_max && is_plain_name(id); }

void write_sequence_number(std::array<char, 20>& out, Seq seq) {
  for (std::size_t i = out.size(); i > 0; seq /= 10) out[--i] = static_cast<char>('0' + seq % 10);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/tags.h"

#include <algorithm>
#include <string>

#include "proto/sqs/actions.h"
#include "proto/text/text.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using Next = SqsCall::Next;

constexpr std::size_t tag_key_max = 128;
constexpr std::size_t tag_value_max = 256;

std::size_t count_characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Allowed: letters and digits, all characters beyond ASCII, white space and _ . : / = + - @
bool good_characters(std::string_view text) {
  static constexpr std::string_view others = " \t\n\r_.:/=+-@";
  return check_text(text) == TextFault::none && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  static_cast<unsigned char>(c) >= 0x80 || others.contains(c);
         });
}

bool refuse_key_length(Refusal& refusal) {
  return refusal.because(F::invalid_parameter_value,
                         "Tag keys must be between 1 and 128 characters in length.");
}

}  // namespace

bool check_tag(std::string_view key, std::string_view value, Refusal& refusal) {
  if (key.empty() || count_characters(key) > tag_key_max) {
    return refuse_key_length(refusal);
  }
  if (count_characters(value) > tag_value_max) {
    return refusal.because(F::invalid_parameter_value,
                           "Tag values must be between 0 and 256 characters in length.");
  }
  if (!good_characters(key) || !good_characters(value)) {
    return refusal.because(F::invalid_parameter_value,
                           "Tag keys and values can only include letters, digits, white space and "
                           "the characters _ . : / = + - @");
  }
  return !key.starts_with("aws:") ||
         refusal.because(F::invalid_parameter_value, "Tag keys cannot begin with aws:");
}

void put_tag(Tags& tags, std::string_view key, std::string_view value) {
  const auto it = std::ranges::lower_bound(tags, key, {}, &Tags::value_type::first);
  if (it != tags.end() && it->first == key) {
    it->second = value;
  } else {
    tags.emplace(it, key, value);
  }
}

bool add_tags(SqsState& s, std::string_view queue, Tags& tags) {
  for (const auto& [key, value] : s.input.tags) {
    if (!check_tag(key, value, s.refusal)) return false;
    put_tag(tags, key, value);
    if (tags.size() > tags_max) {
      return s.refusal.because(F::invalid_parameter_value, "Too many tags added for queue {}.",
                               queue);
    }
  }
  return true;
}

Next tag_queue(SqsState& s) {
  if (s.input.tags.empty()) {
    s.refusal.because(F::missing_parameter, "The request must contain the parameter Tags.");
    return Next::respond;
  }
  s.found = *s.directory->find(s.queue->id);
  return change_tags(s);
}

Next untag_queue(SqsState& s) {
  if (s.input.tag_keys.empty()) {
    refuse_key_length(s.refusal);
    return Next::respond;
  }
  s.found = *s.directory->find(s.queue->id);
  return change_tags(s);
}

// TagQueue or UntagQueue, applied to the tags of `found`.
Next change_tags(SqsState& s) {
  s.tags = s.found->tags;
  std::erase_if(s.tags, [&](const Tags::value_type& tag) {
    return std::ranges::find(s.input.tag_keys, tag.first) != s.input.tag_keys.end();
  });
  if (!add_tags(s, s.queue_name, s.tags)) return Next::respond;
  s.request.tags = &s.tags;
  s.request.based_on = s.found;
  return s.route(Op::set_attributes, control_shard);
}

Next list_queue_tags(SqsState& s) {
  s.found = *s.directory->find(s.queue->id);
  return Next::respond;
}

void list_queue_tags_result(SqsState& s, SqsResult& result) {
  if (s.found->tags.empty()) return;
  result.begin_map("Tags");
  for (const auto& [key, value] : s.found->tags) result.pair("Tag", key, value, "Key");
  result.end_map();
}

}  // namespace pawl::sqs

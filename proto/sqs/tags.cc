// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "proto/aws/tags.h"
#include "proto/sqs/actions.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using Next = CallStep;

}  // namespace

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
    (void)check_tag("", "", s.refusal);  // refuses the empty key
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

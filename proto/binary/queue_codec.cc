// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/queue_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/aws/message_rules.h"
#include "proto/aws/tags.h"
#include "proto/binary/payloads.h"
#include "proto/sqs/queue_attributes.h"
#include "proto/text/text.h"

namespace pawl::binary {
namespace {}  // namespace

Status take_queue_attributes(BinaryReader& in, const AttributeSubject& of,
                             std::vector<AttributeChange>& changes) {
  std::vector<SqsInput::Pair> given;
  take_rows<payload::QueueAttribute>(in, [&](const payload::QueueAttribute& attribute) {
    given.push_back({attribute.name, attribute.value.text});
  });
  if (!in.ok()) return Status::bad_frame;
  if (repeated_name(given)) return Status::bad_attributes;
  // The rules are SQS's; the binary protocol discards SQS's error texts.
  Refusal refusal;
  return read_queue_attributes(given, of, changes, refusal) ? Status::ok : Status::bad_attributes;
}

Status take_tags(BinaryReader& in, Tags& tags) {
  Status status = Status::ok;
  take_rows<payload::Tag>(in, [&](const payload::Tag& tag) {
    Refusal refusal;
    if (!check_tag(tag.key, tag.value, refusal)) status = Status::invalid;
    tags.emplace_back(tag.key, tag.value);
  });
  if (tags.size() > tags_max) status = Status::invalid;
  std::ranges::sort(tags);
  const auto same_key = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (std::ranges::adjacent_find(tags, same_key) != tags.end()) status = Status::invalid;
  return status;
}

void put_queue_attributes(std::string& out, const QueueConfig& config) {
  const std::size_t begin = out.size();
  payload::QueueAttribute::Count count = 0;
  put(out, count);
  for (const Attribute attribute : settable_attributes()) {
    const std::string value = text_of(attribute, config);
    if (value.empty()) continue;
    put_struct(out, payload::QueueAttribute{name_of(attribute), {value}});
    ++count;
  }
  std::memcpy(out.data() + begin, &count, sizeof count);
}

Status check_queue_name(std::string_view name) {
  return good_resource_name(name, queue_name_max) ? Status::ok : Status::invalid;
}

}  // namespace pawl::binary

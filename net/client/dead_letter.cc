// SPDX-License-Identifier: Apache-2.0
#include "net/client/dead_letter.h"

#include <string_view>

#include "core/base/check.h"
#include "net/client/answers.h"
#include "proto/binary/payloads.h"

namespace pawl::client {
namespace {

// The encoded system attributes, without x-ttl.
std::string without_time_to_live(std::string_view encoded) {
  std::string kept;
  for (const Client::Attribute& attribute : Client::attributes_of(encoded)) {
    const char* const begin = attribute.name.data() - sizeof(std::uint16_t);  // its length
    const char* const end = attribute.value.data() + attribute.value.size();
    CHECK(begin >= encoded.data() && end <= encoded.data() + encoded.size(), "{} is elsewhere",
          attribute.name);
    if (attribute.name != time_to_live_attribute) kept.append(begin, end);
  }
  return kept;
}

}  // namespace

void put_dead_letter(std::string& out, const Client::MessageView& message, bool fifo) {
  CHECK(message.body.size() <= entry_body_mask, "a body of {} bytes", message.body.size());
  const std::string own_id = Client::to_string(message.id);
  std::string_view group = message.group, id;
  if (fifo && group.empty()) group = own_id;
  if (fifo) id = message.deduplication_id.empty() ? own_id : message.deduplication_id;
  std::string_view system = message.encoded_system;
  std::string shorter;
  if (system.find(time_to_live_attribute) != system.npos)
    system = shorter = without_time_to_live(system);
  payload::put_message(out, {.body = message.body,
                             .attributes = message.encoded_attributes,
                             .system = system,
                             .group = group,
                             .dedup_id = id});
}

}  // namespace pawl::client

// SPDX-License-Identifier: Apache-2.0
#include "net/client/dead_letter.h"

#include <string_view>

#include "core/base/check.h"
#include "proto/binary/payloads.h"

namespace pawl::client {

void put_dead_letter(std::string& out, const Client::MessageView& message, bool fifo) {
  CHECK(message.body.size() <= entry_body_mask, "a body of {} bytes", message.body.size());
  const std::string own_id = Client::to_string(message.id);
  std::string_view group = message.group, id;
  if (fifo && group.empty()) group = own_id;
  if (fifo) id = message.deduplication_id.empty() ? own_id : message.deduplication_id;
  payload::put_message(out, {.body = message.body,
                             .attributes = message.encoded_attributes,
                             .system = message.encoded_system,
                             .group = group,
                             .dedup_id = id});
}

}  // namespace pawl::client

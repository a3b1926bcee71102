// SPDX-License-Identifier: Apache-2.0
#include "net/client/dead_letter.h"

#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "proto/binary/frames.h"

namespace pawl::client {

void put_dead_letter(std::string& out, const Client::MessageView& message, bool fifo) {
  CHECK(message.body.size() <= entry_body_mask, "a body of {} bytes", message.body.size());
  const std::string own_id = Client::to_string(message.id);
  std::string_view group = message.group, id;
  if (fifo && group.empty()) group = own_id;
  if (fifo) id = message.deduplication_id.empty() ? own_id : message.deduplication_id;
  const auto attributes = static_cast<std::uint32_t>(message.encoded_attributes.size());
  const auto system = static_cast<std::uint32_t>(message.encoded_system.size());
  const auto names = static_cast<std::uint32_t>(group.size() | id.size() << 8);
  put(out, static_cast<std::uint32_t>(message.body.size()) |
               (attributes > 0 ? entry_has_attributes : 0) | (system > 0 ? entry_has_system : 0) |
               (names > 0 ? entry_has_names : 0));
  if (attributes > 0) put(out, attributes);
  if (system > 0) put(out, system);
  if (names > 0) put(out, names);
  out.append(message.body).append(message.encoded_attributes).append(message.encoded_system);
  out.append(group).append(id);
}

}  // namespace pawl::client

// SPDX-License-Identifier: Apache-2.0
// KeptContent: a message's content, copied out of the log while the message is on its way to
// another queue.
//
// Owner: its holder; the object must not be moved while `content` is in use.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/queue/request.h"

namespace pawl {

struct KeptContent {
  Content content;  // points into the members below
  std::string bytes;
  std::array<std::uint8_t, 16> md5{};

  // Copies the content from the log.
  void keep(const Content& stored);
};

}  // namespace pawl

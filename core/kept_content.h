// KeptContent: a message's content copied out of the log, for as long as it is on its way to another queue.
//
// Owner: whoever has it; it must not be moved while `content` is looked at.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/request.h"

namespace pawl {

struct KeptContent {
  Content content;  // points into what is below
  std::string bytes;
  std::array<std::uint8_t, 16> md5{};

  // Takes over what the log has.
  void keep(const Content& stored);
};

}  // namespace pawl

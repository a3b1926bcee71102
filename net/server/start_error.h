// SPDX-License-Identifier: Apache-2.0
// StartError: why a server did not start, and whether another attempt can help.
//
// Owner: values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace pawl {

enum class StartFault : std::uint8_t {
  machine,  // settings, ports, rights, limits, another process: a later start may succeed
  data,     // the data directory is damaged, incomplete, foreign or of a newer version: it stays so
  declared,  // the configuration file declares queues that cannot be made as it says
};

struct StartError {
  // A text without a fault is one of the machine.
  StartError(std::string sentence = {}, StartFault kind = StartFault::machine)  // NOLINT: implicit
      : text(std::move(sentence)), fault(kind) {}

  bool failed() const { return !text.empty(); }

  std::string text;  // for the operator: the failure, the value, the limit, the remedy
  StartFault fault;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// ConnectionState: how far the end of a connection has come.
//
//   open --protocol says close, peer closed--> finishing --answers sent--> half_closed
//     |                                            |                           | peer closed
//     |--error, timeout, too slow------------------+---------------------------+--> closing
//     \--HELLO names a queue of another shard--> leaving --the server stops--------^
//
// A closing connection is freed when nothing is armed and no call is left; a leaving one goes to
// the other shard when nothing is armed.
#pragma once

#include <cstdint>

namespace pawl {

enum class ConnectionState : std::uint8_t {
  open,
  leaving,
  finishing,    // it takes no more requests
  half_closed,  // our side is closed, after the last response
  closing,
};

constexpr bool may_become(ConnectionState before, ConnectionState after) {
  using enum ConnectionState;
  switch (before) {
    case open:
      return after == leaving || after == finishing || after == closing;
    case finishing:
      return after == half_closed || after == closing;
    case leaving:
    case half_closed:
      return after == closing;
    case closing:
      return false;
  }
  return false;
}

}  // namespace pawl

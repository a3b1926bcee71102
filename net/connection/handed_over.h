// SPDX-License-Identifier: Apache-2.0
// A connection on its way to the shard of the queue that its HELLO names.
//
//   acceptor's shard: leave() --nothing armed--> hand_over() --mesh--> other shard: start()
//
// The mesh carries it as a number: bit 63, and the address. The numbers of new connections
// (Connections::number_of) lack that bit.
//
// Owner:  the message; then the shard that takes it out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "net/connection/sealed_stream.h"

namespace pawl {

struct HandedOver {
  ShardId target{};
  int fd = -1;
  std::uint32_t peer_slot = 0;
  bool local = false;                 // on a Unix socket
  std::unique_ptr<SealedStream> tls;  // null: no TLS
  std::string bytes;                  // received: HELLO, and what followed it

  static bool is(std::uint64_t number) { return (number & tag) != 0; }
  static std::uint64_t number_of(std::unique_ptr<HandedOver> handed) {
    const auto address = reinterpret_cast<std::uintptr_t>(handed.release());
    CHECK((address & tag) == 0, "an address with bit 63");
    return address | tag;
  }
  static std::unique_ptr<HandedOver> from(std::uint64_t number) {
    CHECK(is(number), "{} is not the number of a connection that was handed over", number);
    return std::unique_ptr<HandedOver>(reinterpret_cast<HandedOver*>(number & ~tag));
  }

 private:
  static constexpr std::uint64_t tag = std::uint64_t{1} << 63;
};

}  // namespace pawl

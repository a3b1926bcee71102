// SPDX-License-Identifier: Apache-2.0
// The server of a Producer or Consumer: how to connect, and how to connect again.
//
// Limits: back-off from 1 ms to an hour. A host name is resolved at each attempt, which may block;
//         in a loop of your own use numeric addresses.
// Owner:  values.
#pragma once

#include <pawl/client.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace pawl {

struct Endpoint {
  struct Address {
    std::string host;
    std::uint16_t port = 9326;
  };

  // Key, TLS, checksum, name and timeouts; `spin` is not used. `host` and `port` are used when
  // `addresses` is empty.
  Client::Options connection{};
  // Servers with the same queues, tried in turn. A TLS certificate must be for the address's host.
  std::vector<Address> addresses{};
  // The pause before the first repeated attempt. Pauses double up to the maximum; each is shortened
  // by up to a half at random.
  std::chrono::milliseconds backoff_min{50};
  std::chrono::milliseconds backoff_max{5'000};
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The secret of every data directory that exists only in a test.
#pragma once

#include <cstdint>

#include "core/queue/receipt.h"

namespace pawl::test {

inline Secret test_secret() {
  Secret secret{};
  std::uint32_t x = 12345;
  for (std::uint8_t& byte : secret) {
    x = x * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(x >> 24);
  }
  return secret;
}

inline SipKey test_receipt_key() {
  SipKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(3 * i + 1);
  return key;
}

}  // namespace pawl::test

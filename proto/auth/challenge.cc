// SPDX-License-Identifier: Apache-2.0
#include "proto/auth/challenge.h"

#include <openssl/rand.h>

#include <string>

#include "core/base/check.h"

namespace pawl {

Challenge challenge() {
  Challenge made;
  CHECK(RAND_bytes(made.data(), static_cast<int>(made.size())) == 1, "no randomness");
  return made;
}

Sha256 prove(std::string_view secret, std::string_view id, const Challenge& challenge) {
  std::string text = "pawl AUTHENTICATE 1\n";
  text.append(challenge.begin(), challenge.end());
  text.append(id.substr(0, key_id_max));
  return hmac_sha256(secret, text);
}

}  // namespace pawl

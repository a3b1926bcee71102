// SPDX-License-Identifier: Apache-2.0
#include "proto/auth/challenge.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <string>

#include "core/check.h"

namespace pawl {

Challenge challenge() {
  Challenge made;
  CHECK(RAND_bytes(made.data(), static_cast<int>(made.size())) == 1, "no randomness");
  return made;
}

Sha256 prove(std::string_view secret, std::string_view id, const Challenge& challenge) {
  std::string text = "pawl AUTHENTICATE 1\n";
  text.append(challenge.begin(), challenge.end());
  text.append(id.substr(0, Keyring::id_max));  // no key has a longer id
  return hmac_sha256(secret, text);
}

const Keyring::Entry* proven(const Keyring& keys, std::string_view id, const Challenge& challenge,
                             std::string_view proof) {
  const Keyring::Found found = keys.find(id);
  CHECK(found.entry != nullptr, "no placeholder for an unknown key");
  const Sha256 wanted = prove(found.entry->key.secret, id, challenge);
  const bool right = proof.size() == wanted.size() &&
                     CRYPTO_memcmp(proof.data(), wanted.data(), wanted.size()) == 0;
  return right && found.known ? found.entry : nullptr;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Access keys: the permitted signers of requests, each with its account.
//
// A Keyring is filled once, then shared between shards as std::shared_ptr<const Keyring>; a new set
// of keys is a new Keyring. A lookup takes the same steps for known and unknown ids: ids are
// compared by their SHA-256, so that no timing reveals a partly correct guess.
//
// Limits: keys_max keys; ids and secrets of up to id_max and secret_max bytes.
// Errors: KeyFault. No error or log text contains a secret.
// Owner:  the ring owns its keys and overwrites their secrets on destruction.
// Source: IAM API Reference, AccessKey; RFC 2104 for why a secret may be of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/auth/challenge.h"
#include "proto/text/digest.h"

namespace pawl {

struct AccessKey {
  std::string id;       // letters, digits, `_` `-` `.`
  std::string secret;   // printable ASCII without blanks
  std::string account;  // 12 digits
};

enum class KeyFault : std::uint8_t {
  none,
  bad_id,       // empty, too long, or with disallowed characters
  bad_secret,   // the same
  bad_account,  // not 12 digits
  duplicate,    // a key with that id exists
  full,         // keys_max
};
// An explanation for the author of the keys: "access key ids are 1 to 128 letters, ...".
std::string_view text_of(KeyFault fault);

class Keyring {
 public:
  static constexpr std::size_t keys_max = 10'000;
  static constexpr std::size_t id_max = key_id_max;
  static constexpr std::size_t secret_max = 128;

  // A key in the ring. It never moves in memory.
  struct Entry {
    explicit Entry(const AccessKey& of);
    ~Entry();  // overwrites the secret
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    AccessKey key;
    Sha256 id_digest;
    Sha256 print;  // digest of id, secret and account; changes with each
  };
  struct Found {
    const Entry* entry;  // never null; if not known, a placeholder key
    bool known;
  };

  Keyring();

  [[nodiscard]] KeyFault add(const AccessKey& key);

  Found find(std::string_view id) const;
  // True: the ring has the key with this secret and account.
  bool holds(const Sha256& id_digest, const Sha256& print) const;
  std::size_t size() const { return entries_.size(); }
  bool serves(std::string_view account) const;  // a key has this account

 private:
  using Entries = std::vector<std::unique_ptr<const Entry>>;
  Entries::const_iterator at_or_after(const Sha256& id_digest) const;

  Entries entries_;  // sorted by id_digest
  std::unique_ptr<const Entry> nobody_;
};

// The key, if `proof` is right; else null. It takes the same steps for an unknown key.
const Keyring::Entry* proven(const Keyring& keys, std::string_view id, const Challenge& challenge,
                             std::string_view proof);

// Overwrites a secret in a way that no optimiser removes.
void wipe(std::string& secret);

}  // namespace pawl

// Access keys: who may sign requests, and whose account each signs for.
//
// A Keyring is filled once, then shared between shards as std::shared_ptr<const Keyring>; another set
// of keys is another Keyring. Looking up takes the same steps whether the id is there or not: ids are
// compared by their SHA-256, so that no time tells how much of a guess was right.
//
// Limits: keys_max keys; ids and secrets of up to id_max and secret_max bytes.
// Errors: KeyFault. No text of ours ever repeats a secret.
// Owner:  the ring owns its keys; secrets are overwritten when it goes.
// Source: IAM API Reference, AccessKey; RFC 2104 for why a secret may be of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/digest.h"

namespace pawl {

struct AccessKey {
  std::string id;       // letters, digits, `_` `-` `.`
  std::string secret;   // printable ASCII without blanks
  std::string account;  // 12 digits
};

enum class KeyFault : std::uint8_t {
  none,
  bad_id,       // empty, too long, or other characters than are allowed
  bad_secret,   // the same
  bad_account,  // not 12 digits
  duplicate,    // there is a key of that id
  full,         // keys_max
};
// What a fault is, for whoever wrote the keys: "access key ids are 1 to 128 letters, ...".
std::string_view text_of(KeyFault fault);

class Keyring {
 public:
  static constexpr std::size_t keys_max = 10'000;
  static constexpr std::size_t id_max = 128;
  static constexpr std::size_t secret_max = 128;

  // A key as the ring has it. It never moves.
  struct Entry {
    explicit Entry(const AccessKey& of);
    ~Entry();  // overwrites the secret
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    AccessKey key;
    Sha256 id_digest;
    Sha256 print;  // of id, secret and account: another one with any of them
  };
  struct Found {
    const Entry* entry;  // never null; when not known, a key that nobody has
    bool known;
  };

  Keyring();

  [[nodiscard]] KeyFault add(const AccessKey& key);

  Found find(std::string_view id) const;
  // Whether the ring has the key with this secret and account.
  bool holds(const Sha256& id_digest, const Sha256& print) const;
  std::size_t size() const { return entries_.size(); }
  bool serves(std::string_view account) const;  // a key signs for it

 private:
  using Entries = std::vector<std::unique_ptr<const Entry>>;
  Entries::const_iterator at_or_after(const Sha256& id_digest) const;

  Entries entries_;  // sorted by id_digest
  std::unique_ptr<const Entry> nobody_;
};

// Overwrites what was secret, so that no optimiser leaves it out.
void wipe(std::string& secret);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/auth/keys.h"

#include <openssl/crypto.h>
#include <string.h>

#include <algorithm>

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

bool good_id(std::string_view id) {
  return !id.empty() && id.size() <= Keyring::id_max && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

bool good_secret(std::string_view secret) {
  return !secret.empty() && secret.size() <= Keyring::secret_max &&
         std::ranges::all_of(secret, [](char c) { return c > ' ' && c < 0x7F; });
}

// None of the three parts can contain a blank: different keys give different texts.
Sha256 print_of(const AccessKey& key) {
  std::string text;
  text.reserve(key.id.size() + key.secret.size() + key.account.size() + 2);
  text.append(key.id).append(" ").append(key.secret).append(" ").append(key.account);
  const Sha256 print = sha256(text);
  wipe(text);
  return print;
}

}  // namespace

std::string_view text_of(KeyFault fault) {
  switch (fault) {
    case KeyFault::none:
      return "";
    case KeyFault::bad_id:
      return "an access key id is 1 to 128 letters, digits, '_', '-' or '.'";
    case KeyFault::bad_secret:
      return "a secret is 1 to 128 printable ASCII characters without blanks";
    case KeyFault::bad_account:
      return "an account is 12 digits";
    case KeyFault::duplicate:
      return "the access key id is there already";
    case KeyFault::full:
      return "there are 10000 keys already, which is the most";
  }
  return "";
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

void wipe(std::string& secret) {
  explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

Keyring::Entry::Entry(const AccessKey& of)
    : key(of), id_digest(sha256(of.id)), print(print_of(of)) {}

Keyring::Entry::~Entry() { wipe(key.secret); }

// The placeholder id and secret are as long as AWS's. They match no request: `known` is false.
Keyring::Keyring()
    : nobody_(std::make_unique<const Entry>(
          AccessKey{"nobody-has-this-key.", std::string(40, '-'), "000000000000"})) {}

KeyFault Keyring::add(const AccessKey& key) {
  if (!good_id(key.id)) return KeyFault::bad_id;
  if (!good_secret(key.secret)) return KeyFault::bad_secret;
  if (!is_account_id(key.account)) return KeyFault::bad_account;
  if (entries_.size() == keys_max) return KeyFault::full;
  const Sha256 digest = sha256(key.id);
  const auto at = at_or_after(digest);
  if (at != entries_.end() && (*at)->id_digest == digest) return KeyFault::duplicate;
  entries_.insert(at, std::make_unique<const Entry>(key));
  CHECK(find(key.id).known, "an added key is not found");
  return KeyFault::none;
}

Keyring::Entries::const_iterator Keyring::at_or_after(const Sha256& id_digest) const {
  return std::ranges::lower_bound(
      entries_, id_digest, {}, [](const auto& entry) -> const Sha256& { return entry->id_digest; });
}

bool Keyring::serves(std::string_view account) const {
  return std::ranges::any_of(entries_,
                             [&](const auto& entry) { return entry->key.account == account; });
}

bool Keyring::holds(const Sha256& id_digest, const Sha256& print) const {
  const auto at = at_or_after(id_digest);
  return at != entries_.end() && (*at)->id_digest == id_digest && (*at)->print == print;
}

Keyring::Found Keyring::find(std::string_view id) const {
  const Sha256 digest = sha256(id);
  const auto at = at_or_after(digest);
  const bool known = at != entries_.end() && (*at)->id_digest == digest;
  return {known ? at->get() : nobody_.get(), known};
}

}  // namespace pawl

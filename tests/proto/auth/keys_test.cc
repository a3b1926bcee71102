// SPDX-License-Identifier: Apache-2.0
#include "proto/auth/keys.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace pawl {
namespace {

using F = KeyFault;

TEST(Keyring, TakesWhatIsAKeyAndNothingElse) {
  const std::string most(128, 'k');
  struct Case {
    const char* name;
    AccessKey key;
    F want;
  };
  const Case cases[] = {
      {"as AWS's",
       {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "123456789012"},
       F::none                                                                                             },
      {"short",            {"x", "y", "000000000000"},                                       F::none       },
      {"all characters",   {"aZ09_-.", "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~", "000000000000"},  F::none       },
      {"longest",          {most, most, "000000000000"},                                     F::none       },
      {"no id",            {"", "s", "000000000000"},                                        F::bad_id     },
      {"long id",          {most + "k", "s", "000000000000"},                                F::bad_id     },
      {"id with slash",    {"a/b", "s", "000000000000"},                                     F::bad_id     },
      {"id with blank",    {"a b", "s", "000000000000"},                                     F::bad_id     },
      {"id with NUL",      {std::string("a\0b", 3), "s", "000000000000"},                    F::bad_id     },
      {"id not ASCII",     {"\xc3\xa9", "s", "000000000000"},                                F::bad_id     },
      {"no secret",        {"a", "", "000000000000"},                                        F::bad_secret },
      {"long secret",      {"a", most + "k", "000000000000"},                                F::bad_secret },
      {"secret and blank", {"a", "s ", "000000000000"},                                      F::bad_secret },
      {"secret and CR",    {"a", "s\r", "000000000000"},                                     F::bad_secret },
      {"no account",       {"a", "s", ""},                                                   F::bad_account},
      {"11 digits",        {"a", "s", "00000000000"},                                        F::bad_account},
      {"13 digits",        {"a", "s", "0000000000000"},                                      F::bad_account},
      {"letters",          {"a", "s", "00000000000a"},                                       F::bad_account},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Keyring keys;
    EXPECT_EQ(keys.add(c.key), c.want);
    EXPECT_EQ(keys.size(), c.want == F::none ? 1 : 0);
    EXPECT_EQ(keys.find(c.key.id).known, c.want == F::none);
    EXPECT_EQ(text_of(c.want).empty(), c.want == F::none);
  }
}

TEST(Keyring, FindsEachOfMany) {
  Keyring keys;
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(keys.add({fmt::format("id{}", i), fmt::format("s{}", i), "000000000000"}), F::none);
  }
  for (int i = 0; i < 500; ++i) {
    const Keyring::Found found = keys.find(fmt::format("id{}", i));
    ASSERT_TRUE(found.known);
    EXPECT_EQ(found.entry->key.id, fmt::format("id{}", i));
    EXPECT_EQ(found.entry->key.secret, fmt::format("s{}", i));
  }
  EXPECT_FALSE(keys.find("id500").known);
  EXPECT_FALSE(keys.find("ID1").known) << "capitals count";
  EXPECT_FALSE(keys.find("").known);
}

TEST(Keyring, TakesAnIdOnce) {
  Keyring keys;
  ASSERT_EQ(keys.add({"a", "first", "000000000000"}), F::none);
  EXPECT_EQ(keys.add({"a", "second", "111111111111"}), F::duplicate);
  EXPECT_EQ(keys.find("a").entry->key.secret, "first");
}

TEST(Keyring, AnUnknownKeyIsOneThatNobodyHas) {
  Keyring keys;
  const Keyring::Found found = keys.find("a");
  EXPECT_FALSE(found.known);
  ASSERT_NE(found.entry, nullptr);
  EXPECT_FALSE(found.entry->key.secret.empty()) << "there is something to compute with";
}

TEST(Keyring, HoldsKeysMax) {
  Keyring keys;
  for (std::size_t i = 0; i < Keyring::keys_max; ++i) {
    ASSERT_EQ(keys.add({fmt::format("id{}", i), "s", "000000000000"}), F::none);
  }
  EXPECT_EQ(keys.add({"more", "s", "000000000000"}), F::full);
  EXPECT_TRUE(keys.find("id9999").known);
}

TEST(Keyring, HoldsAKeyOnlyWithItsSecretAndAccount) {
  Keyring ring;
  const AccessKey key{"a", "s", "000000000000"};
  ASSERT_EQ(ring.add(key), KeyFault::none);
  const auto holds = [&](const AccessKey& one) {
    const Keyring::Entry entry(one);
    return ring.holds(entry.id_digest, entry.print);
  };
  EXPECT_TRUE(holds(key));
  EXPECT_FALSE(holds({"b", "s", "000000000000"}));
  EXPECT_FALSE(holds({"a", "t", "000000000000"}));
  EXPECT_FALSE(holds({"a", "s", "000000000001"}));
}

TEST(Keyring, AnyChangeOfAKeyChangesItsPrint) {
  const AccessKey keys[] = {
      {"a",  "s",  "000000000000"},
      {"b",  "s",  "000000000000"},
      {"a",  "t",  "000000000000"},
      {"a",  "s",  "000000000001"},
      {"as", "s",  "000000000000"},
      {"a",  "ss", "000000000000"},
  };
  for (const AccessKey& one : keys) {
    for (const AccessKey& other : keys) {
      EXPECT_EQ(Keyring::Entry(one).print == Keyring::Entry(other).print, &one == &other);
    }
  }
}

TEST(Keyring, WipesASecret) {
  std::string secret(100, 's');
  const char* const bytes = secret.data();
  wipe(secret);
  EXPECT_TRUE(secret.empty());
  EXPECT_EQ(bytes[0], '\0');
  EXPECT_EQ(bytes[50], '\0');
}

}  // namespace
}  // namespace pawl

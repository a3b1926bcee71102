// SPDX-License-Identifier: Apache-2.0
#include "proto/text/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace pawl {
namespace {

template <typename Digest>
std::string hex(const Digest& digest) {
  std::string out;
  append_hex(out, digest);
  return out;
}

TEST(Digest, Md5GivesTheVectorsOfRfc1321) {
  struct Case {
    const char *text, *want;
  };
  constexpr Case cases[] = {
      {"",                                                                                 "d41d8cd98f00b204e9800998ecf8427e"},
      {"a",                                                                                "0cc175b9c0f1b6a831c399e269772661"},
      {"abc",                                                                              "900150983cd24fb0d6963f7d28e17f72"},
      {"message digest",                                                                   "f96b697d7cb7938d525a2f31aaf161d0"},
      {"abcdefghijklmnopqrstuvwxyz",                                                       "c3fcd3d76192e4007dfb496cca67e13b"},
      {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
       "57edf4a22be3c955ac49da2e2107b67a"                                                                                    },
  };
  for (const Case& c : cases) EXPECT_EQ(hex(md5(c.text)), c.want) << c.text;
}

TEST(Digest, Sha256GivesTheVectorsOfFips180) {
  struct Case {
    std::string text;
    const char* want;
  };
  const Case cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const Case& c : cases) EXPECT_EQ(hex(sha256(c.text)), c.want);
}

TEST(Digest, HexIsLowerCaseAndAppended) {
  const Md5 digest{0x00, 0x01, 0x0f, 0x10, 0x9a, 0xff};
  std::string out = "before";
  append_hex(out, digest);
  EXPECT_EQ(out, "before00010f109aff" + std::string(20, '0'));
  EXPECT_EQ("before" + std::string(std::string_view(hex_text(digest))), out);
}

TEST(Digest, EveryThreadHasItsOwn) {
  Md5 there{};
  std::thread([&] { there = md5("abc"); }).join();
  EXPECT_EQ(there, md5("abc"));
}

}  // namespace
}  // namespace pawl

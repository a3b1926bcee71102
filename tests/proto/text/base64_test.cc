// SPDX-License-Identifier: Apache-2.0
#include "proto/text/base64.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {
namespace {

std::string encoded(std::string_view text) {
  std::string out;
  append_base64(out, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return out;
}

TEST(Base64, GivesTheVectorsOfRfc4648BothWays) {
  struct Case {
    const char *plain, *text;
  };
  constexpr Case cases[] = {
      {"",             ""        },
      {"f",            "Zg=="    },
      {"fo",           "Zm8="    },
      {"foo",          "Zm9v"    },
      {"foob",         "Zm9vYg=="},
      {"fooba",        "Zm9vYmE="},
      {"foobar",       "Zm9vYmFy"},
      {"\xff\xef\xbe", "/+++"    },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(encoded(c.plain), c.text);
    std::string plain = "before|";
    EXPECT_TRUE(decode_base64(c.text, plain));
    EXPECT_EQ(plain, std::string("before|") + c.plain);
  }
}

TEST(Base64, ReturnsEveryByteAtEveryPlace) {
  std::string all(256, '\0');
  std::iota(all.begin(), all.end(), '\0');
  for (std::size_t cut = 0; cut < 3; ++cut) {
    const std::string bytes = all.substr(cut);
    std::string back;
    EXPECT_TRUE(decode_base64(encoded(bytes), back));
    EXPECT_EQ(back, bytes);
  }
}

TEST(Base64, RefusesEveryOtherSpelling) {
  constexpr const char* cases[] = {
      "Z",        "Zg",       "Zg=",        "Zm8",  "=",    "==",     "====",         "Z===",
      "Zg==Zg==", "Z=g=",     "Zg=g",       "Zh==", "Zm9=", "Zm9v\n", "Zm9v\r\n\r\n", "Zm-_",
      "Zm 9",     "Zm9v====", "Zm\xc3\xa9",
  };
  for (const char* text : cases) {
    SCOPED_TRACE(text);
    std::string out = "kept";
    EXPECT_FALSE(decode_base64(text, out));
    EXPECT_EQ(out, "kept");
  }
}

}  // namespace
}  // namespace pawl

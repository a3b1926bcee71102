// SPDX-License-Identifier: Apache-2.0
#include "proto/http/target.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(HttpTarget, HasAPathAndMayHaveAQueryAndAnAuthority) {
  constexpr struct {
    std::string_view target, authority, path, query;
  } cases[] = {
      {"/",              "",    "/",           ""   },
      {"/a?b",           "",    "/a",          "b"  },
      {"/a?b?c",         "",    "/a",          "b?c"},
      {"?b",             "",    "/",           "b"  },
      {"*",              "",    "*",           ""   },
      {"http://h:1/a?b", "h:1", "/a",          "b"  },
      {"http://h",       "h",   "/",           ""   },
      {"http://h?b",     "h",   "/",           "b"  },
      {"/http://h/a",    "",    "/http://h/a", ""   },
  };
  for (const auto& c : cases) {
    const HttpTarget parts = parts_of_target(c.target);
    EXPECT_EQ(parts.authority, c.authority) << c.target;
    EXPECT_EQ(parts.path, c.path) << c.target;
    EXPECT_EQ(parts.query, c.query) << c.target;
  }
}

}  // namespace
}  // namespace pawl

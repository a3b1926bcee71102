// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/endpoint.h"

#include <gtest/gtest.h>

namespace pawl::sqs_client {
namespace {

TEST(SqsEndpoint, IsParsedFromAUrl) {
  struct Case {
    const char* text;
    bool tls;
    const char* host;
    std::uint16_t port;
    const char* path;
    const char* header;
    const char* url;
  };
  constexpr Case cases[] = {
      {"",                   false, "127.0.0.1", 9324,  "",      "127.0.0.1:9324", "http://127.0.0.1:9324"},
      {"http://h",           false, "h",         80,    "",      "h",              "http://h:80"          },
      {"http://h:80/",       false, "h",         80,    "",      "h",              "http://h:80"          },
      {"HTTPS://h",          true,  "h",         443,   "",      "h",              "https://h:443"        },
      {"https://h:8443/a/q", true,  "h",         8443,  "a/q",   "h:8443",         "https://h:8443"       },
      {"http://h:443",       false, "h",         443,   "",      "h:443",          "http://h:443"         },
      {"http://[::1]:65535", false, "::1",       65535, "",      "[::1]:65535",    "http://[::1]:65535"   },
      {"https://[::1]/",     true,  "::1",       443,   "",      "[::1]",          "https://[::1]:443"    },
      {"http://h:1/p/a/q",   false, "h",         1,     "p/a/q", "h:1",            "http://h:1"           },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto endpoint = parse_endpoint(c.text);
    ASSERT_TRUE(endpoint) << endpoint.error();
    EXPECT_EQ(endpoint->tls, c.tls);
    EXPECT_EQ(endpoint->host, c.host);
    EXPECT_EQ(endpoint->port, c.port);
    EXPECT_EQ(endpoint->path, c.path);
    EXPECT_EQ(host_header(*endpoint), c.header);
    EXPECT_EQ(url_of(*endpoint), c.url);
  }
}

TEST(SqsEndpoint, IsRefusedWithItsText) {
  for (const char* text : {"h",
                           "h:9324",
                           "ftp://h",
                           "http:/h",
                           "http://",
                           "http://:1",
                           "http:///a/q",
                           "http://h:0",
                           "http://h:65536",
                           "http://h:x",
                           "http://h:1x",
                           "http://h:-1",
                           "http://::1",
                           "http://a:b:1",
                           "http://[::1",
                           "http://[::1]x",
                           "http://[]:1",
                           "http://user@h",
                           "http://h h",
                           "http://h\r\nX: y",
                           "http://h?q",
                           "http://h/a?q=1",
                           "http://h/a#b",
                           "http://\x80",
                           "unix:///run/pawl.sock"}) {
    SCOPED_TRACE(text);
    const auto endpoint = parse_endpoint(text);
    ASSERT_FALSE(endpoint);
    EXPECT_TRUE(endpoint.error().starts_with("the endpoint \"")) << endpoint.error();
    EXPECT_NE(endpoint.error().find("http://host:port"), std::string::npos) << endpoint.error();
  }
  const auto refused = parse_endpoint("ftp://h");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("ftp://h"), std::string::npos) << "the refused text";
}

TEST(SqsEndpoint, HostAndPortAreSplitAtTheColonOutsideBrackets) {
  struct Case {
    const char* text;
    const char* host;  // null: refused
    const char* port;
  };
  constexpr Case cases[] = {
      {"h:1",      "h",     "1"    },
      {"h",        "h",     ""     },
      {"h:",       "h",     ""     },
      {"[::1]:26", "::1",   "26"   },
      {"[::1]",    "::1",   ""     },
      {"h:text",   "h",     "text" },
      {"",         nullptr, nullptr},
      {":1",       nullptr, nullptr},
      {"[]:1",     nullptr, nullptr},
      {"::1",      nullptr, nullptr},
      {"[::1",     nullptr, nullptr},
      {"[::1]1",   nullptr, nullptr},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto split = split_host_port(c.text);
    ASSERT_EQ(split.has_value(), c.host != nullptr);
    if (!split) continue;
    EXPECT_EQ(split->host, c.host);
    EXPECT_EQ(split->port, c.port);
  }
}

TEST(SqsEndpoint, APortIsANumberFrom1To65535) {
  EXPECT_EQ(parse_port("1"), 1);
  EXPECT_EQ(parse_port("65535"), 65535);
  for (const char* text : {"", "0", "65536", "-1", "+1", " 1", "1 ", "0x1", "port"})
    EXPECT_FALSE(parse_port(text)) << text;
}

}  // namespace
}  // namespace pawl::sqs_client

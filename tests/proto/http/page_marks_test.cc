// SPDX-License-Identifier: Apache-2.0
#include "proto/http/page_marks.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace pawl {
namespace {

TEST(PageMarks, AreThoseOfBrowsersAndNotOfOtherClients) {
  const std::string chrome = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/126.0\r\n";
  const struct {
    const char* name;
    std::string headers;
    const char* mark;
  } cases[] = {
      {"curl",                               "User-Agent: curl/8.5.0\r\n",                               ""              },
      {"a client without a name",            "",                                                         ""              },
      {"an SDK",                             "User-Agent: Boto3/1.34 md/Botocore\r\n",                   ""              },
      {"a link of our own",                  "Referer: http://localhost:9324/q\r\n",                     ""              },
      {"the address bar",                    chrome + "Sec-Fetch-Site: none\r\n",                        ""              },
      {"our own page",                       chrome + "Sec-Fetch-Site: same-origin\r\n",                 ""              },
      {"an image of another page",           chrome + "Sec-Fetch-Site: cross-site\r\n",                  "Sec-Fetch-Site"},
      {"another port",                       chrome + "Sec-Fetch-Site: same-site\r\n",                   "Sec-Fetch-Site"},
      {"an unknown value",                   chrome + "Sec-Fetch-Site: new\r\n",                         "Sec-Fetch-Site"},
      {"a form",                             chrome + "Origin: null\r\n",                                "Origin"        },
      {"a form that says it is ours",        "Origin: x\r\nSec-Fetch-Site: same-origin\r\n",             "Origin"        },
      {"a link of another page",             "Referer: https://evil.example/a\r\n",                      "Referer"       },
      {"a page of another port",             "Referer: http://localhost:8080/\r\n",                      "Referer"       },
      {"our name in its query",              "Referer: http://evil.example/?http://localhost:9324/\r\n",
       "Referer"                                                                                                         },
      {"our name as a user",                 "Referer: http://localhost:9324@evil.example/\r\n",         "Referer"       },
      {"a Referer that is no URL",           "Referer: evil\r\n",                                        "Referer"       },
      {"an old browser",                     chrome,                                                     "User-Agent"    },
      {"an old browser that hides its page", chrome + "Referer: http://localhost:9324/\r\n",
       "User-Agent"                                                                                                      },
  };
  for (const auto& c : cases) {
    HttpParser parser;
    std::size_t consumed = 0;
    const std::string bytes =
        "GET /?Action=PurgeQueue HTTP/1.1\r\nHost: localhost:9324\r\n" + c.headers + "\r\n";
    ASSERT_EQ(parser.feed(bytes, consumed), HttpParser::State::complete) << c.name;
    EXPECT_EQ(page_mark(parser.request()), c.mark) << c.name;
    HttpRequest allowed = parser.request();
    allowed.cors_origin = "https://console.example";
    EXPECT_EQ(page_mark(allowed), "") << c.name << ", of an origin that the operator allows";
  }
}

TEST(PageMarks, BrowsersAreTold) {
  const std::pair<const char*, bool> cases[] = {
      {"",                                              false},
      {"User-Agent: Boto3/1.34 md/Botocore\r\n",        false},
      {"User-Agent: aws-sdk-nodejs/2.1 linux\r\n",      false},
      {"Referer: http://queue/\r\n",                    false},
      {"X-Sec-Fetch-Site: none\r\n",                    false},
      {"Sec-Fetch: a\r\n",                              false},
      {"User-Agent: Mozilla/5.0 (X11) Firefox/128\r\n", true },
      {"Origin: null\r\n",                              true },
      {"Sec-Fetch-Site: none\r\n",                      true },
      {"SEC-FETCH-MODE: cors\r\n",                      true },
      {"sec-fetch-dest: image\r\n",                     true },
  };
  for (const auto& [headers, browser] : cases) {
    HttpParser parser;
    std::size_t consumed = 0;
    const std::string bytes = "GET / HTTP/1.1\r\nHost: queue\r\n" + std::string(headers) + "\r\n";
    ASSERT_EQ(parser.feed(bytes, consumed), HttpParser::State::complete) << headers;
    EXPECT_EQ(is_of_browser(parser.request()), browser) << headers;
  }
}

}  // namespace
}  // namespace pawl

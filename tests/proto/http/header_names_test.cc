// SPDX-License-Identifier: Apache-2.0
#include "proto/http/header_names.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "proto/text/text.h"

namespace pawl {
namespace {

using N = HeaderName;

constexpr std::pair<std::string_view, N> rows[] = {
    {"accept",               N::accept              },
    {"accept-encoding",      N::accept_encoding     },
    {"authorization",        N::authorization       },
    {"content-encoding",     N::content_encoding    },
    {"content-type",         N::content_type        },
    {"expect",               N::expect              },
    {"host",                 N::host                },
    {"origin",               N::origin              },
    {"referer",              N::referer             },
    {"sec-fetch-site",       N::sec_fetch_site      },
    {"transfer-encoding",    N::transfer_encoding   },
    {"user-agent",           N::user_agent          },
    {"x-amz-content-sha256", N::x_amz_content_sha256},
    {"x-amz-date",           N::x_amz_date          },
    {"x-amz-security-token", N::x_amz_security_token},
    {"x-amz-target",         N::x_amz_target        },
    {"x-amzn-query-mode",    N::x_amzn_query_mode   },
    {"x-amzn-trace-id",      N::x_amzn_trace_id     },
    {"x-forwarded-host",     N::x_forwarded_host    },
    {"x-forwarded-proto",    N::x_forwarded_proto   },
};
static_assert(std::size(rows) + 1 == header_names);

TEST(HeaderNames, EachIsFoundInAnyCase) {
  for (const auto& [text, name] : rows) {
    EXPECT_EQ(header_name(text), name) << text;
    std::string upper(text), first(text);
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    first.front() = static_cast<char>(std::toupper(first.front()));
    EXPECT_EQ(header_name(upper), name) << upper;
    EXPECT_EQ(header_name(first), name) << first;
  }
}

// Every byte at every place: only the two cases of a letter mean the same.
TEST(HeaderNames, AnyOtherByteIsAnotherName) {
  for (const auto& [text, name] : rows) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string other(text);
        other[at] = static_cast<char>(byte);
        EXPECT_EQ(header_name(other) == name, equals_ignoring_case(other, text)) << other;
      }
    }
  }
}

TEST(HeaderNames, OtherLengthsAreOtherNames) {
  EXPECT_EQ(header_name(""), N::other);
  EXPECT_EQ(header_name(std::string(1000, 'x')), N::other);
  for (const auto& [text, name] : rows) {
    EXPECT_EQ(header_name(text.substr(1)), N::other) << text;
    EXPECT_EQ(header_name(text.substr(0, text.size() - 1)), N::other) << text;
    EXPECT_EQ(header_name(std::string(text) + "s"), N::other) << text;
  }
}

TEST(HeaderIndex, HasTheFirstPlaceAndKnowsRepetitions) {
  HeaderIndex index;
  for (const auto& row : rows) EXPECT_EQ(index.first(row.second), HeaderIndex::none);
  index.add(N::other, 0);
  index.add(N::host, 1);
  index.add(N::accept, 2);
  index.add(N::host, 3);
  EXPECT_EQ(index.first(N::other), HeaderIndex::none);
  EXPECT_EQ(index.first(N::host), 1u);
  EXPECT_TRUE(index.repeated(N::host));
  EXPECT_EQ(index.first(N::accept), 2u);
  EXPECT_FALSE(index.repeated(N::accept));
}

}  // namespace
}  // namespace pawl

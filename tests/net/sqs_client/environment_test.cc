// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/environment.h"

#include <gtest/gtest.h>

#include "tests/net/sqs_client/fixed_environment.h"

namespace pawl::sqs_client {
namespace {

TEST(SqsEnvironment, HasTheKeyAndTheRegion) {
  const FixedEnvironment environment({
      {"AWS_ACCESS_KEY_ID",     "AKID"     },
      {"AWS_SECRET_ACCESS_KEY", "secret"   },
      {"AWS_SESSION_TOKEN",     "token"    },
      {"AWS_REGION",            "eu-west-1"},
      {"AWS_DEFAULT_REGION",    "eu-west-2"},
  });
  const SigningKey key = key_of_environment();
  EXPECT_EQ(key.id, "AKID");
  EXPECT_EQ(key.secret, "secret");
  EXPECT_EQ(key.session_token, "token");
  EXPECT_EQ(region_of_environment(), "eu-west-1");
}

TEST(SqsEnvironment, HasTheKeyAndTheRegionOfASecondEndpoint) {
  const FixedEnvironment one({
      {"AWS_ACCESS_KEY_ID",     "AKID"  },
      {"AWS_SECRET_ACCESS_KEY", "secret"},
      {"AWS_SESSION_TOKEN",     "token" },
  });
  EXPECT_EQ(key_of_environment("TO_").id, "AKID") << "that of the first";
  EXPECT_EQ(key_of_environment("TO_").session_token, "token");
  EXPECT_EQ(region_of_environment("TO_"), "");
  const FixedEnvironment two({
      {"AWS_ACCESS_KEY_ID",        "AKID"     },
      {"AWS_SESSION_TOKEN",        "token"    },
      {"AWS_REGION",               "eu-west-1"},
      {"TO_AWS_ACCESS_KEY_ID",     "OTHER"    },
      {"TO_AWS_SECRET_ACCESS_KEY", "hush"     },
      {"TO_AWS_REGION",            "eu-west-2"},
  });
  EXPECT_EQ(key_of_environment("TO_").id, "OTHER");
  EXPECT_EQ(key_of_environment("TO_").secret, "hush");
  EXPECT_EQ(key_of_environment("TO_").session_token, "") << "it belongs to the other key";
  EXPECT_EQ(region_of_environment("TO_"), "eu-west-2");
}

TEST(SqsEnvironment, HasTheEndpointOfSqsBeforeThatOfAllServices) {
  {
    const FixedEnvironment environment({
        {"AWS_ENDPOINT_URL",     "http://all:1"},
        {"AWS_ENDPOINT_URL_SQS", "http://sqs:2"}
    });
    EXPECT_EQ(endpoint_of_environment("sqs"), "http://sqs:2");
    EXPECT_EQ(endpoint_of_environment("sns"), "http://all:1");
  }
  {
    const FixedEnvironment environment({
        {"AWS_ENDPOINT_URL",     "http://all:1"},
        {"AWS_ENDPOINT_URL_SQS", ""            }
    });
    EXPECT_EQ(endpoint_of_environment("sqs"), "http://all:1");
  }
  const FixedEnvironment environment({});
  EXPECT_EQ(endpoint_of_environment("sqs"), "");
}

TEST(SqsEnvironment, HasTheFileOfCertificateAuthorities) {
  {
    const FixedEnvironment environment({
        {"AWS_CA_BUNDLE", "/ca.pem"  },
        {"AWS_REGION",    "eu-west-1"}
    });
    EXPECT_EQ(ca_file_of_environment(), "/ca.pem");
  }
  const FixedEnvironment environment({});
  EXPECT_EQ(ca_file_of_environment(), "");
}

TEST(SqsEnvironment, HasTheDefaultRegionOrNone) {
  {
    const FixedEnvironment environment({
        {"AWS_REGION",         ""         },
        {"AWS_DEFAULT_REGION", "eu-west-2"}
    });
    EXPECT_EQ(region_of_environment(), "eu-west-2");
  }
  const FixedEnvironment environment({});
  EXPECT_EQ(region_of_environment(), "");
  EXPECT_TRUE(key_of_environment().id.empty());
  EXPECT_TRUE(key_of_environment().session_token.empty());
}

}  // namespace
}  // namespace pawl::sqs_client

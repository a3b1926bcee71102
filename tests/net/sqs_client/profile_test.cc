// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/profile.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/net/sqs_client/fixed_environment.h"

namespace pawl::sqs_client {
namespace {

constexpr const char* profile_config = R"([default]
region = eu-west-1
[profile ci]
region = eu-west-2
endpoint_url = http://all:1
services = local
aws_access_key_id = CONFIG
aws_secret_access_key = c
[services local]
sqs =
  endpoint_url = http://sqs:2
[profile role]
role_arn = arn:aws:iam::1:role/x
source_profile = ci
[profile sso]
sso_session = corporate
[profile process]
credential_process = /bin/true
[profile lost]
services = nowhere
[profile half]
aws_access_key_id = HALF
[profile trusting]
ca_bundle = /profile.pem
)";
constexpr const char* profile_credentials = R"([default]
aws_access_key_id = DEFAULT
aws_secret_access_key = d
[ci]
aws_access_key_id = CI
aws_secret_access_key = s
aws_session_token = t
[only-keys]
aws_access_key_id = ONLY
aws_secret_access_key = o
)";

class SqsProfile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "profile_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    place_ = name;
    write("config", profile_config);
    write("credentials", profile_credentials);
  }
  void TearDown() override { std::filesystem::remove_all(place_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(place_ + "/" + name) << text;
  }

  // The access with these variables beside those of the files.
  std::expected<Access, std::string> access(const std::string& profile,
                                            std::map<std::string, std::string> variables = {}) {
    variables.emplace("AWS_CONFIG_FILE", place_ + "/config");
    variables.emplace("AWS_SHARED_CREDENTIALS_FILE", place_ + "/credentials");
    const FixedEnvironment environment(variables);
    return find_access(profile);
  }

  void expect_error(const std::string& profile, const std::vector<std::string>& parts) {
    const auto refused = access(profile);
    ASSERT_FALSE(refused) << profile;
    for (const std::string& part : parts)
      EXPECT_NE(refused.error().find(part), std::string::npos) << refused.error();
  }

  std::string place_;
};

const std::map<std::string, std::string> profile_key_variables = {
    {"AWS_ACCESS_KEY_ID",     "ENVIRONMENT"},
    {"AWS_SECRET_ACCESS_KEY", "e"          }
};

TEST_F(SqsProfile, HasKeyRegionAndEndpointOfBothFiles) {
  const auto ci = access("ci");
  ASSERT_TRUE(ci) << ci.error();
  EXPECT_EQ(ci->key.id, "CI");
  EXPECT_EQ(ci->key.secret, "s");
  EXPECT_EQ(ci->key.session_token, "t");
  EXPECT_EQ(ci->region, "eu-west-2");
  EXPECT_EQ(ci->endpoint, "http://sqs:2");
  EXPECT_EQ(ci->ca_file, "");
  const auto only = access("only-keys");
  ASSERT_TRUE(only) << only.error();
  EXPECT_EQ(only->key.id, "ONLY");
  EXPECT_EQ(only->region, "us-east-1");
  EXPECT_EQ(only->endpoint, "");
}

TEST_F(SqsProfile, HasTheFileOfCertificateAuthorities) {
  const auto from_profile = access("trusting", {
                                                   {"AWS_PROFILE", "ci"},
                                                   {"AWS_REGION",  ""  }
  });
  ASSERT_TRUE(from_profile) << from_profile.error();
  EXPECT_EQ(from_profile->ca_file, "/profile.pem");
  const auto overridden =
      access("trusting", {
                             {"AWS_CA_BUNDLE", "/environment.pem"},
                             {"AWS_REGION",    ""                }
  });
  ASSERT_TRUE(overridden) << overridden.error();
  EXPECT_EQ(overridden->ca_file, "/environment.pem");
}

TEST_F(SqsProfile, TheNameIsThatOfTheCallThenOfTheEnvironmentThenDefault) {
  EXPECT_EQ(access("")->key.id, "DEFAULT");
  EXPECT_EQ(access("")->region, "eu-west-1");
  EXPECT_EQ(access("",
                   {
                       {"AWS_PROFILE", "ci"}
  })
                ->key.id,
            "CI");
  EXPECT_EQ(access("only-keys",
                   {
                       {"AWS_PROFILE", "ci"}
  })
                ->key.id,
            "ONLY");
}

TEST_F(SqsProfile, KeysOfTheEnvironmentComeBeforeAProfileThatTheCallDoesNotName) {
  EXPECT_EQ(access("", profile_key_variables)->key.id, "ENVIRONMENT");
  auto variables = profile_key_variables;
  variables["AWS_PROFILE"] = "role";
  EXPECT_EQ(access("", variables)->key.id, "ENVIRONMENT");
  EXPECT_EQ(access("ci", profile_key_variables)->key.id, "CI");
}

TEST_F(SqsProfile, RegionAndEndpointOfTheEnvironmentComeBeforeThoseOfTheProfile) {
  const auto found = access("ci", {
                                      {"AWS_REGION",       "ap-south-1"          },
                                      {"AWS_ENDPOINT_URL", "http://environment:3"},
                                      {"AWS_CA_BUNDLE",    "/environment.pem"    }
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->region, "ap-south-1");
  EXPECT_EQ(found->endpoint, "http://environment:3");
}

TEST_F(SqsProfile, WaysToGetKeysThatAreNotSupportedAreNamed) {
  expect_error("role", {"/config:13: ", "\"role\"", "role_arn", "export-credentials",
                        "without --profile and AWS_PROFILE"});
  expect_error("sso", {"/config:16: ", "sso_session"});
  expect_error("process", {"/config:18: ", "credential_process"});
  expect_error("half", {"/config:22: ", "only one of aws_access_key_id"});
  expect_error("lost", {"/config:20: ", "[services nowhere]"});
}

TEST_F(SqsProfile, TheDefaultProfileMayGetKeysInAWayThatIsNotSupported) {
  write("config", "[default]\nregion = eu-west-3\nsso_session = corporate\n");
  write("credentials", "");
  const auto found = access("");
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->key.id, "");
  EXPECT_EQ(found->region, "eu-west-3");
  expect_error("default", {"/config:3: ", "sso_session"});
}

TEST_F(SqsProfile, AnUnknownNameIsRefusedWithThoseThatExist) {
  expect_error("cj", {"no profile \"cj\"", "/config and ", "ci, default, only-keys"});
  EXPECT_TRUE(access("default"));
}

TEST_F(SqsProfile, FilesMayBeAbsentUnlessAProfileIsNamed) {
  std::filesystem::remove(place_ + "/config");
  std::filesystem::remove(place_ + "/credentials");
  const auto found = access("");
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->key.id, "");
  expect_error("ci", {"There are none"});
}

TEST_F(SqsProfile, ABrokenFileIsRefusedWithItsLine) {
  write("credentials", "[default]\nsecret\n");
  expect_error("", {"/credentials:2: the line is no setting"});
}

}  // namespace
}  // namespace pawl::sqs_client

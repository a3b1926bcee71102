// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/aws_file.h"

#include <gtest/gtest.h>

namespace pawl::sqs_client {
namespace {

std::string value_in(const AwsFile& file, std::string_view section, const std::string& name) {
  const AwsSection* const found = file.find(section);
  if (found == nullptr || !found->contains(name)) return "(none)";
  return found->at(name).value;
}

TEST(AwsFile, HasSectionsWithSettings) {
  const auto file = parse_aws_file(
      "# a comment\n; another\n\n[default]\r\nregion = eu-west-1 # comment\naws_secret_access_key "
      "= "
      "a#b;c=d\n[ profile\t 'my own' ]\nregion=us-west-2",
      "config");
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(value_in(*file, "default", "region"), "eu-west-1");
  EXPECT_EQ(value_in(*file, "default", "aws_secret_access_key"), "a#b;c=d");
  EXPECT_EQ(value_in(*file, "profile my own", "region"), "us-west-2");
  EXPECT_EQ(file->find("profile my own")->at("region").line, 8u);
  EXPECT_EQ(file->find("profile"), nullptr);
}

TEST(AwsFile, HasSettingsInsideOthers) {
  const auto file = parse_aws_file(
      "[services local]\ns3 =\n  endpoint_url = http://s3:1\nsqs =\n  endpoint_url = http://sqs:2\n"
      "  other = x\n[profile a]\nregion = one\n  more words\nkey = k\n",
      "config");
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(value_in(*file, "services local", "s3.endpoint_url"), "http://s3:1");
  EXPECT_EQ(value_in(*file, "services local", "sqs.endpoint_url"), "http://sqs:2");
  EXPECT_EQ(value_in(*file, "profile a", "region"), "one");
  EXPECT_EQ(value_in(*file, "profile a", "key"), "k");
}

TEST(AwsFile, TheLaterOfTwoValuesIsUsed) {
  const auto file = parse_aws_file("[a]\nx=1\ny=1\n[b]\nz=1\n[a]\nx=2\n", "config");
  ASSERT_TRUE(file);
  EXPECT_EQ(value_in(*file, "a", "x"), "2");
  EXPECT_EQ(value_in(*file, "a", "y"), "1");
}

TEST(AwsFile, AMistakeIsReportedWithItsLine) {
  struct Case {
    std::string text, error;
  };
  const Case cases[] = {
      {"region = x\n", "config:1: the line stands before"},
      {"[a]\n\nregion\n", "config:3: the line is no setting"},
      {"[a]\n= x\n", "config:2: the line is no setting"},
      {"[a]\nsqs =\n  endpoint\n", "config:3: the line is no setting"},
      {"[a\n", "config:1: the name of a section"},
      {"[]\n", "config:1: the section has no name"},
      {"[a]\n" + std::string(1, '\0') + "\n", "config:2: the line has a zero"},
      {std::string(aws_file_bytes_max + 1, '\n'), "config:1: the file has more than"},
  };
  for (const Case& c : cases) {
    const auto file = parse_aws_file(c.text, "config");
    ASSERT_FALSE(file) << c.error;
    EXPECT_TRUE(file.error().starts_with(c.error)) << file.error();
  }
}

TEST(AwsFile, EveryPrefixOfAFileIsReadOrRefused) {
  const std::string text =
      "\xEF\xBB\xBF[default]\nregion = x\n[services l]\nsqs =\n  endpoint_url = http://h:1\n[\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto file = parse_aws_file(text.substr(0, size), "config");
    if (!file) {
      EXPECT_TRUE(file.error().starts_with("config:")) << file.error();
    }
  }
}

TEST(AwsFile, AFileThatDoesNotExistIsEmptyAndADirectoryIsAnError) {
  const auto absent = read_aws_file("/nonexistent/config");
  ASSERT_TRUE(absent) << absent.error();
  EXPECT_TRUE(absent->sections.empty());
  const auto directory = read_aws_file("/");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error(), "/ cannot be read: Is a directory.");
}

}  // namespace
}  // namespace pawl::sqs_client

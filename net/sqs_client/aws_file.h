// SPDX-License-Identifier: Apache-2.0
// The files of the AWS command line, ~/.aws/config and ~/.aws/credentials: sections of settings.
//
//   [profile ci]                      section "profile ci"
//   region = eu-west-1                setting "region"
//   [services local]
//   sqs =
//     endpoint_url = http://host:1    setting "sqs.endpoint_url"
//
// A section or a setting that appears again replaces the earlier value.
//
// Limits: aws_file_bytes_max bytes.
// Errors: "FILE:LINE: sentence". Settings that nobody asks for are accepted.
// Owner:  values.
// Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files".
#pragma once

#include <cstddef>
#include <expected>
#include <map>
#include <string>
#include <string_view>

namespace pawl::sqs_client {

inline constexpr std::size_t aws_file_bytes_max = 1 << 20;

struct AwsSetting {
  std::string value;
  std::size_t line = 0;
};
using AwsSection = std::map<std::string, AwsSetting, std::less<>>;

struct AwsFile {
  std::string path;
  std::map<std::string, AwsSection, std::less<>> sections;

  // Null: there is no such section.
  const AwsSection* find(std::string_view section) const;
};

// `path`: for errors.
std::expected<AwsFile, std::string> parse_aws_file(std::string_view text, const std::string& path);
// A file that does not exist has no sections.
std::expected<AwsFile, std::string> read_aws_file(const std::string& path);

}  // namespace pawl::sqs_client

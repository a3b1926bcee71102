// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/arn.h"

#include <fmt/core.h>

#include <array>

namespace pawl {

std::optional<SqsArn> parse_arn(std::string_view text) {
  std::array<std::string_view, 5> parts;  // "arn", partition, service, region, account
  for (std::string_view& part : parts) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    part = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  if (parts[0] != "arn" || parts[1].empty() || parts[2].empty() || text.empty()) {
    return std::nullopt;
  }
  return SqsArn{.service = parts[2], .region = parts[3], .account = parts[4], .name = text};
}

std::string arn_of(std::string_view region, std::string_view account, std::string_view name) {
  return fmt::format("arn:aws:sqs:{}:{}:{}", region, account, name);
}

const ConfigPtr* find_queue(const Directory& directory, const SqsArn& arn) {
  return arn.service == "sqs" ? directory.find(arn.account, arn.name) : nullptr;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// QueryBody: the parameters of a call of the Query protocol, which SNS speaks.
//
//   QueryBody body;
//   body.add("TopicArn", arn);
//   body.add_pairs("Attributes.entry", "key", "value", {{"RawMessageDelivery", "true"}});
//   client.call("Subscribe", body.text());
//
// Errors: none; any bytes are encoded.
// Owner:  a value.
// Source: SNS API Reference, "Making API requests"; WHATWG URL,
//         application/x-www-form-urlencoded.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::sqs_client {

class QueryBody {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  void add(std::string_view name, std::string_view value);
  // A map: list.1.key_name=..., list.1.value_name=..., list.2.key_name=...
  void add_pairs(std::string_view list, std::string_view key_name, std::string_view value_name,
                 const Pairs& pairs);

  const std::string& text() const { return text_; }

 private:
  void encode(std::string_view raw);

  std::string text_;
};

}  // namespace pawl::sqs_client

// SPDX-License-Identifier: Apache-2.0
// SNS over the fixture of SQS: calls as forms in, XML out.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "proto/sns/call.h"
#include "tests/proto/sqs/fixture.h"

namespace pawl {

class SnsTest : public SqsTest {
 protected:
  // "Publish" with "&Name=value.." behind; values are encoded already.
  SqsResponse sns(std::string_view action, std::string_view more = {}) {
    return query(fmt::format("Action={}&Version=2010-03-31{}", action, more));
  }

  static std::string element(const SqsResponse& answer, std::string_view name) {
    const std::string open = fmt::format("<{}>", name), close = fmt::format("</{}>", name);
    const std::size_t from = answer.body.find(open);
    if (from == std::string::npos) return {};
    const std::size_t start = from + open.size();
    return xml_unescaped(answer.body.substr(start, answer.body.find(close, start) - start));
  }
  static std::size_t count(const SqsResponse& answer, std::string_view what) {
    std::size_t n = 0;
    for (std::size_t at = answer.body.find(what); at != std::string::npos;
         at = answer.body.find(what, at + 1)) {
      ++n;
    }
    return n;
  }

  std::string make_topic(std::string_view name, std::string_view more = {}) {
    const SqsResponse made = sns("CreateTopic", fmt::format("&Name={}{}", name, more));
    EXPECT_EQ(made.status, 200) << made.body;
    return element(made, "TopicArn");
  }
  // Makes the queue if it is not there; "&Attributes.." in `more`.
  std::string subscribe(std::string_view topic, std::string_view queue,
                        std::string_view more = {}) {
    make_queue(queue, queue.ends_with(".fifo") ? R"({"FifoQueue":"true"})" : "{}");
    const SqsResponse made =
        sns("Subscribe", fmt::format("&TopicArn={}&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:"
                                     "000000000000:{}&ReturnSubscriptionArn=true{}",
                                     topic, queue, more));
    EXPECT_EQ(made.status, 200) << made.body;
    return element(made, "SubscriptionArn");
  }
  SqsResponse publish(std::string_view topic, std::string_view more) {
    return sns("Publish", fmt::format("&TopicArn={}{}", topic, more));
  }

  static std::string attribute(int n, std::string_view key, std::string_view value) {
    return fmt::format("&Attributes.entry.{0}.key={1}&Attributes.entry.{0}.value={2}", n, key,
                       value);
  }
  static std::string message_attribute(int n, std::string_view name, std::string_view value,
                                       std::string_view type = "String") {
    return fmt::format(
        "&MessageAttributes.entry.{0}.Name={1}"
        "&MessageAttributes.entry.{0}.Value.DataType={3}"
        "&MessageAttributes.entry.{0}.Value.StringValue={2}",
        n, name, value, type);
  }

  static void expect_fault(const SqsResponse& answer, int status, std::string_view code,
                           std::string_view text) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(element(answer, "Code"), code);
    EXPECT_EQ(element(answer, "Message"), text);
    EXPECT_TRUE(answer.body.contains("xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\""));
  }

  // Bodies of what was sent to the queue, in order.
  std::vector<std::string> bodies_of(std::string_view queue) {
    std::vector<std::string> bodies;
    const ConfigPtr* const found = broker.directory.find("000000000000", queue);
    if (found == nullptr) return bodies;
    for (const auto& m : broker.messages) {
      if (m.queue == (*found)->id) bodies.push_back(m.body);
    }
    return bodies;
  }

  static constexpr std::string_view raw =
      "&Attributes.entry.9.key=RawMessageDelivery&Attributes.entry.9.value=true";
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Calls of SNS that several verbs make. A topic is given by its name or its ARN.
//
// Errors: to stderr; `code` is then the exit code of the verb.
// Owner:  one verb.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "net/sqs_client/query_body.h"
#include "net/sqs_client/sqs_client.h"
#include "net/sqs_client/xml_element.h"

namespace pawl {

using TopicAttributes = sqs_client::QueryBody::Pairs;

// The root element of the response; without a value the error was printed.
std::optional<sqs_client::XmlElement> call_sns(sqs_client::SqsClient& client,
                                               std::string_view action,
                                               const sqs_client::QueryBody& body,
                                               std::string_view topic, int& code);

// The ARN of a topic; without a value the error was printed. A name is looked up in the list of all
// topics.
std::optional<std::string> arn_of_topic(sqs_client::SqsClient& client, const std::string& topic,
                                        int& code);
// The ARN of a queue, by its name, URL or ARN: a name is one of the topic's region and account.
std::string arn_of_endpoint(std::string_view topic_arn, std::string_view queue);
// True: the ARN is one of a subscription, which has an id behind the name of its topic.
bool is_subscription_arn(std::string_view arn);

// The attributes of a topic or a subscription, of the response to GetTopicAttributes or
// GetSubscriptionAttributes.
TopicAttributes attributes_in(const sqs_client::XmlElement& response);
std::string value_in(const TopicAttributes& attributes, std::string_view name);  // empty: absent

// Calls act(ARN) for each topic until it returns false. Returns the exit code.
int for_each_topic(sqs_client::SqsClient& client,
                   const std::function<bool(const std::string& arn)>& act);

struct TopicSubscription {
  std::string arn;  // or "PendingConfirmation"
  std::string topic_arn, protocol, endpoint;
};
// Calls act for each subscription of the topic, or of all if the ARN is empty.
int for_each_subscription(sqs_client::SqsClient& client, const std::string& topic_arn,
                          const std::function<void(const TopicSubscription&)>& act);

}  // namespace pawl

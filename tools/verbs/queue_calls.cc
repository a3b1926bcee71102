// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/queue_calls.h"

#include <utility>
#include <vector>

#include "core/base/check.h"
#include "proto/text/json.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::SqsClient;

std::string list_body(std::string_view prefix, std::string_view token) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("MaxResults", 1000);
  if (!prefix.empty()) json.member("QueueNamePrefix", prefix);
  if (!token.empty()) json.member("NextToken", token);
  json.end_object();
  return body;
}

void put_all(JsonWriter& json, std::string_view names) {
  json.key(names);
  json.begin_array();
  json.value("All");
  json.end_array();
}

}  // namespace

std::string attributes_body(std::string_view url) {
  CHECK(!url.empty(), "attributes of no queue");
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", url);
  put_all(json, "AttributeNames");
  json.end_object();
  return body;
}

std::string receive_body(std::string_view url, std::uint64_t count, std::uint32_t wait,
                         std::optional<std::uint32_t> visibility) {
  CHECK(count > 0 && count <= receive_messages_max && wait <= long_poll_seconds,
        "a receive of {} messages in {} s", count, wait);
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", url);
  json.member("MaxNumberOfMessages", count);
  json.member("WaitTimeSeconds", wait);
  if (visibility) json.member("VisibilityTimeout", *visibility);
  put_all(json, "AttributeNames");
  put_all(json, "MessageAttributeNames");
  json.end_object();
  return body;
}

std::string dead_letter_arn_in(const JsonValue& attributes) {
  JsonDom dom;
  const auto policy = dom.parse(attribute_of(attributes, "RedrivePolicy"));
  return policy ? text_of(*policy, "deadLetterTargetArn") : std::string();
}

std::string body_with(std::string_view name, std::string_view value) {
  CHECK(!name.empty(), "a member without name for {}", value);
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member(name, value);
  json.end_object();
  return body;
}

std::optional<std::string> url_of_queue(SqsClient& client, const std::string& queue, int& code) {
  if (queue.contains("://")) return queue;
  const auto response = client.call("GetQueueUrl", body_with("QueueName", queue));
  if (!response) {
    code = explain_call(response.error(), queue);
    return std::nullopt;
  }
  JsonDom dom;
  const auto document = dom.parse(response->body);
  std::string url = document ? text_of(*document, "QueueUrl") : std::string();
  if (!url.empty()) return url;
  code = fail_with(exit_failure,
                   "the response to GetQueueUrl has no QueueUrl. Does --url name an SQS endpoint?");
  return std::nullopt;
}

std::optional<std::string> attributes_of(SqsClient& client, const std::string& url,
                                         std::string_view queue, int& code) {
  auto response = client.call("GetQueueAttributes", attributes_body(url));
  if (response) return std::move(response->body);
  code = explain_call(response.error(), queue);
  return std::nullopt;
}

std::optional<std::string> arn_of_queue(SqsClient& client, const std::string& queue, int& code) {
  const auto url = url_of_queue(client, queue, code);
  if (!url) return std::nullopt;
  const auto response = attributes_of(client, *url, queue, code);
  if (!response) return std::nullopt;
  JsonDom dom;
  const auto document = dom.parse(*response);
  std::string arn = document ? attribute_of(*document, "QueueArn") : std::string();
  if (!arn.empty()) return arn;
  code = fail_with(exit_failure, "the response to GetQueueAttributes has no QueueArn.");
  return std::nullopt;
}

std::int64_t all_messages_of(const JsonValue& attributes) {
  std::int64_t messages = 0;
  for (const char* name : {"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible",
                           "ApproximateNumberOfMessagesDelayed"})
    messages += attribute_number_of(attributes, name);
  return messages;
}

int for_each_url(SqsClient& client, std::string_view prefix,
                 const std::function<void(const std::string& url)>& act) {
  CHECK(act != nullptr, "nothing to do with queues {}", prefix);
  std::string token;
  do {
    const auto response = client.call("ListQueues", list_body(prefix, token));
    if (!response) return explain_call(response.error(), "");
    JsonDom dom;
    const auto document = dom.parse(response->body);
    if (!document)
      return fail_with(exit_failure,
                       "the response to ListQueues is not JSON. Does --url name an SQS endpoint?");
    token = text_of(*document, "NextToken");
    const auto urls = document->member("QueueUrls");
    if (!urls) break;
    for (const JsonValue url : urls->items()) act(std::string(url.text().value_or("")));
  } while (!token.empty());
  return exit_ok;
}

int for_each_queue(SqsClient& client, std::string_view prefix,
                   const std::function<void(const std::string&, const JsonValue&)>& act) {
  CHECK(act != nullptr, "nothing to do with queues {}", prefix);
  std::vector<std::string> urls;
  const int code =
      for_each_url(client, prefix, [&](const std::string& url) { urls.push_back(url); });
  if (code != exit_ok) return code;
  for (const std::string& url : urls) {
    const auto response = client.call("GetQueueAttributes", attributes_body(url));
    if (!response && response.error().code == "QueueDoesNotExist") continue;
    if (!response) return explain_call(response.error(), name_of_url(url));
    JsonDom dom;
    if (const auto document = dom.parse(response->body)) act(name_of_url(url), *document);
  }
  return exit_ok;
}

std::string name_of_url(std::string_view url) {
  return std::string(url.substr(url.rfind('/') + 1));
}

std::string name_of_arn(std::string_view arn) {
  return std::string(arn.substr(arn.rfind(':') + 1));
}

}  // namespace pawl

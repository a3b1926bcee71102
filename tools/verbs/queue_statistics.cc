// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/queue_statistics.h"

#include <utility>

#include "core/base/check.h"
#include "proto/text/json.h"
#include "proto/text/text.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::CallError;
using sqs_client::SqsClient;

constexpr int looks_max = 10;  // at 100 messages each

double decimal_of(const JsonValue& object, std::string_view name) {
  const auto member = object.member(name);
  return member ? member->number().value_or(0) : 0;
}

QueueCounted counted_of(const JsonValue& statistics) {
  const auto count = [&statistics](std::string_view name) {
    return static_cast<std::uint64_t>(decimal_of(statistics, name));
  };
  QueueCounted counted{.at_ms = static_cast<std::int64_t>(decimal_of(statistics, "Timestamp")),
                       .oldest_s = decimal_of(statistics, "ApproximateAgeOfOldestMessage"),
                       .lease_p50_s = decimal_of(statistics, "LeaseSecondsP50"),
                       .lease_p99_s = decimal_of(statistics, "LeaseSecondsP99"),
                       .workers = decimal_of(statistics, "WorkersWanted"),
                       .sent = count("NumberOfMessagesSent"),
                       .received = count("NumberOfMessagesReceived"),
                       .deleted = count("NumberOfMessagesDeleted"),
                       .deleted_late = count("NumberOfMessagesDeletedLate"),
                       .delivered_late = count("NumberOfMessagesDeliveredLate"),
                       .leases_expired = count("NumberOfLeasesExpired"),
                       .expired = count("NumberOfMessagesExpired"),
                       .dead_lettered = count("NumberOfMessagesDeadLettered"),
                       .leases = count("NumberOfLeases")};
  if (statistics.member("DrainSeconds")) counted.drain_s = decimal_of(statistics, "DrainSeconds");
  return counted;
}

void read_redrive(const std::string& policy, QueueReading& reading) {
  JsonDom dom;
  const auto document = policy.empty() ? std::nullopt : dom.parse(policy);
  if (!document) return;
  reading.dead_letter_arn = text_of(*document, "deadLetterTargetArn");
  const auto count = document->member("maxReceiveCount");
  if (!count) return;
  const auto text = count->text();  // AWS also stores texts
  reading.max_receives = text ? static_cast<std::int64_t>(decimal_number(*text).value_or(0))
                              : static_cast<std::int64_t>(count->number().value_or(0));
}

std::string page_body(const std::string& token) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  if (!token.empty()) json.member("NextToken", std::string_view(token));
  json.end_object();
  return body;
}

std::string look_body(const std::string& url, std::int64_t from) {
  CHECK(!url.empty() && from >= 0, "a look from {}", from);
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", std::string_view(url));
  json.member("From", from);
  json.member("MaxMessages", 100);
  json.key("States");
  json.begin_array();
  json.value("visible");
  json.end_array();
  json.end_object();
  return body;
}

// Adds the queues of a page. Without a value it is no such page.
std::optional<std::string> add_page(std::string_view response, std::vector<QueueReading>& all) {
  JsonDom dom;
  const auto document = dom.parse(response);
  const auto queues = document ? document->member("Queues") : std::nullopt;
  if (!queues || !queues->is_list()) return std::nullopt;
  for (const JsonValue queue : queues->items()) {
    QueueReading reading = reading_of(text_of(queue, "QueueName"), queue);
    reading.url = text_of(queue, "QueueUrl");
    if (const auto statistics = queue.member("Statistics"))
      reading.counted = counted_of(*statistics);
    all.push_back(std::move(reading));
  }
  return text_of(*document, "NextToken");
}

}  // namespace

QueueReading reading_of(const std::string& name, const JsonValue& response) {
  const auto count = [&response](const std::string& attribute) {
    return static_cast<std::uint64_t>(attribute_number_of(response, attribute));
  };
  QueueReading reading{.name = name, .arn = attribute_of(response, "QueueArn")};
  make_printable(reading.name);
  reading.fifo = attribute_of(response, "FifoQueue") == "true";
  reading.visible = count("ApproximateNumberOfMessages");
  reading.in_flight = count("ApproximateNumberOfMessagesNotVisible");
  reading.delayed = count("ApproximateNumberOfMessagesDelayed");
  reading.visibility_s = attribute_number_of(response, "VisibilityTimeout");
  reading.retention_s = attribute_number_of(response, "MessageRetentionPeriod");
  reading.retains_from_move = attribute_of(response, "x-retention-from") == "move";
  reading.wait_s = attribute_number_of(response, "ReceiveMessageWaitTimeSeconds");
  read_redrive(attribute_of(response, "RedrivePolicy"), reading);
  return reading;
}

std::expected<std::vector<QueueReading>, CallError> read_statistics(SqsClient& client) {
  std::vector<QueueReading> all;
  std::string token;
  do {
    const auto response = client.call("ListQueueStatistics", page_body(token));
    if (!response) return std::unexpected(response.error());
    const auto next = add_page(response->body, all);
    if (!next)
      return std::unexpected(CallError{
          .kind = sqs_client::ErrorKind::broken,
          .text = "the response has no list \"Queues\". Is --url the HTTP port of a pawl server?"});
    CHECK(next->empty() || *next != token, "page {} follows itself", token);
    token = *next;
  } while (!token.empty());
  return all;
}

bool all_visible_wait(SqsClient& client, const std::string& url) {
  std::int64_t from = 0;
  bool any = false;
  for (int look = 0; look < looks_max; ++look) {
    const auto response = client.call("PeekMessages", look_body(url, from));
    JsonDom dom;
    const auto document = response ? dom.parse(response->body) : std::nullopt;
    const auto messages = document ? document->member("Messages") : std::nullopt;
    if (!messages) return false;
    for (const JsonValue message : messages->items()) {
      any = true;
      if (!message.member("Behind")) return false;
    }
    const std::int64_t next = number_of(*document, "Next").value_or(0);
    if (next <= from) break;
    from = next;
  }
  return any;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/queue/queue_config.h"
#include "proto/text/duration.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "tools/commands.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/input_file.h"
#include "tools/verbs/name_value.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::SqsClient;

constexpr std::size_t batch_entries_max = 10;     // of SQS
constexpr std::size_t batch_bytes_max = 1 << 20;  // of the bodies, as SQS counts them

struct SendOptions {
  EndpointOptions endpoint;
  std::string queue, body;
  bool has_body = false;
  std::string file;   // the body is in it; -: the standard input
  std::string jsonl;  // a message a line
  std::string group, deduplication;
  std::int64_t delay = -1;  // seconds; -1: the queue's
  std::uint32_t delay_given = 0;
  std::string time_to_live;  // a duration
  std::string attributes;    // lines of NAME=VALUE
};

std::string check_time_to_live(const std::string& text) {
  const auto time = parse_duration(text);
  if (time && time->ms > 0 && *time <= time_to_live_max) return {};
  return fmt::format(
      "\"{}\" is not a time to live of 1 ms to 14 days. Write 30s, 15m, 2h or 500ms; a number "
      "counts seconds.",
      text);
}

void write_text_attribute(JsonWriter& json, std::string_view name, std::string_view value) {
  json.key(name);
  json.begin_object();
  json.member("DataType", "String");
  json.member("StringValue", value);
  json.end_object();
}

// The members that every message of the call has.
void write_common(JsonWriter& json, const SendOptions& asked) {
  if (!asked.group.empty()) json.member("MessageGroupId", std::string_view(asked.group));
  if (asked.delay >= 0) json.member("DelaySeconds", asked.delay);
  if (!asked.time_to_live.empty()) {
    json.key("MessageSystemAttributes");
    json.begin_object();
    write_text_attribute(json, "x-ttl", asked.time_to_live);
    json.end_object();
  }
  if (asked.attributes.empty()) return;
  json.key("MessageAttributes");
  json.begin_object();
  for (const NameValue& pair : names_and_values(asked.attributes))
    write_text_attribute(json, pair.name, pair.value);
  json.end_object();
}

int send_one(const SendOptions& asked, SqsClient& client, const std::string& url,
             std::string_view message) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", std::string_view(url));
  json.member("MessageBody", message);
  write_common(json, asked);
  if (!asked.deduplication.empty())
    json.member("MessageDeduplicationId", std::string_view(asked.deduplication));
  json.end_object();
  const auto response = client.call("SendMessage", body);
  if (!response) return explain_call(response.error(), asked.queue);
  JsonDom dom;
  const auto document = dom.parse(response->body);
  fmt::print("{}\n", document ? text_of(*document, "MessageId") : std::string());
  return exit_ok;
}

// --- a message a line ---

// True: the line is a text, or an object of texts and numbers with MessageBody.
bool is_entry(const JsonValue& line) {
  if (line.text()) return true;
  if (!line.is_object() || text_of(line, "MessageBody").empty()) return false;
  for (const auto [name, value] : line.members())
    if (!value.text() && !value.is_number()) return false;
  return true;
}

void write_entry(JsonWriter& json, const SendOptions& asked, const JsonValue& line,
                 std::uint64_t number) {
  CHECK(is_entry(line), "line {}", number);
  json.begin_object();
  json.member("Id", std::string_view(std::to_string(number)));
  if (const auto body = line.text()) json.member("MessageBody", *body);
  for (const auto [name, value] : line.members()) {
    if (const auto text = value.text()) {
      json.member(name, *text);
    } else if (const auto whole = number_of(line, name)) {
      json.member(name, *whole);
    }
  }
  write_common(json, asked);
  json.end_object();
}

// Entries of SendMessageBatch, made of lines of --jsonl.
struct Batch {
  std::size_t entries = 0;
  std::size_t bytes = 0;  // of the lines
  std::string text;       // JSON, with commas between the entries
};

// Prints the entries that were refused. Returns the number of the others; without a value the call
// failed.
std::optional<std::size_t> send_batch(const SendOptions& asked, SqsClient& client,
                                      const std::string& url, const Batch& batch, int& code) {
  CHECK(batch.entries > 0 && batch.entries <= batch_entries_max, "{} entries", batch.entries);
  std::string body = body_with("QueueUrl", url);
  body.pop_back();
  body += fmt::format(R"(,"Entries":[{}]}})", batch.text);
  const auto response = client.call("SendMessageBatch", body);
  if (!response) {
    code = explain_call(response.error(), asked.queue);
    return std::nullopt;
  }
  JsonDom dom;
  const auto document = dom.parse(response->body);
  const auto failed = document ? document->member("Failed") : std::nullopt;
  if (!failed) return batch.entries;
  for (const JsonValue entry : failed->items())
    code = fail_with(exit_failure, fmt::format("{}:{}: not sent: {}", asked.jsonl,
                                               text_of(entry, "Id"), text_of(entry, "Message")));
  return batch.entries - failed->size();
}

int send_lines(const SendOptions& asked, SqsClient& client, const std::string& url) {
  const auto content = content_of(asked.jsonl);
  if (!content) return exit_failure;
  int code = exit_ok;
  std::size_t sent = 0;
  std::uint64_t number = 0;
  Batch batch;
  const auto send_rest = [&] {
    const auto more = batch.entries == 0 ? std::optional<std::size_t>(0)
                                         : send_batch(asked, client, url, batch, code);
    sent += more.value_or(0);
    batch = {};
    return more.has_value();
  };
  JsonDom dom;
  for (const auto range : std::views::split(*content, '\n')) {
    ++number;
    const std::string_view text(range.begin(), range.end());
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    const auto line = dom.parse(text);
    if (!line || !is_entry(*line)) {
      if (send_rest()) fmt::print("{} messages sent\n", sent);
      return fail_with(exit_failure,
                       fmt::format("{}:{}: the line is neither a JSON text nor an object of texts "
                                   "and numbers with MessageBody. The lines before it are sent.",
                                   asked.jsonl, number));
    }
    if (batch.entries == batch_entries_max || batch.bytes + text.size() > batch_bytes_max) {
      if (!send_rest()) return code;
    }
    if (batch.entries++ > 0) batch.text += ',';
    batch.bytes += text.size();
    JsonWriter json(batch.text);
    write_entry(json, asked, *line, number);
  }
  if (!send_rest()) return code;
  fmt::print("{} messages sent\n", sent);
  return code;
}

int run_send(const SendOptions& asked) {
  const int bodies =
      (asked.has_body ? 1 : 0) + (asked.file.empty() ? 0 : 1) + (asked.jsonl.empty() ? 0 : 1);
  if (bodies != 1) return fail_with(exit_usage, "give one of BODY, --file FILE and --jsonl FILE.");
  return with_queue(
      asked.endpoint, asked.queue, [&](SqsClient& client, const std::string& url) -> int {
        if (!asked.jsonl.empty()) return send_lines(asked, client, url);
        if (asked.file.empty()) return send_one(asked, client, url, asked.body);
        const auto content = content_of(asked.file);
        return content ? send_one(asked, client, url, *content) : static_cast<int>(exit_failure);
      });
}

}  // namespace

void add_send_command(CommandLine& line) {
  Verb verb = line.add_verb("send", "Sends a message, or one for each line of a file");
  const auto asked = std::make_shared<SendOptions>();
  verb.option("QUEUE,--queue", asked->queue, "Name or URL of the queue").required();
  const Option body = verb.option("BODY,--body", asked->body, "The message");
  verb.option("--file", asked->file, "A file with the message; - is the standard input")
      .value_name("FILE");
  verb.option("--jsonl", asked->jsonl,
              "A file with a message a line: a JSON text, or an object with MessageBody and other "
              "members of SendMessage; - is the standard input")
      .value_name("FILE");
  verb.option("--group", asked->group, "MessageGroupId").value_name("GROUP");
  verb.option("--deduplication", asked->deduplication, "MessageDeduplicationId").value_name("ID");
  const Option delay = verb.option("--delay", asked->delay_given, "DelaySeconds")
                           .check(whole_number(0, delay_max.ms / 1000))
                           .value_name("SECONDS");
  verb.option("--ttl", asked->time_to_live,
              "Time after which the message expires, as 30s, from when it is visible (x-ttl)")
      .value_name("TIME")
      .check(check_time_to_live);
  verb.option("--attribute", asked->attributes,
              "A message attribute of type String; repeat it for more")
      .value_name("NAME=VALUE")
      .join_repeats()
      .check(check_names_and_values);
  add_endpoint(verb, asked->endpoint);
  verb.on_given([asked, body, delay] {
    asked->has_body = body.given();
    if (delay.given()) asked->delay = asked->delay_given;
    return run_send(*asked);
  });
}

}  // namespace pawl

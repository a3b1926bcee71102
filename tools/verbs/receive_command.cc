// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/queue/queue_config.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/point_in_time.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::SqsClient;

struct ReceiveOptions {
  EndpointOptions endpoint;
  std::string queue;
  std::uint64_t count = 10;
  std::uint32_t wait = 0;         // seconds
  std::uint32_t visibility = 30;  // seconds
  bool has_visibility = false;
  bool deletes = false, follows = false;
  OutputOptions output;
};

struct ReceiptOptions {
  EndpointOptions endpoint;
  std::string queue, receipt;
  std::uint32_t seconds = 0;
};

std::string receive_body_for(const ReceiveOptions& asked, const std::string& url,
                             std::uint64_t left) {
  return receive_body(url, std::min<std::uint64_t>(left, receive_messages_max),
                      asked.follows ? long_poll_seconds : asked.wait,
                      asked.has_visibility ? std::optional(asked.visibility) : std::nullopt);
}

Printer::Row received_row(const JsonValue& message) {
  const std::string body = text_of(message, "Body");
  const std::int64_t sent = attribute_number_of(message, "SentTimestamp");
  return {
      .cells = {{"id", text_of(message, "MessageId")},
                {"receives", attribute_number_of(message, "ApproximateReceiveCount")},
                {"sent", sent, sent == 0 ? "" : time_text(sent)},
                {"group", attribute_of(message, "MessageGroupId")},
                {"body", body, short_body(body)},
                {"receipt", text_of(message, "ReceiptHandle")}}
  };
}

// The body of DeleteMessage, or of ChangeMessageVisibility with `visibility`.
std::string receipt_body(const std::string& url, const std::string& receipt,
                         std::optional<std::uint32_t> visibility = std::nullopt) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueUrl", std::string_view(url));
  json.member("ReceiptHandle", std::string_view(receipt));
  if (visibility) json.member("VisibilityTimeout", *visibility);
  json.end_object();
  return body;
}

// A message that was shown goes; one that was not stays in flight.
int delete_shown(const ReceiveOptions& asked, SqsClient& client, const std::string& url,
                 std::vector<std::string>& receipts) {
  CHECK(asked.deletes, "{} messages stay", receipts.size());
  for (const std::string& receipt : receipts) {
    const auto response = client.call("DeleteMessage", receipt_body(url, receipt));
    if (!response) return explain_call(response.error(), asked.queue);
  }
  receipts.clear();
  return exit_ok;
}

int receive(const ReceiveOptions& asked, SqsClient& client, const std::string& url) {
  const bool at_once = asked.output.format() == OutputFormat::jsonl;
  Printer printer(stdout, asked.output.format(), {"id", "receives", "sent", "group", "body"});
  std::vector<std::string> receipts;
  std::uint64_t left = asked.follows ? UINT64_MAX : asked.count;
  while (left > 0) {
    const auto response = client.call("ReceiveMessage", receive_body_for(asked, url, left));
    if (!response) return explain_call(response.error(), asked.queue);
    JsonDom dom;
    const auto document = dom.parse(response->body);
    const auto messages = document ? document->member("Messages") : std::nullopt;
    if (!messages || messages->size() == 0) {
      if (asked.follows) continue;
      break;
    }
    for (const JsonValue message : messages->items()) {
      printer.add(received_row(message));
      receipts.push_back(text_of(message, "ReceiptHandle"));
    }
    left -= std::min<std::uint64_t>(left, messages->size());
    if (!at_once) continue;
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) break;
    if (!asked.deletes) {
      receipts.clear();
    } else if (const int code = delete_shown(asked, client, url, receipts); code != exit_ok) {
      return code;
    }
  }
  CHECK(!asked.follows || at_once, "a list without end");
  const int code = printer.end();
  return code == exit_ok && asked.deletes ? delete_shown(asked, client, url, receipts) : code;
}

int run_receive(const ReceiveOptions& asked) {
  if (asked.follows && asked.output.format() == OutputFormat::json)
    return fail_with(exit_usage, "--follow never ends, and -o json is one list. Use -o jsonl.");
  return with_queue(asked.endpoint, asked.queue, [&](SqsClient& client, const std::string& url) {
    return receive(asked, client, url);
  });
}

int run_receipt(const ReceiptOptions& asked, std::string_view action,
                std::optional<std::uint32_t> visibility) {
  return with_queue(asked.endpoint, asked.queue, [&](SqsClient& client, const std::string& url) {
    const auto response = client.call(action, receipt_body(url, asked.receipt, visibility));
    return response ? static_cast<int>(exit_ok) : explain_call(response.error(), asked.queue);
  });
}

void add_receipt(Verb verb, ReceiptOptions& asked) {
  verb.option("QUEUE,--queue", asked.queue, "Name or URL of the queue").required();
  verb.option("RECEIPT,--receipt", asked.receipt, "As `pawl receive -o jsonl` shows it").required();
  add_endpoint(verb, asked.endpoint);
}

}  // namespace

void add_receive_command(CommandLine& line) {
  Verb verb = line.add_verb("receive", "Receives messages; without --delete they return later");
  const auto asked = std::make_shared<ReceiveOptions>();
  verb.option("QUEUE,--queue", asked->queue, "Name or URL of the queue").required();
  add_endpoint(verb, asked->endpoint);
  verb.option("-n,--count", asked->count, "How many messages at most")
      .check(whole_number(1, 1'000'000))
      .show_default();
  verb.option("--wait", asked->wait, "Seconds to wait for the first message")
      .check(whole_number(0, long_poll_seconds))
      .show_default();
  const Option visibility =
      verb.option("--visibility", asked->visibility,
                  "Seconds until a message that is not deleted returns (default: the queue's)")
          .check(whole_number(0, visibility_max.ms / 1000));
  verb.flag("--delete", asked->deletes, "Delete each message when it is printed");
  verb.flag("--follow", asked->follows, "Go on with the next messages until it is interrupted");
  add_output(verb, asked->output, "{id, receives, sent, group, body, receipt}");
  verb.footer(
      "Prints nothing when no message is visible. The receipt that `pawl delete` and `pawl extend` "
      "need is shown by -o json and -o jsonl alone.");
  verb.on_given([asked, visibility] {
    asked->has_visibility = visibility.given();
    if (asked->follows && asked->output.format() == OutputFormat::table)
      asked->output.name = "jsonl";
    return run_receive(*asked);
  });
}

void add_delete_command(CommandLine& line) {
  Verb verb = line.add_verb("delete", "Deletes a received message");
  const auto asked = std::make_shared<ReceiptOptions>();
  add_receipt(verb, *asked);
  verb.on_given([asked] { return run_receipt(*asked, "DeleteMessage", std::nullopt); });
}

void add_extend_command(CommandLine& line) {
  Verb verb = line.add_verb("extend", "Changes when a received message returns");
  const auto asked = std::make_shared<ReceiptOptions>();
  add_receipt(verb, *asked);
  verb.option("SECONDS,--seconds", asked->seconds, "From now; 0: at once")
      .check(whole_number(0, visibility_max.ms / 1000))
      .required();
  verb.on_given([asked] { return run_receipt(*asked, "ChangeMessageVisibility", asked->seconds); });
}

}  // namespace pawl

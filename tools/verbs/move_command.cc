// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/text.h"
#include "tools/commands.h"
#include "tools/verbs/endpoint_connection.h"
#include "tools/verbs/move_state.h"
#include "tools/verbs/queue_calls.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

using sqs_client::SqsClient;
using MoveClock = std::chrono::steady_clock;

constexpr std::size_t move_entries_max = 10;       // of a batch of SQS
constexpr std::size_t move_bytes_max = 256 << 10;  // of a batch; a larger message goes alone
constexpr int empty_receives_max = 3;  // on end a queue that claims to have visible messages

struct MoveOptions {
  EndpointOptions from, to;
  std::string queue, to_queue;
  std::string state;
  std::uint32_t visibility = 60, wait = 0;  // seconds
};

// An endpoint with its queue.
struct MoveSide {
  SqsClient client;
  std::string queue;  // as given
  std::string url;

  bool is_fifo() const { return url.ends_with(".fifo"); }
};

struct MovedMessage {
  std::string id, receipt;
  std::string members;  // of its entry of SendMessageBatch, without the Id
};

// --- the texts of the calls ---

MovedMessage read_message(const JsonValue& message) {
  MovedMessage read{.id = text_of(message, "MessageId"),
                    .receipt = text_of(message, "ReceiptHandle"),
                    .members = {}};
  JsonWriter json(read.members);
  json.begin_object();
  json.member("MessageBody", std::string_view(text_of(message, "Body")));
  for (const char* name : {"MessageGroupId", "MessageDeduplicationId"}) {
    const std::string value = attribute_of(message, name);
    if (!value.empty()) json.member(name, std::string_view(value));
  }
  json.end_object();
  read.members.pop_back();
  if (const auto attributes = message.member("MessageAttributes"); attributes)
    read.members += ",\"MessageAttributes\":" + attributes->compact();
  if (const std::string trace = attribute_of(message, "AWSTraceHeader"); !trace.empty()) {
    read.members += ",\"MessageSystemAttributes\":{\"AWSTraceHeader\":{\"DataType\":\"String\",";
    JsonWriter value(read.members);
    value.key("StringValue");
    value.value(std::string_view(trace));
    read.members += "}}";
  }
  read.members.erase(0, 1);  // the brace
  return read;
}

// Calls a batch action with one entry for each message. `members`: what follows the Id.
template <typename Members>
auto call_batch(MoveSide& side, std::string_view action, std::span<const MovedMessage> messages,
                Members&& members) {
  CHECK(!messages.empty() && messages.size() <= move_entries_max, "{} messages", messages.size());
  std::string body = body_with("QueueUrl", side.url);
  body.pop_back();
  body += ",\"Entries\":[";
  for (std::size_t i = 0; i < messages.size(); ++i)
    body += fmt::format("{}{{\"Id\":\"{}\",{}}}", i == 0 ? "" : ",", i, members(messages[i]));
  body += "]}";
  return side.client.call(action, body);
}

std::string receipt_member(const MovedMessage& message) {
  std::string member;
  JsonWriter json(member);
  json.begin_object();
  json.member("ReceiptHandle", std::string_view(message.receipt));
  return member.substr(1);
}

// --- the move ---

class Mover {
 public:
  Mover(const MoveOptions& asked, MoveSide from, MoveSide to, MoveState state)
      : asked_(asked),
        from_(std::move(from)),
        to_(std::move(to)),
        state_(std::move(state)),
        before_(state_.size()) {}

  int run();

 private:
  int move_all();
  int receive(std::uint32_t seconds, std::vector<MovedMessage>& messages);
  int move(const std::vector<MovedMessage>& messages);
  int send(std::span<const MovedMessage> messages);
  std::size_t next_batch(std::span<const MovedMessage> messages) const;
  int note_sent(std::span<const MovedMessage> batch, const JsonValue& response);
  int delete_sent(const std::vector<MovedMessage>& messages);
  void return_unsent(const std::vector<MovedMessage>& messages);
  int count_left();
  std::int64_t left() const { return visible_ + in_flight_ + delayed_; }

  const MoveOptions& asked_;
  MoveSide from_, to_;
  MoveState state_;
  std::size_t before_;                                      // sent by earlier runs
  std::int64_t visible_ = 0, in_flight_ = 0, delayed_ = 0;  // in the source, at the last count
};

int Mover::run() {
  const int code = move_all();
  const int counted = count_left();
  if (counted != exit_ok) return code == exit_ok ? counted : code;
  CHECK(state_.size() >= before_, "{} ids, before {}", state_.size(), before_);
  std::string text = fmt::format("moved {}, left {}", state_.size() - before_, left());
  if (left() > 0)
    text += fmt::format(" ({} visible, {} in flight, {} delayed)", visible_, in_flight_, delayed_);
  if (before_ > 0) text += fmt::format("; {} moved by all runs", state_.size());
  fmt::print("{}\n", text);
  if (code != exit_ok) return code;
  return left() > 0 ? exit_check_failed : exit_ok;
}

// Ends when nothing is visible, and with --wait when nothing is left or the time is over.
int Mover::move_all() {
  const MoveClock::time_point until = MoveClock::now() + std::chrono::seconds(asked_.wait);
  int empty = 0;
  std::uint32_t seconds = 0;
  std::vector<MovedMessage> messages;
  for (;;) {
    if (const int code = receive(seconds, messages); code != exit_ok) return code;
    if (!messages.empty()) {
      empty = 0;
      seconds = 0;
      if (const int code = move(messages); code != exit_ok) return code;
      continue;
    }
    if (const int code = count_left(); code != exit_ok) return code;
    const std::int64_t time =
        std::chrono::ceil<std::chrono::seconds>(until - MoveClock::now()).count();
    const bool waits = time > 0 && left() > 0;
    if (!waits && (visible_ == 0 || ++empty == empty_receives_max)) return exit_ok;
    seconds =
        waits ? static_cast<std::uint32_t>(std::min<std::int64_t>(time, long_poll_seconds)) : 1;
  }
}

int Mover::receive(std::uint32_t seconds, std::vector<MovedMessage>& messages) {
  messages.clear();
  const auto response = from_.client.call(
      "ReceiveMessage", receive_body(from_.url, move_entries_max, seconds, asked_.visibility));
  if (!response) return explain_call(response.error(), from_.queue);
  JsonDom dom;
  const auto document = dom.parse(response->body);
  if (!document) return fail_with(exit_failure, "the response to ReceiveMessage is not JSON.");
  if (const auto list = document->member("Messages"))
    for (const JsonValue message : list->items()) messages.push_back(read_message(message));
  return exit_ok;
}

// Sends the messages that no run has sent, deletes those that were sent, and returns the others.
int Mover::move(const std::vector<MovedMessage>& messages) {
  CHECK(!messages.empty(), "nothing to move");
  std::vector<MovedMessage> unsent;
  for (const MovedMessage& message : messages)
    if (!state_.has(message.id)) unsent.push_back(message);
  const int code = unsent.empty() ? static_cast<int>(exit_ok) : send(unsent);
  const int deleted = delete_sent(messages);
  if (code != exit_ok) return_unsent(messages);
  return code == exit_ok ? deleted : code;
}

int Mover::send(std::span<const MovedMessage> messages) {
  while (!messages.empty()) {
    const auto batch = messages.first(next_batch(messages));
    CHECK(!batch.empty() && batch.size() <= messages.size(), "{} messages", batch.size());
    const auto response = call_batch(to_, "SendMessageBatch", batch,
                                     [](const MovedMessage& one) { return one.members; });
    if (!response) return explain_call(response.error(), to_.queue);
    JsonDom dom;
    const auto document = dom.parse(response->body);
    if (!document) return fail_with(exit_failure, "the response to SendMessageBatch is not JSON.");
    if (const int code = note_sent(batch, *document); code != exit_ok) return code;
    messages = messages.subspan(batch.size());
  }
  return exit_ok;
}

// The messages of one call. Those of a FIFO queue go one by one: behind a refused message, a later
// one of its group would overtake it.
std::size_t Mover::next_batch(std::span<const MovedMessage> messages) const {
  if (to_.is_fifo()) return 1;
  std::size_t count = 0, bytes = 0;
  for (const MovedMessage& message : messages) {
    bytes += message.members.size();
    if (count > 0 && bytes > move_bytes_max) break;
    ++count;
  }
  return count;
}

int Mover::note_sent(std::span<const MovedMessage> batch, const JsonValue& response) {
  std::vector<std::string> ids;
  std::vector<bool> named(batch.size());
  if (const auto sent = response.member("Successful")) {
    for (const JsonValue entry : sent->items()) {
      const auto number = decimal_number(text_of(entry, "Id"));
      if (!number || *number >= batch.size() || named[*number]) continue;
      named[*number] = true;
      ids.push_back(batch[*number].id);
    }
  }
  CHECK(ids.size() <= batch.size(), "{} of {} were sent", ids.size(), batch.size());
  if (const auto noted = state_.note(ids); !noted) return fail_with(exit_failure, noted.error());
  if (ids.size() == batch.size()) return exit_ok;
  std::string reason = "the endpoint gave no reason";
  if (const auto failed = response.member("Failed"))
    for (const JsonValue entry : failed->items())
      reason = text_of(entry, "Code") + ": " + text_of(entry, "Message");
  make_printable(reason);
  return fail_with(
      exit_failure,
      fmt::format("queue \"{}\" refuses {} of {} messages: {}. They stay in \"{}\".", to_.queue,
                  batch.size() - ids.size(), batch.size(), reason, from_.queue));
}

// A message whose delete is refused returns later, and is then deleted without a send.
int Mover::delete_sent(const std::vector<MovedMessage>& messages) {
  std::vector<MovedMessage> sent;
  for (const MovedMessage& message : messages)
    if (state_.has(message.id)) sent.push_back(message);
  if (sent.empty()) return exit_ok;
  const auto response = call_batch(from_, "DeleteMessageBatch", sent, receipt_member);
  return response ? static_cast<int>(exit_ok) : explain_call(response.error(), from_.queue);
}

// Without effect if the call fails: the messages return after the visibility timeout.
void Mover::return_unsent(const std::vector<MovedMessage>& messages) {
  std::vector<MovedMessage> unsent;
  for (const MovedMessage& message : messages)
    if (!state_.has(message.id)) unsent.push_back(message);
  if (unsent.empty()) return;
  (void)call_batch(from_, "ChangeMessageVisibilityBatch", unsent, [](const MovedMessage& one) {
    return receipt_member(one) + ",\"VisibilityTimeout\":0";
  });
}

int Mover::count_left() {
  int code = exit_ok;
  const auto response = attributes_of(from_.client, from_.url, from_.queue, code);
  if (!response) return code;
  JsonDom dom;
  const auto document = dom.parse(*response);
  if (!document) return fail_with(exit_failure, "the response to GetQueueAttributes is not JSON.");
  visible_ = attribute_number_of(*document, "ApproximateNumberOfMessages");
  in_flight_ = attribute_number_of(*document, "ApproximateNumberOfMessagesNotVisible");
  delayed_ = attribute_number_of(*document, "ApproximateNumberOfMessagesDelayed");
  return exit_ok;
}

// --- the verb ---

std::optional<MoveSide> open_side(const EndpointOptions& endpoint, const std::string& queue,
                                  std::string_view prefix, int& code) {
  auto client = open_endpoint(endpoint, sqs_client::sqs_api, prefix);
  code = exit_usage;
  if (!client) return std::nullopt;
  auto url = url_of_queue(*client, queue, code);
  if (!url) return std::nullopt;
  return MoveSide{.client = std::move(*client), .queue = queue, .url = std::move(*url)};
}

std::string place_of(const MoveSide& side) {
  return url_of(side.client.endpoint()) + "/" + name_of_url(side.url);
}

int run_move(const MoveOptions& asked) {
  int code = exit_ok;
  auto from = open_side(asked.from, asked.queue, "", code);
  if (!from) return code;
  const std::string target = asked.to_queue.empty() ? name_of_url(asked.queue) : asked.to_queue;
  auto to = open_side(asked.to, target, "TO_", code);
  if (!to) return code;
  if (place_of(*from) == place_of(*to))
    return fail_with(exit_usage, fmt::format("{} is both the source and the target. Name another "
                                             "endpoint with --to, or queue with --to-queue.",
                                             place_of(*from)));
  if (from->is_fifo() != to->is_fifo())
    return fail_with(exit_usage,
                     fmt::format("queue \"{}\" is {} FIFO queue and \"{}\" is {}. Name a queue of "
                                 "the same kind with --to-queue.",
                                 from->queue, from->is_fifo() ? "a" : "no", to->queue,
                                 to->is_fifo() ? "one" : "none"));
  std::string title;
  JsonWriter json(title);
  json.begin_object();
  json.member("from", std::string_view(place_of(*from)));
  json.member("to", std::string_view(place_of(*to)));
  json.end_object();
  auto state = MoveState::open(asked.state, title);
  if (!state) return fail_with(exit_failure, state.error());
  return Mover(asked, std::move(*from), std::move(*to), std::move(*state)).run();
}

}  // namespace

void add_move_command(CommandLine& line) {
  Verb verb = line.add_verb("move", "Moves the messages of a queue to another SQS endpoint");
  const auto asked = std::make_shared<MoveOptions>();
  verb.option("QUEUE,--queue", asked->queue, "Name or URL of the queue").required();
  verb.option("--from", asked->from.url,
              "The endpoint that has the messages (default: AWS_ENDPOINT_URL, else "
              "http://127.0.0.1:9324). Keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
      .value_name("URL");
  verb.option("--to", asked->to.url,
              "The endpoint that gets them. Keys: TO_AWS_ACCESS_KEY_ID and "
              "TO_AWS_SECRET_ACCESS_KEY, else those of --from")
      .value_name("URL")
      .required();
  verb.option("--to-queue", asked->to_queue, "The queue there (default: that of the same name)")
      .value_name("QUEUE");
  verb.option("--state", asked->state,
              "A file with the ids of the messages that were sent: a run after a crash sends none "
              "of them again")
      .value_name("FILE");
  verb.option("--visibility", asked->visibility,
              "Seconds until messages return that a killed run has received")
      .value_name("SECONDS")
      .check(whole_number(1, 43'200))
      .show_default();
  verb.option("--wait", asked->wait, "Seconds to wait for messages that are delayed or in flight")
      .value_name("SECONDS")
      .check(whole_number(0, 86'400))
      .show_default();
  verb.footer("Exit code 4: messages are left in the queue.");
  verb.on_given([asked] { return run_move(*asked); });
}

}  // namespace pawl

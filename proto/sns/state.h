// SPDX-License-Identifier: Apache-2.0
// SnsState, the state of one SNS call, and the functions of all SNS actions.
//
// An action changes a topic by a function over an SnsTopic. The function may run again: the control
// shard refuses a change to a topic that has changed meanwhile.
#pragma once

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/queue/directory.h"
#include "core/queue/receipt.h"
#include "core/queue/request.h"
#include "proto/aws/call_types.h"
#include "proto/sns/filter_policy.h"
#include "proto/sns/topic.h"
#include "proto/text/form.h"
#include "proto/text/xml.h"

namespace pawl {

enum class SnsFault : std::uint8_t {
  none,
  invalid_parameter,
  parameter_value_invalid,
  validation_error,
  not_found,
  authorization_error,
  filter_policy_limit,
  subscription_limit,
  topic_limit,
  tag_limit,
  empty_batch,
  too_many_entries,
  ids_not_distinct,
  invalid_entry_id,
  batch_too_long,
  invalid_action,
  throttled,
  internal_error,
};

struct SnsFaultInfo {
  std::string_view code;
  std::uint16_t status;
  bool sender;
};
const SnsFaultInfo& info(SnsFault fault);

inline constexpr std::string_view invalid_parameter = "Invalid parameter: ";

struct SnsRefusal {
  SnsFault fault = SnsFault::none;
  std::string text;

  explicit operator bool() const { return fault != SnsFault::none; }
  template <typename... Args>
  bool because(SnsFault why, fmt::format_string<Args...> format, Args&&... args) {
    fault = why;
    text = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }
  // "Invalid parameter: ..."
  template <typename... Args>
  bool parameter(fmt::format_string<Args...> format, Args&&... args) {
    return because(SnsFault::invalid_parameter, "{}{}", invalid_parameter,
                   fmt::format(format, std::forward<Args>(args)...));
  }
  // Translates a shard's error.
  bool broker(Errc code);
};

// A message as published.
struct SnsMessage {
  SnsRefusal refusal;
  bool refuses_request = false;  // as on AWS, the fault of one entry refuses the whole batch
  std::string id;                // Id of its batch entry
  std::string text;              // the message for queues
  std::string subject;           // empty: none
  std::string
      attributes;  // encoded as in proto/aws/message_attributes.h; their number has no limit here
  std::size_t attribute_count = 0;
  std::string group, dedup_id;  // empty: none
  std::array<char, 36> message_id{};
  std::array<char, 20> sequence_number{};
  std::string dedup_by;  // what names it in its FIFO topic for five minutes

  // The texts of its envelopes (proto/aws/notification.h); empty: not needed so far.
  std::string notification;
  std::size_t envelope_bytes = 0;  // 0: not known yet

  std::string_view message_id_text() const { return {message_id.data(), message_id.size()}; }
};

// The messages of a publish for one queue.
struct SnsDelivery {
  const SnsSubscription* subscription = nullptr;
  bool dead_letter = false;  // the queue is the subscription's dead-letter queue
  std::vector<std::size_t> messages;

  const std::string& queue() const {  // its account is the subscription's
    return dead_letter ? subscription->dead_letter_queue : subscription->queue;
  }
};

// One message on its way to the queues of one type in one shard.
struct SnsSend {
  std::size_t message = 0;
  ShardId owner{};
  std::string body;  // an envelope made already; empty: the message's text
  SendEntry entry;
  std::vector<FanOutTarget> targets;           // by rising queue id
  std::vector<const SnsDelivery*> deliveries;  // of each target
  Request request;
};

struct SnsState;

struct SnsAction {
  std::string_view name;
  CallStep (*begin)(SnsState&, const Form&);
};

struct SnsState {
  const Directory* directory = nullptr;
  const CallSettings* config = nullptr;
  std::string account, base_url, request_id;
  Instant now;
  std::uint64_t request_number = 0;

  const SnsAction* action = nullptr;
  SnsRefusal refusal;
  std::string result;  // XML inside the response's result element
  bool has_result = false;
  std::vector<CallRoute> routes;

  // A change of a topic or of the directory. A publish also sets `row` and `topic_arn`.
  ConfigPtr row;
  std::string topic_arn;
  std::function<bool(SnsTopic&)> change;              // false: refused, or nothing to change
  std::function<bool(Tags&)> change_tags;             // false: refused
  std::function<void(const QueueConfig&)> if_exists;  // CreateTopic: another call created it first
  bool may_be_gone = false;  // DeleteTopic, Unsubscribe: a missing topic is no error
  QueueSpec spec;
  std::vector<AttributeChange> changes;
  Tags tags;
  Request request;
  unsigned retries = 0;

  // A publish.
  bool batch = false;
  std::string trace;  // AWSTraceHeader, encoded as a system attribute; empty: none
  std::shared_ptr<const SnsTopic> topic;
  std::vector<SnsMessage> messages;
  std::vector<FilterBody> filter_bodies;  // one a message; freed once `chosen`
  std::size_t compared = 0;               // (subscription, message) pairs compared so far, in order
  bool chosen = false;                    // all pairs are compared, and `deliveries` is complete
  // FIFO topic: the messages' numbers. They are taken before the first wave of sends, and beside it
  // a second request waits until they are durable.
  enum class Numbers : std::uint8_t { none, asked, taken, confirming, durable };
  Numbers numbering = Numbers::none;
  std::vector<SendEntry> numbers;
  std::deque<SnsDelivery> deliveries;  // dead letters are added later
  std::size_t delivering = 0;          // first delivery without sends
  std::deque<SnsSend> sends;           // of the deliveries before that one
  // First send not begun yet; first send of the current wave.
  std::size_t sending = 0, under_way = 0;

  CallStep route_to_control() {
    routes.assign(1, {&request, control_shard});
    return CallStep::route;
  }
  XmlWriter answer() {
    has_result = true;
    return XmlWriter(result);
  }
};

namespace sns {

// topics.cc
CallStep create_topic(SnsState& s, const Form& form);
CallStep delete_topic(SnsState& s, const Form& form);
CallStep list_topics(SnsState& s, const Form& form);
CallStep get_topic_attributes(SnsState& s, const Form& form);
CallStep set_topic_attributes(SnsState& s, const Form& form);
CallStep tag_resource(SnsState& s, const Form& form);
CallStep untag_resource(SnsState& s, const Form& form);
CallStep list_tags_for_resource(SnsState& s, const Form& form);

// subscriptions.cc
CallStep subscribe(SnsState& s, const Form& form);
CallStep unsubscribe(SnsState& s, const Form& form);
CallStep list_subscriptions(SnsState& s, const Form& form);
CallStep list_subscriptions_by_topic(SnsState& s, const Form& form);
CallStep get_subscription_attributes(SnsState& s, const Form& form);
CallStep set_subscription_attributes(SnsState& s, const Form& form);

// permissions.cc
CallStep add_permission(SnsState& s, const Form& form);
CallStep remove_permission(SnsState& s, const Form& form);
CallStep confirm_subscription(SnsState& s, const Form& form);
CallStep get_data_protection_policy(SnsState& s, const Form& form);
CallStep put_data_protection_policy(SnsState& s, const Form& form);

// publish_message.cc

// Reads the message whose parameters begin with `prefix`. An error goes into its refusal.
void read_message(SnsState& s, const Form& form, const std::string& prefix, SnsMessage& m);

// numbers.cc: a FIFO topic's numbers. A message that was published before gets its first number.
CallStep take_numbers(SnsState& s);  // or the answer, if all messages are refused
void note_numbers(SnsState& s);
void confirm_numbers(SnsState& s);  // adds a request to the routes
void note_confirmation(SnsState& s);

// publish.cc
CallStep begin_delivery(SnsState& s);
CallStep publish(SnsState& s, const Form& form);
CallStep publish_batch(SnsState& s, const Form& form);
CallStep published(SnsState& s);  // after a wave of sends, or after a pause
CallStep answer_publish(SnsState& s);

// deliver.cc
CallStep deliver(SnsState& s);  // the first wave of sends, or the answer
CallStep sent(SnsState& s);     // after a wave

// change.cc: functions shared by several actions.

// The text of a parameter; empty if absent.
std::string_view text_of(const Form& form, std::string_view key);
// The same for a required parameter. False: absent or empty, refused.
[[nodiscard]] bool need(SnsState& s, const Form& form, std::string_view key, std::string_view& out);
// Refuses an attribute value that JSON or XML cannot represent.
[[nodiscard]] bool check_value(SnsState& s, std::string_view name, std::string_view value);
// Refuses a topic of more than SnsTopic::topic_bytes_max bytes.
[[nodiscard]] bool check_size(SnsState& s, std::size_t bytes);
std::string topic_arn_of(const SnsState& s, std::string_view account, std::string_view name);
// The Policy of a topic that has none.
std::string default_policy(const SnsState& s);
// Finds the topic of an ARN and sets `row` and `topic_arn`. False: refused.
[[nodiscard]] bool find_topic(SnsState& s, std::string_view arn);
// Finds the topic of a subscription's ARN; `id` is the subscription's part of the ARN.
[[nodiscard]] bool find_subscription(SnsState& s, std::string_view arn, std::string_view& id);
// Changes the topic of `row`. The result that `change` writes becomes the response.
CallStep change_topic(SnsState& s, std::function<bool(SnsTopic&)> change);
// Changes the tags of `row`; `change` gets the current ones.
CallStep change_tags(SnsState& s, std::function<bool(Tags&)> change);
// Handles the control shard's response. Repeats a change if the topic has changed meanwhile.
CallStep topic_changed(SnsState& s);
// Reads the pairs of "Attributes.entry.N.key" and ".value", or "Tags.member.N.Key" and ".Value".
[[nodiscard]] bool read_pairs(SnsState& s, const Form& form, std::string_view list,
                              std::string_view key, std::string_view value,
                              std::vector<std::pair<std::string, std::string>>& out);
// "<name><entry><key>..</key><value>..</value></entry>..</name>"
void write_attributes(SnsState& s, const SnsAttributes& attributes);
std::array<char, 36> new_uuid(SnsState& s, std::uint64_t salt);

}  // namespace sns

}  // namespace pawl

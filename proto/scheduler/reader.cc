// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/check.h"
#include "core/queue/directory.h"
#include "proto/aws/arn.h"
#include "proto/aws/message_attributes.h"
#include "proto/aws/notification.h"
#include "proto/scheduler/fired_input.h"
#include "proto/scheduler/schedule.h"
#include "proto/sns/fan_out.h"
#include "proto/text/timestamp.h"

namespace pawl {
namespace {

// A fire of the row, and its message.
struct FireTexts : FireContext {
  QueueId row{};
  Instant at;
  std::string body;
};

struct DeadLetterCause {
  std::string_view code, text;
};
constexpr DeadLetterCause no_queue = {"AWS.SimpleQueueService.NonExistentQueue",
                                      "The specified queue does not exist."};
constexpr DeadLetterCause no_group = {"MissingParameter",
                                      "The target is a FIFO queue and needs a MessageGroupId."};
constexpr DeadLetterCause too_long = {"InvalidParameterValue",
                                      "The message is longer than its queue allows."};
constexpr DeadLetterCause no_topic = {"NotFound", "Topic does not exist"};

bool accepts(const QueueConfig& queue, std::size_t bytes) {
  return static_cast<std::int64_t>(bytes) <= queue.number(Attribute::maximum_message_size);
}

const QueueConfig* queue_at(const Directory& directory, std::string_view account,
                            std::string_view name) {
  const ConfigPtr* const found = directory.find(account, name);
  return found == nullptr || !(*found)->is_queue() ? nullptr : found->get();
}

std::string dead_letter_attributes(const Schedule& schedule, const FireTexts& fire,
                                   const DeadLetterCause& cause) {
  const std::pair<std::string_view, std::string_view> sorted[] = {
      {"ERROR_CODE",           cause.code         },
      {"ERROR_MESSAGE",        cause.text         },
      {"EXECUTION_ID",         fire.id            },
      {"IS_PAYLOAD_TRUNCATED", "false"            },
      {"RETRY_ATTEMPTS",       "0"                },
      {"SCHEDULED_TIME",       fire.time          },
      {"SCHEDULE_ARN",         fire.arn           },
      {"TARGET_ARN",           schedule.target.arn},
  };
  std::string out;
  for (const auto& [name, value] : sorted)
    append_attribute(out, {name, "String", AttributeKind::text, value});
  return out;
}

using FiredMessages = std::vector<FiredMessage>;

// A message that no queue can take; the control shard counts it.
FiredMessages refused_by_all(ShardId own) { return FiredMessages(own == control_shard ? 1 : 0); }

FiredMessages dead_letter(const Schedule& schedule, FireTexts& fire, const DeadLetterCause& cause,
                          const Directory& directory, ShardId own) {
  const auto arn = parse_arn(schedule.target.dead_letter_arn);
  if (!arn || arn->account != fire.account) return refused_by_all(own);
  const QueueConfig* const queue = queue_at(directory, arn->account, arn->name);
  if (queue == nullptr || queue->is_fifo()) return refused_by_all(own);
  FiredMessage message;
  message.attributes = dead_letter_attributes(schedule, fire, cause);
  if (!accepts(*queue, fire.body.size() + attributes_size(message.attributes)))
    return refused_by_all(own);
  if (queue->owner != own) return {};
  message.body = std::move(fire.body);
  message.targets.push_back({.queue = queue->id});
  FiredMessages messages;
  messages.push_back(std::move(message));
  return messages;
}

FiredMessages to_queue(const Schedule& schedule, FireTexts& fire, const Directory& directory,
                       ShardId own) {
  const auto arn = parse_arn(schedule.target.arn);
  const QueueConfig* const queue = queue_at(directory, fire.account, arn->name);
  if (queue == nullptr) return dead_letter(schedule, fire, no_queue, directory, own);
  if (queue->is_fifo() && schedule.target.group.empty())
    return dead_letter(schedule, fire, no_group, directory, own);
  if (!accepts(*queue, fire.body.size()))
    return dead_letter(schedule, fire, too_long, directory, own);
  if (queue->owner != own) return {};
  FiredMessage message;
  message.targets.push_back({.queue = queue->id});
  message.body = std::move(fire.body);
  message.group = schedule.target.group;
  if (queue->is_fifo()) message.dedup_id = fmt::format("{}-{}", raw(fire.row), fire.at.ms);
  FiredMessages messages;
  messages.push_back(std::move(message));
  return messages;
}

// The queues of this shard that get a message of the topic: those that were subscribed at the time
// of the fire, which may be made up for much later. The dead-letter queue of a subscription
// takes the place of a queue that cannot accept it.
std::vector<SnsPlace> places_of(const SnsTopic& topic, const FireTexts& fire,
                                std::size_t envelope_bytes, const Directory& directory,
                                ShardId own) {
  FilterBody body(fire.body);
  std::size_t comparisons = 0;
  std::vector<SnsPlace> places;
  for (const SnsSubscription& one : topic.subscriptions) {
    using Verdict = FilterPolicy::Verdict;
    if (!one.usable || one.created > fire.at ||
        (one.filter != nullptr && one.filter->matches({}, body, comparisons) != Verdict::wanted))
      continue;
    const auto fits = [&](const QueueConfig* queue) {
      return queue != nullptr && !queue->is_fifo() &&
             accepts(*queue, one.raw ? fire.body.size() : envelope_bytes);
    };
    const QueueConfig* queue = queue_at(directory, one.account, one.queue);
    if (!fits(queue) && !one.dead_letter_queue.empty())
      queue = queue_at(directory, one.account, one.dead_letter_queue);
    if (fits(queue) && queue->owner == own)
      places.push_back({.queue = queue, .subscription = &one, .raw = one.raw});
  }
  return places;
}

struct TopicOfFire {
  std::string_view name, region, base_url;
};

FiredMessages to_topic(const Schedule& schedule, FireTexts& fire, const TopicOfFire& named,
                       const Directory& directory, ShardId own) {
  const ConfigPtr* const row = directory.find(topic_account(fire.account), named.name);
  if (row == nullptr) return dead_letter(schedule, fire, no_topic, directory, own);
  const auto topic = topic_of(*row);
  const std::string arn =
      fmt::format("arn:aws:sns:{}:{}:{}", named.region, fire.account, named.name);
  const std::string notification = make_topic_notification({.message_id = fire.id,
                                                            .sequence_number = {},
                                                            .topic_arn = arn,
                                                            .subject = {},
                                                            .base_url = named.base_url,
                                                            .sent = fire.at});
  const Content content{.body = fire.body, .notification = notification};
  std::string envelope;
  append_envelope(envelope, content);
  std::vector<SnsPlace> places = places_of(*topic, fire, envelope.size(), directory, own);
  FiredMessages messages;
  for (SnsGroup& group : group_places(places, notification)) {
    FiredMessage& message = messages.emplace_back();
    if (group.whole_envelope) {
      append_envelope(message.body, content, group.places.front().subscription->id);
    } else {
      message.body = fire.body;
      message.notification = notification;
    }
    message.targets = std::move(group.targets);
  }
  return messages;
}

// Empty: its target is a topic.
std::string queue_of(const Schedule& schedule, std::string_view account) {
  const auto arn = parse_arn(schedule.target.arn);
  if (!arn || arn->service != "sqs") return {};
  return QueueName{account, arn->name}.text();
}

}  // namespace

DefinitionReader::DefinitionReader(const CallSettings& settings, std::string base_url)
    : region_(settings.region), base_url_(std::move(base_url)), secret_(settings.secret) {}

ScheduleTerms DefinitionReader::terms(const QueueConfig& row) const {
  if (ScheduleName::from_text(row.name).name.empty()) return {};
  const auto schedule = Schedule::from_text(row.text(Attribute::schedule));
  if (!schedule) return {};
  return {.enabled = schedule->timing.enabled && can_be_read(schedule->timing),
          .skips_overlap = schedule->skips_overlap,
          .ends_deleted = schedule->ends_deleted,
          .catch_up = schedule->catch_up,
          .from = schedule->from,
          .queue = queue_of(*schedule, owning_account(row.account))};
}

Instant DefinitionReader::next(const QueueConfig& row, Instant after) const {
  if (ScheduleName::from_text(row.name).name.empty()) return never;
  const auto schedule = Schedule::from_text(row.text(Attribute::schedule));
  return schedule ? next_fire_of(schedule->timing, schedule->created, row.id, after) : never;
}

FiredMessages DefinitionReader::messages(const QueueConfig& row, Instant fire,
                                         const Directory& directory, ShardId own) const {
  const ScheduleName name = ScheduleName::from_text(row.name);
  const auto schedule = Schedule::from_text(row.text(Attribute::schedule));
  const auto target = schedule ? parse_arn(schedule->target.arn) : std::nullopt;
  if (!target || name.name.empty()) return {};
  CHECK(row.kind == ConfigKind::schedule, "the row {} of {} fires", row.name, row.account);
  FireTexts texts;
  texts.row = row.id;
  texts.at = fire;
  texts.account = owning_account(row.account);
  texts.region = region_;
  texts.arn = schedule_arn(region_, texts.account, name);
  texts.time = timestamp_text(scheduled_time(schedule->timing, row.id, fire));
  const auto id = uuid_text(message_id(secret_, row.id, static_cast<Seq>(fire.ms) & seq_max));
  texts.id.assign(id.data(), id.size());
  texts.body = fired_input(schedule->target.input, texts);
  if (target->service == "sqs") return to_queue(*schedule, texts, directory, own);
  return to_topic(*schedule, texts, {target->name, region_, base_url_}, directory, own);
}

}  // namespace pawl

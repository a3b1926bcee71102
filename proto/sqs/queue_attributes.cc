// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/queue_attributes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>

#include "core/base/format.h"
#include "core/queue/replay_task.h"
#include "proto/aws/arn.h"
#include "proto/aws/call_types.h"
#include "proto/sqs/attribute_rules.h"
#include "proto/sqs/backoff.h"
#include "proto/text/duration.h"
#include "proto/text/json_value.h"
#include "proto/text/suggest.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using F = SqsFault;

enum class RowKind : std::uint8_t {
  integer,   // in min..max
  duration,  // whole seconds in min..max, or 0: unset
  truth,     // true or false, in any case
  choice,    // one of a few words
  policy,    // a JSON object with statements
  redrive,   // redrive.h
  redrive_allow,
  backoff,   // backoff.h
  key,       // any text
  fifo,      // true, set only at creation
  computed,  // read only
};

bool is_policy(RowKind kind) {
  return kind == RowKind::policy || kind == RowKind::redrive || kind == RowKind::redrive_allow ||
         kind == RowKind::backoff;
}

// The response of a standard queue to an attribute of FIFO queues.
enum class Fifo : std::uint8_t {
  either,   // accepted: standard queues have it too
  unknown,  // refused as an unknown attribute
  named,    // refused with a text that names FifoQueue
};

struct Row {
  std::string_view name;
  RowKind kind;
  Attribute attribute{};
  std::int64_t min = 0, max = 0;
  Fifo fifo = Fifo::either;
  std::array<std::string_view, 3> words = {};  // the values of a choice, by number; for errors
  bool ours = false;                           // pawl's own: not shown while it is 0
};

using A = Attribute;
constexpr std::array<std::string_view, 3> truth_words = {"false", "true"};
constexpr Row choice(std::string_view name, A attribute, std::string_view no,
                     std::string_view yes) {
  return {
      name, RowKind::choice, attribute, 0, 1, Fifo::named, {no, yes, {}}
  };
}
constexpr Row own_seconds(std::string_view name, A attribute, std::int64_t min, std::int64_t max) {
  return {name, RowKind::duration, attribute, min, max, Fifo::either, {}, true};
}
constexpr Row table[] = {
    {"ApproximateNumberOfMessages", RowKind::computed},
    {"ApproximateNumberOfMessagesNotVisible", RowKind::computed},
    {"ApproximateNumberOfMessagesDelayed", RowKind::computed},
    {"CreatedTimestamp", RowKind::computed},
    {"LastModifiedTimestamp", RowKind::computed},
    {"QueueArn", RowKind::computed},
    {"VisibilityTimeout", RowKind::integer, A::visibility_timeout, 0, 43200},
    {"MaximumMessageSize", RowKind::integer, A::maximum_message_size, 1024, 1048576},
    {"MessageRetentionPeriod", RowKind::integer, A::message_retention_period, 60, 1209600},
    {"DelaySeconds", RowKind::integer, A::delay_seconds, 0, 900},
    {"ReceiveMessageWaitTimeSeconds", RowKind::integer, A::receive_message_wait_time_seconds, 0,
     20},
    {"SqsManagedSseEnabled", RowKind::truth, A::sqs_managed_sse_enabled},
    {"KmsMasterKeyId", RowKind::key, A::kms_master_key_id},
    {"KmsDataKeyReusePeriodSeconds", RowKind::integer, A::kms_data_key_reuse_period_seconds, 60,
     86400},
    {"Policy", RowKind::policy, A::policy},
    {"RedrivePolicy", RowKind::redrive, A::redrive_policy},
    {"RedriveAllowPolicy", RowKind::redrive_allow, A::redrive_allow_policy},
    {"FifoQueue", RowKind::fifo, A::fifo_queue, 0, 0, Fifo::unknown},
    {"ContentBasedDeduplication", RowKind::truth, A::content_based_deduplication, 0, 0,
     Fifo::unknown},
    choice("DeduplicationScope", A::deduplication_scope, "queue", "messageGroup"),
    choice("FifoThroughputLimit", A::fifo_throughput_limit, "perQueue", "perMessageGroupId"),
    {"x-durability", RowKind::choice, A::durability, 0, 2, Fifo::either, durability_words, true},
    own_seconds("x-replay-retention", A::replay_retention, 1, replay_retention_max_s),
    own_seconds("x-lag-target", A::lag_target, 1, 1209600),
    {"x-retry-backoff", RowKind::backoff, A::retry_backoff},
    {"x-dead-letter-at", RowKind::choice, A::dead_letter_at, 0, 1, Fifo::either,
     dead_letter_at_words, true},
    own_seconds("x-max-delay", A::max_delay, 1, delay_max.ms / 1000),
    own_seconds("x-max-visibility", A::max_visibility, visibility_max_default.ms / 1000,
                visibility_max.ms / 1000),
    {"x-attributes", RowKind::choice, A::attribute_channel, 0, 1, Fifo::either,
     attribute_channel_words, true},
    own_seconds("x-message-ttl", A::message_ttl, 1, time_to_live_max.ms / 1000),
    {"x-dlq-on-expiry", RowKind::truth, A::dlq_on_expiry, 0, 1, Fifo::either, truth_words, true},
    {"x-retention-from", RowKind::choice, A::retention_from, 0, 1, Fifo::either,
     retention_from_words, true},
    own_seconds("x-max-retention", A::max_retention, retention_max_default.ms / 1000,
                retention_max.ms / 1000),
    {"x-fifo-delay", RowKind::choice, A::fifo_delay, 0, 1, Fifo::named, fifo_delay_words, true},
};
static_assert(std::size(table) < 64);

constexpr bool is_settable(const Row& row) { return row.kind != RowKind::computed; }
constexpr auto settable = [] {
  std::array<Attribute, std::ranges::count_if(table, is_settable)> all{};
  std::size_t at = 0;
  for (const Row& row : table)
    if (is_settable(row)) all[at++] = row.attribute;
  return all;
}();

// Positions of the computed rows in the table.
enum Computed : std::size_t { visible, in_flight, delayed, created, modified, arn };

const Row* find(std::string_view name) {
  const auto row = std::ranges::find(table, name, &Row::name);
  return row == std::end(table) ? nullptr : row;
}

const Row* find(Attribute attribute) {
  const auto row = std::ranges::find_if(
      table, [&](const Row& r) { return r.attribute == attribute && is_settable(r); });
  return row == std::end(table) ? nullptr : row;
}

// SQS has no names that begin with "x-": the text tells the nearest of pawl's, or all.
std::string own_names(std::string_view name) {
  if (!name.starts_with("x-")) return {};
  std::vector<std::string> names;
  for (const Row& row : table)
    if (row.name.starts_with("x-")) names.emplace_back(row.name);
  const std::string nearest = suggestion(name, names);
  return nearest.empty() ? " There are " + join_texts(names, ", ") + "." : nearest;
}

bool refuse_name(std::string_view name, Refusal& refusal) {
  return refusal.because(F::invalid_attribute_name, "Unknown Attribute {}.{}", shown(name),
                         own_names(name));
}

bool refuse_value(std::string_view name, Refusal& refusal) {
  return refusal.because(F::invalid_attribute_value, "Invalid value for the parameter {}.", name);
}

std::span<const std::string_view> words_of(const Row& row) {
  return std::span(row.words).first(static_cast<std::size_t>(row.max) + 1);
}

std::string range_of(const Row& row) {
  return fmt::format("{} to {}{}", row.min, row.max,
                     row.kind == RowKind::duration ? " seconds, or 0" : "");
}

// Refuses an attribute of pawl's own: SQS has no text for it, so this one names the allowed values.
bool refuse_own(const Row& row, std::string_view value, Refusal& refusal) {
  const std::string given = value.empty() ? "empty" : std::string(shown(value));
  const std::string reason =
      row.kind == RowKind::duration
          ? fmt::format(
                "It is {}; write whole seconds from {} to {}, as 90, 15m or 3d, or 0 for none.",
                given, row.min, row.max)
          : fmt::format("It is {}; write one of {}.", given, join_texts(words_of(row), ", "));
  return refusal.because(F::invalid_attribute_value,
                         "Invalid value for the parameter {}. Reason: {}", row.name, reason);
}

// A maximum that can be lifted is checked when all attributes are known.
bool read_integer(const Row& row, std::string_view value, AttributeChange& out) {
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, out.number);
  return error == std::errc() && stop == end && out.number >= row.min &&
         (out.number <= row.max || lifted_limit(row.attribute) != nullptr);
}

bool read_seconds(const Row& row, std::string_view value, AttributeChange& out) {
  const std::optional<Duration> time = parse_duration(value);
  if (!time || time->ms % 1000 != 0) return false;
  out.number = time->ms / 1000;
  return out.number == 0 || (out.number >= row.min && out.number <= row.max);
}

bool read_truth(std::string_view value, AttributeChange& out) {
  const bool truth = equals_ignoring_case(value, "true");
  out.number = truth ? 1 : 0;
  return truth || equals_ignoring_case(value, "false");
}

bool read_choice(const Row& row, std::string_view value, AttributeChange& out) {
  out.number = std::ranges::find(row.words, value) - std::begin(row.words);
  return !value.empty() && out.number <= row.max;
}

// An empty text is always valid: it unsets the attribute.
bool read_text(const Row& row, std::string_view value, AttributeChange& change) {
  if (value.empty()) return true;
  if (row.kind == RowKind::policy) {
    // Compact JSON can be longer than the given text: 9e9 is written out.
    return compact_json_object(value, "Statement", change.text) &&
           change.text.size() <= attribute_text_max && check_text(change.text) == TextFault::none;
  }
  change.text = value;
  return check_text(value) == TextFault::none;
}

bool read_fifo(const AttributeSubject& of, std::string_view value, AttributeChange& change,
               Refusal& refusal) {
  if (!read_truth(value, change)) return refuse_value("FifoQueue", refusal);
  if (change.number == 1) return true;
  if (of.queue == nullptr) return refuse_value("FifoQueue", refusal);
  return refusal.because(F::invalid_attribute_value,
                         "Invalid value for the parameter FifoQueue. Reason: Modifying queue type "
                         "is not supported.");
}

// If a FIFO queue is created without the suffix .fifo, its name is wrong, not the attribute.
bool refuse_on_standard(const Row& row, std::string_view value, const AttributeSubject& of,
                        Refusal& refusal) {
  AttributeChange change{row.attribute, -1, {}};
  if (row.kind == RowKind::fifo && of.queue == nullptr && read_truth(value, change) &&
      change.number == 1) {
    return refuse_fifo_name(refusal);
  }
  if (row.fifo == Fifo::unknown) return refuse_name(row.name, refusal);
  return refusal.because(F::invalid_attribute_name,
                         "You can specify the {} only when FifoQueue is set to true.", row.name);
}

bool read_one(std::string_view name, std::string_view value, const AttributeSubject& of,
              std::vector<AttributeChange>& out, Refusal& refusal) {
  if (name.empty()) {
    return refusal.because(F::missing_parameter,
                           "The request must contain the parameter Attribute.Name.");
  }
  const Row* row = find(name);
  if (row == nullptr || row->kind == RowKind::computed) return refuse_name(name, refusal);
  if (row->fifo != Fifo::either && !of.fifo) return refuse_on_standard(*row, value, of, refusal);
  if (value.size() > attribute_text_max) return refuse_value(name, refusal);
  AttributeChange change{row->attribute, -1, {}};
  bool good = true;
  switch (row->kind) {
    case RowKind::redrive:
      return read_redrive_policy(value, of, out, refusal);
    case RowKind::redrive_allow:
      return read_redrive_allow_policy(value, out, refusal);
    case RowKind::backoff:
      return read_retry_backoff(value, out, refusal);
    case RowKind::fifo:
      if (!read_fifo(of, value, change, refusal)) return false;
      break;
    case RowKind::integer:
      good = read_integer(*row, value, change);
      break;
    case RowKind::duration:
      good = read_seconds(*row, value, change);
      break;
    case RowKind::truth:
      good = read_truth(value, change);
      break;
    case RowKind::choice:
      good = read_choice(*row, value, change);
      break;
    default:
      good = read_text(*row, value, change);
  }
  if (!good) return row->ours ? refuse_own(*row, value, refusal) : refuse_value(name, refusal);
  out.push_back(std::move(change));
  return true;
}

// True beyond a maximum of SQS that neither the request nor the queue lifts: SQS refuses it before
// the attributes that follow.
bool exceeds_sqs(const AttributeChange& change, std::span<const SqsInput::Pair> given,
                 const QueueConfig* queue) {
  const LiftedLimit* const limit = lifted_limit(change.attribute);
  if (limit == nullptr || change.number <= limit->usual_s) return false;
  if (queue != nullptr && queue->number(limit->by) > 0) return false;
  return std::ranges::find(given, limit->by_name, &SqsInput::Pair::first) == given.end();
}

std::string computed_value(std::size_t row, const QueueConfig& queue, const QueueCounts& counts,
                           const CallSettings& config) {
  switch (row) {
    case visible:
      return std::to_string(counts.visible);
    case in_flight:
      return std::to_string(counts.in_flight);
    case delayed:
      return std::to_string(counts.delayed);
    case created:
      return std::to_string(config.shift->wall(queue.created).ms / 1000);
    case modified:
      return std::to_string(config.shift->wall(queue.modified).ms / 1000);
    default:
      return arn_of(config.region, queue.account, queue.name);
  }
}

std::string value_of(const Row& row, const QueueConfig& queue) {
  constexpr std::int64_t key_reuse_default = 300;
  if (row.fifo != Fifo::either && !queue.is_fifo()) return {};
  if (is_text(row.attribute)) return std::string(queue.text(row.attribute));
  const std::int64_t number = queue.number(row.attribute);
  if (row.ours && number == 0) return {};
  switch (row.kind) {
    case RowKind::truth:
    case RowKind::fifo:
      return number == 1 ? "true" : "false";
    case RowKind::choice:
      return std::string(row.words[static_cast<std::size_t>(number)]);
    default:
      break;
  }
  if (row.attribute != A::kms_data_key_reuse_period_seconds) return std::to_string(number);
  if (queue.text(A::kms_master_key_id).empty()) return {};
  return std::to_string(number < 0 ? key_reuse_default : number);
}

// A policy that differs from the queue's only in spaces or order is the same policy: it gets the
// queue's text.
void adopt_equal_texts(const QueueConfig& queue, std::vector<AttributeChange>& changes) {
  for (AttributeChange& change : changes) {
    const Row* row = find(change.attribute);
    if (row == nullptr || !is_policy(row->kind)) continue;
    const std::string_view has = queue.text(change.attribute);
    if (has != change.text && same_json(has, change.text)) change.text = has;
  }
}

}  // namespace

bool refuse_fifo_name(Refusal& refusal) {
  return refusal.because(F::invalid_parameter_value,
                         "The name of a FIFO queue can only include alphanumeric characters, "
                         "hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in "
                         "length");
}

std::string allowed_values(std::string_view name) {
  const Row* const row = find(name);
  if (row == nullptr) return {};
  std::string values;
  if (row->kind == RowKind::integer || row->kind == RowKind::duration) values = range_of(*row);
  const LiftedLimit* const limit = is_settable(*row) ? lifted_limit(row->attribute) : nullptr;
  if (limit != nullptr) values += fmt::format(", or to {}", limit->by_name);
  if (row->kind == RowKind::truth) values = "true or false";
  if (row->kind == RowKind::choice) {
    values = join_texts(words_of(*row), ", ");
  }
  if (row->fifo != Fifo::either && !values.empty())
    values += ", for FIFO queues, whose names end in .fifo";
  return values;
}

std::span<const Attribute> settable_attributes() { return settable; }

std::string_view name_of(Attribute attribute) {
  if (attribute == A::dead_letter_target || attribute == A::max_receive_count) {
    attribute = A::redrive_policy;
  }
  if (attribute == A::backoff_plan) attribute = A::retry_backoff;
  const Row* row = find(attribute);
  return row == nullptr ? std::string_view() : row->name;
}

std::string text_of(Attribute attribute, const QueueConfig& queue) {
  const Row* row = find(attribute);
  return row == nullptr ? std::string() : value_of(*row, queue);
}

bool read_queue_attributes(std::span<const SqsInput::Pair> given, const AttributeSubject& of,
                           std::vector<AttributeChange>& out, Refusal& refusal) {
  out.clear();
  for (const auto& [name, value] : given) {
    if (!read_one(name, value, of, out, refusal)) return false;
    if (exceeds_sqs(out.back(), given, of.queue)) return refuse_value(name, refusal);
  }
  if (of.queue != nullptr) adopt_equal_texts(*of.queue, out);
  return fit_together(out, of.queue, refusal);
}

bool select_queue_attributes(std::span<const std::string_view> names, QueueAttributeSet& out,
                             Refusal& refusal) {
  constexpr auto all = static_cast<QueueAttributeSet>((std::uint64_t{1} << std::size(table)) - 1);
  out = 0;
  for (const std::string_view name : names) {
    const Row* row = find(name);
    if (row == nullptr && name != "All") return refuse_name(name, refusal);
    out |= row == nullptr ? all : QueueAttributeSet{1} << (row - table);
  }
  return true;
}

bool wants_counts(QueueAttributeSet set) {
  return (set & (1u << visible | 1u << in_flight | 1u << delayed)) != 0;
}

void write_queue_attributes(QueueAttributeSet set, const QueueConfig& queue,
                            const QueueCounts& counts, const CallSettings& config,
                            SqsResult& result) {
  bool any = false;
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if ((set >> i & 1) == 0) continue;
    const std::string value = table[i].kind == RowKind::computed
                                  ? computed_value(i, queue, counts, config)
                                  : value_of(table[i], queue);
    if (value.empty()) continue;
    if (!any) result.begin_map("Attributes");
    any = true;
    result.pair("Attribute", table[i].name, value);
  }
  if (any) result.end_map();
}

}  // namespace pawl

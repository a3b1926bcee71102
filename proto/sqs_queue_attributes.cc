#include "proto/sqs_queue_attributes.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>

#include "core/check.h"
#include "proto/text.h"

namespace pawl {
namespace {

using F = SqsFault;

enum class Kind : std::uint8_t {
  integer,     // of min..max
  truth,       // true or false, in any case
  policy,      // a JSON object with statements
  redrive,     // a JSON object; not supported yet
  key,         // any text
  computed,    // read only
  fifo,        // known, but no attribute of a standard queue
  fifo_named,  // the same, refused in other words
};

struct Row {
  std::string_view name;
  Kind kind;
  Attribute attribute{};
  std::int64_t min = 0, max = 0;
};

using A = Attribute;
constexpr Row table[] = {
    {"ApproximateNumberOfMessages", Kind::computed},
    {"ApproximateNumberOfMessagesNotVisible", Kind::computed},
    {"ApproximateNumberOfMessagesDelayed", Kind::computed},
    {"CreatedTimestamp", Kind::computed},
    {"LastModifiedTimestamp", Kind::computed},
    {"QueueArn", Kind::computed},
    {"VisibilityTimeout", Kind::integer, A::visibility_timeout, 0, 43200},
    {"MaximumMessageSize", Kind::integer, A::maximum_message_size, 1024, 1048576},
    {"MessageRetentionPeriod", Kind::integer, A::message_retention_period, 60, 1209600},
    {"DelaySeconds", Kind::integer, A::delay_seconds, 0, 900},
    {"ReceiveMessageWaitTimeSeconds", Kind::integer, A::receive_message_wait_time_seconds, 0, 20},
    {"SqsManagedSseEnabled", Kind::truth, A::sqs_managed_sse_enabled},
    {"KmsMasterKeyId", Kind::key, A::kms_master_key_id},
    {"KmsDataKeyReusePeriodSeconds", Kind::integer, A::kms_data_key_reuse_period_seconds, 60,
     86400},
    {"Policy", Kind::policy, A::policy},
    {"RedrivePolicy", Kind::redrive, A::redrive_policy},
    {"RedriveAllowPolicy", Kind::redrive, A::redrive_allow_policy},
    {"FifoQueue", Kind::fifo},
    {"ContentBasedDeduplication", Kind::fifo},
    {"DeduplicationScope", Kind::fifo_named},
    {"FifoThroughputLimit", Kind::fifo_named},
};
static_assert(std::size(table) <= 32);

// Rows of the table that are computed, by their position.
enum Computed : std::size_t { visible, in_flight, delayed, created, modified, arn };

const Row* find(std::string_view name) {
  const auto row = std::ranges::find(table, name, &Row::name);
  return row == std::end(table) ? nullptr : row;
}

bool refuse_name(std::string_view name, Refusal& refusal) {
  return refusal.because(F::invalid_attribute_name, "Unknown Attribute {}.", shown(name));
}

bool refuse_value(std::string_view name, Refusal& refusal) {
  return refusal.because(F::invalid_attribute_value, "Invalid value for the parameter {}.", name);
}

bool read_integer(const Row& row, std::string_view value, AttributeChange& out) {
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, out.number);
  return error == std::errc() && stop == end && out.number >= row.min && out.number <= row.max;
}

bool read_truth(std::string_view value, AttributeChange& out) {
  std::string lower;
  for (const char c : value.substr(0, 6)) {
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  out.number = lower == "true" ? 1 : 0;
  return lower == "true" || lower == "false";
}

bool refuse_redrive(Attribute attribute, std::string_view value, Refusal& refusal) {
  if (attribute == Attribute::redrive_policy) {
    return refusal.because(F::invalid_attribute_value,
                           "Invalid value for the parameter RedrivePolicy. Reason: Redrive policy "
                           "is not a valid JSON map.");
  }
  return refusal.because(F::invalid_parameter_value,
                         "Value {} for parameter RedriveAllowPolicy is invalid. Reason: Amazon SQS "
                         "can't create the redrive allow policy, as it's in an unsupported format.",
                         shown(value));
}

// An empty text is always right: it removes the attribute.
bool read_text(const Row& row, std::string_view value, QueueAttributeChanges& out,
               AttributeChange& change, Refusal& refusal) {
  if (value.empty()) return true;
  if (value.size() > attribute_text_max) return refuse_value(row.name, refusal);
  if (row.kind == Kind::key) {
    change.text = value;
    return check_text(value) == TextFault::none || refuse_value(row.name, refusal);
  }
  if (row.kind == Kind::policy) {
    return compact_json_object(value, "Statement", change.text) || refuse_value(row.name, refusal);
  }
  if (!compact_json_object(value, "", change.text)) {
    return refuse_redrive(row.attribute, value, refusal);
  }
  if (out.unsupported.empty()) out.unsupported = row.name;
  return true;
}

bool read_one(std::string_view name, std::string_view value, bool fifo, QueueAttributeChanges& out,
              Refusal& refusal) {
  if (name.empty()) {
    return refusal.because(F::missing_parameter,
                           "The request must contain the parameter Attribute.Name.");
  }
  const Row* row = find(name);
  if (row == nullptr || row->kind == Kind::computed) return refuse_name(name, refusal);
  AttributeChange change{row->attribute, -1, {}};
  switch (row->kind) {
    case Kind::fifo:
      return fifo || refuse_name(name, refusal);
    case Kind::fifo_named:
      return fifo ||
             refusal.because(F::invalid_attribute_name,
                             "You can specify the {} only when FifoQueue is set to true.", name);
    case Kind::integer:
      if (!read_integer(*row, value, change)) return refuse_value(name, refusal);
      break;
    case Kind::truth:
      if (!read_truth(value, change)) return refuse_value(name, refusal);
      break;
    default:
      if (!read_text(*row, value, out, change, refusal)) return false;
  }
  out.changes.push_back(std::move(change));
  return true;
}

const AttributeChange* find(std::span<const AttributeChange> changes, Attribute attribute) {
  const auto it = std::ranges::find(changes, attribute, &AttributeChange::attribute);
  return it == changes.end() ? nullptr : &*it;
}

std::string computed_value(std::size_t row, const QueueConfig& queue, const QueueCounts& counts,
                           std::string_view region) {
  switch (row) {
    case visible:
      return std::to_string(counts.visible);
    case in_flight:
      return std::to_string(counts.in_flight);
    case delayed:
      return std::to_string(counts.delayed);
    case created:
      return std::to_string(queue.created.ms / 1000);
    case modified:
      return std::to_string(queue.modified.ms / 1000);
    default:
      return fmt::format("arn:aws:sqs:{}:{}:{}", region, queue.account, queue.name);
  }
}

// The value as shown, empty when the queue does not have the attribute.
std::string value_of(std::size_t i, const QueueConfig& queue, const QueueCounts& counts,
                     std::string_view region) {
  constexpr std::int64_t key_reuse_default = 300;
  const Row& row = table[i];
  switch (row.kind) {
    case Kind::computed:
      return computed_value(i, queue, counts, region);
    case Kind::truth:
      return queue.number(row.attribute) == 1 ? "true" : "false";
    case Kind::integer: {
      const std::int64_t number = queue.number(row.attribute);
      if (row.attribute != A::kms_data_key_reuse_period_seconds) return std::to_string(number);
      if (queue.text(A::kms_master_key_id).empty()) return {};
      return std::to_string(number < 0 ? key_reuse_default : number);
    }
    case Kind::policy:
    case Kind::redrive:
    case Kind::key:
      return std::string(queue.text(row.attribute));
    case Kind::fifo:
    case Kind::fifo_named:
      break;
  }
  return {};
}

}  // namespace

std::string_view name_of(Attribute attribute) {
  for (const Row& row : table) {
    if (row.attribute == attribute && row.kind < Kind::computed) return row.name;
  }
  return {};
}

bool read_queue_attributes(std::span<const SqsInput::Pair> given, bool fifo,
                           QueueAttributeChanges& out, Refusal& refusal) {
  out = {};
  for (const auto& [name, value] : given) {
    if (!read_one(name, value, fifo, out, refusal)) return false;
  }
  const AttributeChange* key = find(out.changes, A::kms_master_key_id);
  const AttributeChange* managed = find(out.changes, A::sqs_managed_sse_enabled);
  if (key != nullptr && !key->text.empty() && managed != nullptr && managed->number == 1) {
    return refusal.because(F::invalid_attribute_name,
                           "You can use one type of server-side encryption (SSE) at one time. You "
                           "can either enable KMS SSE or SQS SSE.");
  }
  return true;
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
                            const QueueCounts& counts, std::string_view region, SqsResult& result) {
  bool any = false;
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if ((set >> i & 1) == 0) continue;
    const std::string value = value_of(i, queue, counts, region);
    if (value.empty()) continue;
    if (!any) result.begin_map("Attributes");
    any = true;
    result.pair("Attribute", table[i].name, value);
  }
  if (any) result.end_map();
}

}  // namespace pawl

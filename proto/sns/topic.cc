// SPDX-License-Identifier: Apache-2.0
#include "proto/sns/topic.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/check.h"
#include "core/base/usage.h"
#include "core/containers/ring_queue.h"
#include "proto/aws/arn.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

std::string text_of(const JsonValue& object, std::string_view key) {
  const auto value = object.member(key);
  return std::string(value ? value->text().value_or("") : "");
}

SnsAttributes attributes_of(const JsonValue& object) {
  SnsAttributes attributes;
  const auto pairs = object.member("attributes");
  if (!pairs) return attributes;
  for (const auto [name, value] : pairs->members()) {
    if (const auto text = value.text()) set_value(attributes, name, *text);
  }
  return attributes;
}

void append_attributes(JsonWriter& json, const SnsAttributes& attributes) {
  json.key("attributes");
  json.begin_object();
  for (const auto& [name, value] : attributes) json.member(name, std::string_view(value));
  json.end_object();
}

// A cached topic and the row that it was read from.
struct Kept {
  ConfigPtr row;
  std::shared_ptr<const SnsTopic> topic;
  std::size_t bytes = 0;
};

SnsSubscription subscription_of(const JsonValue& one) {
  std::string why;
  SnsSubscription subscription{.id = text_of(one, "id"), .endpoint = text_of(one, "endpoint")};
  if (const auto created = one.member("created"))
    subscription.created = Instant{static_cast<std::int64_t>(
        std::clamp(created->number().value_or(0), 0.0, static_cast<double>(never.ms)))};
  subscription.attributes = attributes_of(one);
  subscription.usable = subscription.prepare(why);
  return subscription;
}

// The subscriptions of the cached version of a topic, by row number.
class ReadBefore {
 public:
  explicit ReadBefore(const Kept* before) : before_(before) {
    if (before == nullptr) return;
    for (const SnsSubscription& one : before->topic->subscriptions)
      if (one.row != 0) by_row_.emplace(one.row, &one);
  }
  // Null: the row is new, has changed, or was unreadable.
  const SnsSubscription* find(const std::shared_ptr<const TopicRow>& row) const {
    if (before_ == nullptr || before_->row->row(row->number) != row.get()) return nullptr;
    const auto found = by_row_.find(row->number);
    return found == by_row_.end() ? nullptr : found->second;
  }

 private:
  const Kept* before_;
  std::unordered_map<std::uint64_t, const SnsSubscription*> by_row_;
};

// Rows follow the subscriptions in the attribute. A row replaces a subscription with the same id.
SnsTopic read_topic(const QueueConfig& row, const Kept* before) {
  SnsTopic topic;
  JsonDom dom;
  if (const auto whole = dom.parse(row.text(Attribute::topic))) {
    topic.attributes = attributes_of(*whole);
    if (const auto subscriptions = whole->member("subscriptions")) {
      for (const JsonValue one : subscriptions->items()) {
        if (one.is_object()) topic.subscriptions.push_back(subscription_of(one));
      }
    }
  }
  const bool old = !topic.subscriptions.empty();
  const ReadBefore read_before(before);
  for (const auto& kept : row.rows) {
    SnsSubscription subscription;
    if (const SnsSubscription* const read = read_before.find(kept)) {
      subscription = *read;
    } else {
      const auto one = dom.parse(kept->text);
      if (!one || !one->is_object()) continue;
      subscription = subscription_of(*one);
      subscription.row = kept->number;
    }
    SnsSubscription* const there = old ? topic.find(subscription.id) : nullptr;
    if (there != nullptr) {
      *there = std::move(subscription);
    } else {
      topic.subscriptions.push_back(std::move(subscription));
    }
  }
  return topic;
}

// Reads the queue in {"deadLetterTargetArn": ".."}. It must belong to `account`.
bool read_redrive_policy(std::string_view policy, std::string_view account, std::string& queue,
                         std::string& why) {
  const auto members = json_members(policy);
  if (!members) {
    why = "RedrivePolicy: failed to parse JSON.";
    return false;
  }
  const auto target = std::ranges::find(*members, "deadLetterTargetArn", &JsonMember::key);
  const auto arn = target == members->end() ? std::nullopt : parse_arn(target->text);
  if (!arn || arn->service != "sqs" || arn->account != account) {
    why =
        "RedrivePolicy: deadLetterTargetArn is an invalid arn. It must be the ARN of an SQS queue "
        "of the same account";
    return false;
  }
  queue = arn->name;
  return true;
}

}  // namespace

std::string_view value_of(const SnsAttributes& attributes, std::string_view name) {
  const auto it = std::ranges::lower_bound(attributes, name, {}, &Tags::value_type::first);
  return it == attributes.end() || it->first != name ? std::string_view() : it->second;
}

void set_value(SnsAttributes& attributes, std::string_view name, std::string_view value) {
  const auto it = std::ranges::lower_bound(attributes, name, {}, &Tags::value_type::first);
  const bool there = it != attributes.end() && it->first == name;
  if (there && value.empty()) {
    attributes.erase(it);
  } else if (there) {
    it->second = value;
  } else if (!value.empty()) {
    attributes.emplace(it, name, value);
  }
}

bool SnsSubscription::prepare(std::string& why) {
  const auto arn = parse_arn(endpoint);
  if (!arn || arn->service != "sqs") {
    why = "SQS endpoint ARN";
    return false;
  }
  account = arn->account;
  queue = arn->name;
  const std::string_view delivery = value_of(attributes, "RawMessageDelivery");
  raw = equals_ignoring_case(delivery, "true");
  if (!delivery.empty() && !raw && !equals_ignoring_case(delivery, "false")) {
    why =
        "RawMessageDelivery: Invalid value [" + std::string(delivery) + "]. Must be true or false.";
    return false;
  }
  if (!delivery.empty()) set_value(attributes, "RawMessageDelivery", raw ? "true" : "false");
  const std::string_view scope = value_of(attributes, "FilterPolicyScope");
  if (!scope.empty() && scope != "MessageAttributes" && scope != "MessageBody") {
    why = "FilterPolicyScope: Invalid value [" + std::string(scope) +
          "]. Please use either MessageBody or MessageAttributes";
    return false;
  }
  filter = nullptr;
  if (const std::string_view policy = value_of(attributes, "FilterPolicy"); !policy.empty()) {
    filter = FilterPolicy::parse(
        policy,
        scope == "MessageBody" ? FilterPolicy::Scope::body : FilterPolicy::Scope::attributes, why);
    if (filter == nullptr) {
      if (why != FilterPolicy::no_nesting) why.insert(0, "FilterPolicy: ");
      return false;
    }
  }
  dead_letter_queue.clear();
  const std::string_view redrive = value_of(attributes, "RedrivePolicy");
  return redrive.empty() || read_redrive_policy(redrive, account, dead_letter_queue, why);
}

bool SnsTopic::is_fifo() const { return value_of(attributes, "FifoTopic") == "true"; }

bool SnsTopic::content_based_deduplication() const {
  return value_of(attributes, "ContentBasedDeduplication") == "true";
}

SnsSubscription* SnsTopic::find(std::string_view id) {
  const auto it = std::ranges::find(subscriptions, id, &SnsSubscription::id);
  return it == subscriptions.end() ? nullptr : &*it;
}
const SnsSubscription* SnsTopic::find(std::string_view id) const {
  return const_cast<SnsTopic*>(this)->find(id);
}

std::string SnsSubscription::json() const {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("id", std::string_view(id));
  json.member("endpoint", std::string_view(endpoint));
  if (created.ms > 0) json.member("created", created.ms);
  append_attributes(json, attributes);
  json.end_object();
  return out;
}

std::string SnsTopic::json() const {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  append_attributes(json, attributes);
  json.end_object();
  return out;
}

namespace {

std::size_t memory_of(const SnsAttributes& attributes) {
  std::size_t bytes = attributes.capacity() * sizeof(SnsAttributes::value_type) + heap_block_bytes;
  for (const auto& [name, value] : attributes)
    bytes += pawl::memory_of(name) + pawl::memory_of(value);
  return bytes;
}

}  // namespace

std::size_t SnsSubscription::memory() const {
  std::size_t bytes = memory_of(attributes) + (filter == nullptr ? 0 : filter->memory());
  for (const std::string* text : {&id, &endpoint, &account, &queue, &dead_letter_queue})
    bytes += pawl::memory_of(*text);
  return bytes;
}

std::size_t SnsTopic::memory() const {
  std::size_t bytes = sizeof(SnsTopic) + 2 * heap_block_bytes + memory_of(attributes) +
                      subscriptions.capacity() * sizeof(SnsSubscription) + heap_block_bytes;
  for (const SnsSubscription& one : subscriptions) bytes += one.memory();
  return bytes;
}

SnsTopic SnsTopic::from(const QueueConfig& row) { return read_topic(row, nullptr); }

std::vector<AttributeChange> changes_between(const QueueConfig& row, const SnsTopic& before,
                                             const SnsTopic& after) {
  std::vector<AttributeChange> changes;
  std::uint64_t next = row.rows.empty() ? 1 : row.rows.back()->number + 1;
  const auto by_row = [](const SnsTopic& topic) {
    std::map<std::uint64_t, const SnsSubscription*> found;
    for (const SnsSubscription& one : topic.subscriptions)
      if (one.row != 0) found[one.row] = &one;
    return found;
  };
  const auto had = by_row(before), has = by_row(after);
  for (const auto& [number, one] : had)
    if (!has.contains(number))
      changes.push_back({Attribute::topic_row, static_cast<std::int64_t>(number), {}});
  for (const SnsSubscription& one : after.subscriptions) {
    const auto it = had.find(one.row);
    if (it != had.end() && it->second->endpoint == one.endpoint &&
        it->second->attributes == one.attributes)
      continue;
    const std::uint64_t number = one.row != 0 ? one.row : next++;
    changes.push_back({Attribute::topic_row, static_cast<std::int64_t>(number), one.json()});
  }
  std::string text = after.json();
  if (text != row.text(Attribute::topic))
    changes.push_back({Attribute::topic, -1, std::move(text)});
  return changes;
}

std::size_t topic_bytes(const QueueConfig& row, const std::vector<AttributeChange>& changes) {
  QueueConfig next = row;
  for (const AttributeChange& change : changes) next.apply(change);
  std::size_t bytes = next.text(Attribute::topic).size();
  for (const auto& one : next.rows) bytes += one->text.size();
  return bytes;
}

std::string topic_account(std::string_view account) { return "sns/" + std::string(account); }

namespace {

class KeptTopics {
 public:
  std::shared_ptr<const SnsTopic> topic_of(const ConfigPtr& row) {
    const std::uint32_t id = raw(row->id);
    const auto known = kept_.find(id);
    if (known != kept_.end() && known->second.row == row) return known->second.topic;
    auto topic = std::make_shared<const SnsTopic>(
        read_topic(*row, known == kept_.end() ? nullptr : &known->second));
    if (known == kept_.end()) order_.push_back(id);
    Kept& kept = kept_[id];
    CHECK(order_.size() == kept_.size(), "{} topics in order, {} kept", order_.size(),
          kept_.size());
    CHECK(bytes_ >= kept.bytes, "{} bytes of {}", kept.bytes, bytes_);
    bytes_ -= kept.bytes;
    kept = {.row = row, .topic = topic, .bytes = memory_of_kept(*row, *topic)};
    bytes_ += kept.bytes;
    while (kept_.size() > kept_topics_max || (kept_.size() > 1 && bytes_ > kept_topics_bytes_max))
      forget_first();
    return topic;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t entry_bytes =
      sizeof(std::pair<const std::uint32_t, Kept>) + 5 * sizeof(void*) + heap_block_bytes;

  static std::size_t memory_of_kept(const QueueConfig& row, const SnsTopic& topic) {
    return entry_bytes + Directory::config_memory_of(row) + topic.memory();
  }
  void forget_first() {
    const auto first = kept_.find(order_.front());
    CHECK(first != kept_.end(), "topic {} is not kept", order_.front());
    CHECK(bytes_ >= first->second.bytes, "{} bytes of {}", first->second.bytes, bytes_);
    order_.pop_front();
    bytes_ -= first->second.bytes;
    kept_.erase(first);
  }

  std::unordered_map<std::uint32_t, Kept> kept_;
  RingQueue<std::uint32_t> order_;  // topic ids, by time of first read
  std::size_t bytes_ = 0;
};

KeptTopics& kept_topics() {
  thread_local KeptTopics kept;
  return kept;
}

}  // namespace

std::shared_ptr<const SnsTopic> topic_of(const ConfigPtr& row) {
  return kept_topics().topic_of(row);
}

std::size_t kept_topics_bytes() { return kept_topics().bytes(); }

}  // namespace pawl

// SnsTopic: a topic of SNS, what it is set to and who has subscribed to it.
//
// A topic is a row of the directory like a queue, so it is made, changed, logged and told to every shard as one is;
// it has no messages. Its row has the account "sns/<account>", which no queue can have, and one attribute: what it is set
// to, as JSON. Each subscription is a TopicRow (core/queue_config.h), so that one more is logged without the others.
//
//   the attribute   {"attributes":{"DisplayName":"d"}}
//   a TopicRow      {"id":"<uuid>","endpoint":"arn:aws:sqs:..","attributes":{"RawMessageDelivery":"true"}}
//
// Before format version 3 the attribute had all subscriptions, in a member of that name. The first change of such a topic
// makes rows of them.
//
// Limits: topic_bytes_max of JSON, all together, which bounds the subscriptions; filter_policies_max of them with a policy.
//         A thread keeps kept_topics_max parsed topics, and kept_topics_bytes_max of them with
//         rows.
// Owner:  a value. topic_of() keeps what it has taken apart, per thread.
// Source: SNS API Reference, Subscribe and CreateTopic.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/directory.h"
#include "proto/filter_policy.h"

namespace pawl {

using SnsAttributes = Tags;  // sorted by name

struct SnsSubscription {
  std::uint64_t row = 0;  // number of its TopicRow; 0: it has none yet
  std::string id;         // a UUID
  std::string endpoint;   // the ARN of a queue, as it was given
  SnsAttributes attributes;

  // Out of these, by prepare():
  std::string account, queue;
  std::string dead_letter_queue;  // of the same account; empty: none
  bool raw = false;
  bool usable = false;                         // else nothing is sent to it
  std::shared_ptr<const FilterPolicy> filter;  // null: everything

  // False, and `why` says what is wrong with the endpoint or an attribute.
  [[nodiscard]] bool prepare(std::string& why);
  std::string json() const;
  std::size_t memory() const;  // bytes besides its own size, about
};

struct SnsTopic {
  static constexpr std::size_t topic_bytes_max = 512 << 10;
  static constexpr std::size_t filter_policies_max = 200;

  SnsAttributes attributes;
  std::vector<SnsSubscription> subscriptions;  // in the order they came

  bool is_fifo() const;
  bool content_based_deduplication() const;
  std::size_t memory() const;  // bytes held, about

  SnsSubscription* find(std::string_view id);
  const SnsSubscription* find(std::string_view id) const;

  std::string json() const;                      // the attributes
  static SnsTopic from(const QueueConfig& row);  // what is damaged is left out
};

// What is to be changed of `row` so that its topic, which is `before`, becomes `after`.
std::vector<AttributeChange> changes_between(const QueueConfig& row, const SnsTopic& before,
                                             const SnsTopic& after);
// What counts against topic_bytes_max, when these are made.
std::size_t topic_bytes(const QueueConfig& row, const std::vector<AttributeChange>& changes);

// Empty when it is not there.
std::string_view value_of(const SnsAttributes& attributes, std::string_view name);
// An empty value takes it out.
void set_value(SnsAttributes& attributes, std::string_view name, std::string_view value);

// The account under which the directory has the topics of an account.
std::string topic_account(std::string_view account);
// Whether it is one: what is in the directory under it is no queue.

// The topic of a row. The latest are kept; the one that was read first goes first.
std::shared_ptr<const SnsTopic> topic_of(const ConfigPtr& row);
inline constexpr std::size_t kept_topics_max = 1024;
inline constexpr std::size_t kept_topics_bytes_max = 32 << 20;  // but one topic may be larger
// Bytes that topic_of() keeps for this thread, rows included: a row may have left the directory.
std::size_t kept_topics_bytes();

}  // namespace pawl

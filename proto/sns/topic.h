// SPDX-License-Identifier: Apache-2.0
// SnsTopic: an SNS topic with its attributes and subscriptions.
//
// A topic is a row of the directory without messages. It is created, changed, logged and sent to
// every shard like a queue. Its row has the account "sns/<account>", which no queue can have, and
// one attribute: the topic's attributes as JSON. Each subscription is a TopicRow
// (core/queue/queue_config.h), so that a new one is logged without the others.
//
//   the attribute   {"attributes":{"DisplayName":"d"}}
//   a TopicRow      {"id":"<uuid>","endpoint":"arn:aws:sqs:..","created":1764400000000,
//                    "attributes":{"RawMessageDelivery":"true"}}
//
// Before format version 3 the attribute held all subscriptions, in a member "subscriptions". The
// first change of such a topic turns them into rows.
//
// Limits: topic_bytes_max of JSON in total, which bounds the subscriptions; filter_policies_max
//         subscriptions with a policy. A thread caches kept_topics_max parsed topics, and
//         kept_topics_bytes_max bytes including their rows.
// Owner:  a value. topic_of() caches parsed topics per thread.
// Source: SNS API Reference, Subscribe and CreateTopic.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/queue/directory.h"
#include "proto/sns/filter_policy.h"

namespace pawl {

using SnsAttributes = Tags;  // sorted by name

struct SnsSubscription {
  std::uint64_t row = 0;  // number of its TopicRow; 0: none yet
  std::string id;         // a UUID
  std::string endpoint;   // the ARN of a queue, as in the request
  Instant created;        // by the wall clock; 0: not known
  SnsAttributes attributes;

  // Derived from the fields above by prepare():
  std::string account, queue;
  std::string dead_letter_queue;  // of the same account; empty: none
  bool raw = false;
  bool usable = false;                         // false: nothing is sent to it
  std::shared_ptr<const FilterPolicy> filter;  // null: it wants every message

  // False if the endpoint or an attribute is invalid; `why` then has the reason.
  [[nodiscard]] bool prepare(std::string& why);
  std::string json() const;
  std::size_t memory() const;  // approximate bytes besides its own size
};

struct SnsTopic {
  static constexpr std::size_t topic_bytes_max = 512 << 10;
  static constexpr std::size_t filter_policies_max = 200;

  SnsAttributes attributes;
  std::vector<SnsSubscription> subscriptions;  // in order of creation

  bool is_fifo() const;
  bool content_based_deduplication() const;
  std::size_t memory() const;  // approximate bytes held

  SnsSubscription* find(std::string_view id);
  const SnsSubscription* find(std::string_view id) const;

  std::string json() const;                      // the attributes
  static SnsTopic from(const QueueConfig& row);  // skips unreadable JSON
};

// The changes to `row` that turn its topic from `before` into `after`.
std::vector<AttributeChange> changes_between(const QueueConfig& row, const SnsTopic& before,
                                             const SnsTopic& after);
// The topic's bytes of JSON after `changes`, for comparison with topic_bytes_max.
std::size_t topic_bytes(const QueueConfig& row, const std::vector<AttributeChange>& changes);

// Empty if the attribute is not set.
std::string_view value_of(const SnsAttributes& attributes, std::string_view name);
// An empty value deletes the attribute.
void set_value(SnsAttributes& attributes, std::string_view name, std::string_view value);

// The account of an account's topics in the directory: "sns/<account>".
std::string topic_account(std::string_view account);

// The topic of a row, cached. The topic that was read first is evicted first.
std::shared_ptr<const SnsTopic> topic_of(const ConfigPtr& row);
inline constexpr std::size_t kept_topics_max = 1024;
inline constexpr std::size_t kept_topics_bytes_max = 32 << 20;  // a single topic may be larger
// Bytes in this thread's cache. They include the rows, because the directory may have dropped them.
std::size_t kept_topics_bytes();

}  // namespace pawl

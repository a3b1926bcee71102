// SnsTopic: a topic of SNS, what it is set to and who has subscribed to it.
//
// A topic is a row of the directory like a queue, so it is made, changed, logged and told to every shard as one is;
// it has no messages. Its row has the account "sns/<account>", which no queue can have, and one attribute: the
// topic as JSON.
//
//   {"attributes":{"DisplayName":"d"},
//    "subscriptions":[{"id":"<uuid>","endpoint":"arn:aws:sqs:..","attributes":{"RawMessageDelivery":"true"}}]}
//
// Limits: topic_bytes_max of JSON, which bounds the subscriptions; filter_policies_max of them with a policy.
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
  std::string id;        // a UUID
  std::string endpoint;  // the ARN of a queue, as it was given
  SnsAttributes attributes;

  // Out of these, by prepare():
  std::string account, queue;
  std::string dead_letter_queue;  // of the same account; empty: none
  bool raw = false;
  bool usable = false;                         // else nothing is sent to it
  std::shared_ptr<const FilterPolicy> filter;  // null: everything

  // False, and `why` says what is wrong with the endpoint or an attribute.
  [[nodiscard]] bool prepare(std::string& why);
};

struct SnsTopic {
  static constexpr std::size_t topic_bytes_max = 512 << 10;
  static constexpr std::size_t filter_policies_max = 200;

  SnsAttributes attributes;
  std::vector<SnsSubscription> subscriptions;  // in the order they came

  bool is_fifo() const;
  bool content_based_deduplication() const;
  SnsSubscription* find(std::string_view id);
  const SnsSubscription* find(std::string_view id) const;

  std::string json() const;
  static SnsTopic from_json(std::string_view json);  // of json(); what is damaged is left out
};

// Empty when it is not there.
std::string_view value_of(const SnsAttributes& attributes, std::string_view name);
// An empty value takes it out.
void set_value(SnsAttributes& attributes, std::string_view name, std::string_view value);

// The account under which the directory has the topics of an account.
std::string topic_account(std::string_view account);
// Whether it is one: what is in the directory under it is no queue.
inline bool is_topic_account(std::string_view account) { return account.contains('/'); }

std::shared_ptr<const SnsTopic> topic_of(const ConfigPtr& row);

}  // namespace pawl
